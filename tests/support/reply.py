"""Write out the table of replies row by row, and what each row must be read as."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from shipmate.approvals.reply.reading import Clause, Reply
from shipmate.approvals.reply.table import Meaning, expand, read_table

NAMES = ["git status", "git push", "docs/plan.md", "exec", "write"]
# What fills each slot, and how write_reading shows it.
SAMPLES = {
    "en": {
        "<numbers>": {
            "1": "1",
            "1 and 3": "1,3",
            "#1": "1",
            "the first": "1",
            "1, 2, 3": "1,2,3",
            "1-3": "1,2,3",
        },
        "<others>": {"4": "4", "the fifth one": "5"},
        "<name>": {"git status": "`git status`", "`docs/plan.md`": "`docs/plan.md`", "exec": "`exec`"},
        "<second>": {"git push": "`git push`"},
        "<length>": {"10 minutes": "10m", "an hour": "60m", "two days": "2880m", "half an hour": "30m"},
        "<until>": {"until tomorrow": "midnight", "for today": "midnight", "until 18:30": "18:30"},
    },
    "zh": {
        "<numbers>": {"1": "1", "1 和 3": "1,3", "第一个": "1", "1、3": "1,3", "1到3": "1,2,3"},
        "<others>": {"4": "4", "第五条": "5"},
        "<name>": {"git status": "`git status`", "「docs/plan.md」": "`docs/plan.md`", "exec": "`exec`"},
        "<second>": {"git push": "`git push`"},
        "<length>": {"10 分钟": "10m", "一小时": "60m", "两天": "2880m", "半小时": "30m"},
        "<until>": {"今天之内": "midnight", "到明天": "midnight", "到18:30": "18:30"},
    },
}


def write_reading(reply: Reply | None) -> str:
    """Write a reading the way the tables' headings do."""
    if reply is None:
        return "ordinary"
    clauses = " ".join(write_clause(clause) for clause in reply.clauses)
    window = reply.until or f"{reply.minutes}m"
    span = {"once": "", "window": f" @{window}"}.get(reply.span, f" @{reply.span}")
    return clauses + span + (f" because {reply.reason}" if reply.reason else "")


def write_clause(clause: Clause) -> str:
    """Write one clause."""
    numbers = ",".join(map(str, clause.numbers))
    named = {"numbers": numbers, "text": f"`{clause.text}`", "all": f"all!{numbers}" if numbers else "all"}
    return ("+" if clause.approved else "-") + named.get(clause.kind, clause.kind)


def read_lines(path: Path) -> list[str]:
    """List the messages of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def every_row() -> Iterator[tuple[str, str]]:
    """Yield every message of the table, its slots filled with samples, with the reading it must have."""
    for meaning in read_table().meanings:
        for language, messages in meaning.messages.items():
            for message in messages:
                for text in expand(message):
                    yield from _fill(text, meaning, SAMPLES[language])


def _fill(text: str, meaning: Meaning, samples: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    slots = [slot for slot in samples if slot in text]
    for chosen in product(*(samples[slot].items() for slot in slots)):
        filled, shown = text, dict[str, str]()
        for slot, (words, reading) in zip(slots, chosen, strict=True):
            filled = filled.replace(slot, words)
            shown[slot] = reading
        yield filled, _expected(meaning, shown)


def _expected(meaning: Meaning, shown: dict[str, str]) -> str:
    parts: list[str] = []
    for part in meaning.effect:
        sign, subject = part[0], part[1:]
        if part == "@once":
            continue
        value = shown.get(f"<{subject.removeprefix('all!')}>")
        name = subject if value is None else f"all!{value}" if subject.startswith("all!") else value
        parts.append(f"{sign}{name}")
    return " ".join(parts)
