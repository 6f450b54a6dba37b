"""The set that recall is judged by: facts, three questions to each, and what else is remembered.

Of the three questions one has the fact's words, one few of them, and one hardly any, so that what is meant
must be worked out. All were written by hand; the first and the last before any ranking was tried, the second,
and the patterns that look like facts, after it had turned out that nothing small enough to come along answers
the last kind. What else is remembered is made from patterns, the same each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "memory" / "recall_set"
LANGUAGES = ("en", "zh")
KINDS = ("same words", "paraphrase", "no shared words")


@dataclass(frozen=True)
class Question:
    """What is asked, and the entry that answers it."""

    language: str
    kind: str
    text: str
    answer: str


def read_questions() -> list[Question]:
    """Return all questions, in the order of their files."""
    found: list[Question] = []
    for language in LANGUAGES:
        for line in (FOLDER / f"facts.{language}.tsv").read_text("utf-8").splitlines():
            fact, *asked = line.split("\t")
            found += [Question(language, kind, text, fact) for kind, text in zip(KINDS, asked, strict=True)]
    return found


def make_entries(count: int) -> list[str]:
    """Return the facts among others, so many in all and half in each language, well mixed."""
    facts = list(dict.fromkeys(each.answer for each in read_questions()))
    chance = random.Random(14)
    others: dict[str, None] = {}
    while len(others) < count - len(facts):
        for language in LANGUAGES:
            others[_fill(language, chance)] = None
    entries = [*facts, *list(others)[: count - len(facts)]]
    chance.shuffle(entries)
    return entries


@cache
def _read_others(language: str) -> tuple[dict[str, list[str]], list[str]]:
    lists, _, patterns = (FOLDER / f"others.{language}.txt").read_text("utf-8").partition("\n--\n")
    named = (line.split(": ", 1) for line in lists.splitlines() if not line.startswith("#"))
    return {name: values.split(", ") for name, values in named}, patterns.split("\n")[:-1]


def _fill(language: str, chance: random.Random) -> str:
    choices, patterns = _read_others(language)
    text = chance.choice(patterns)
    for name, values in choices.items():
        # Those who stand twice in a pattern are two.
        for value in chance.sample(values, text.count(f"{{{name}}}")):
            text = text.replace(f"{{{name}}}", value, 1)
    return text


Ranker = Callable[[str], Sequence[str]]


def score(ranker: Ranker, questions: Iterable[Question], best: int = 5) -> dict[tuple[str, str], float]:
    """Return the share of questions whose answer is among the best, by language, kind and `all`."""
    hits: dict[tuple[str, str], list[bool]] = {}
    for each in questions:
        is_hit = each.answer in ranker(each.text)[:best]
        for key in (
            (each.language, each.kind),
            (each.language, "all"),
            ("all", each.kind),
            ("all", "all"),
        ):
            hits.setdefault(key, []).append(is_hit)
    return {key: sum(found) / len(found) for key, found in hits.items()}
