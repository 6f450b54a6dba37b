"""Say English sentences of Shipmate's own in Chinese, from the table that the page reads too."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

TABLE = Path(__file__).with_name("words") / "reason.zh.json"
# Where a sentence ends, and where a name ends and what is said of it begins.
PARTINGS = ((". ", "。"), (": ", "："))
# Longer texts, and what is told deeper inside of others, are somebody's own.
LONG = 4_000
DEEP = 6
QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
PLACE = re.compile(r"\{(\d)\}")


class Sentence(NamedTuple):
    """A sentence: the words between its values, and what to say instead."""

    words: list[str]
    instead: str


@cache
def load_sentences() -> list[Sentence]:
    """Return the sentences, those with more words first: they are the least to be mistaken for others."""
    table = msgspec.json.decode(TABLE.read_bytes(), type=dict[str, str])
    found = [Sentence(told.split("{}"), instead) for told, instead in table.items()]
    return sorted(found, key=lambda each: -len("".join(each.words)))


def translate(text: str, depth: int = 0) -> str:
    """Return a text in Chinese; what nobody translated stays as it was told."""
    # A word alone is somebody's name for something.
    if len(text) > LONG or depth > DEEP or (depth and " " not in text):
        return text
    if text.endswith(".") and not text.endswith(".."):
        inner = text[:-1]
        said = translate(inner, depth)
        return text if said == inner else f"{said}。"
    strict = _say(text, depth, is_loose=False)
    if strict is not None:
        return strict
    parted, is_whole = _say_parted(text, depth)
    if parted is not None and is_whole:
        return parted
    return _say(text, depth, is_loose=True) or parted or text


def _say(text: str, depth: int, *, is_loose: bool) -> str | None:
    """Say one sentence; unless it is loose, no value may look like a sentence of its own."""
    bare = _hide_quoted(text)
    for words, instead in load_sentences():
        values = _find_values(text, words)
        if values is None:
            continue
        if not is_loose and any(mark in bare[start:end] for start, end in values for mark, _ in PARTINGS):
            continue
        return _fill(instead, [translate(text[start:end], depth + 1) for start, end in values])
    return None


def _fill(instead: str, values: list[str]) -> str:
    return PLACE.sub(lambda place: values[int(place[1]) - 1], instead)


def _say_parted(text: str, depth: int) -> tuple[str | None, bool]:
    """Say what stands before the first mark and after it; of which a name may stay as it is."""
    bare = _hide_quoted(text)
    for mark, instead in PARTINGS:
        at = bare.find(mark)
        if at < 0:
            continue
        parts = [text[:at], text[at + len(mark) :]]
        said = [translate(part, depth + 1) for part in parts]
        is_said = [one != part for one, part in zip(said, parts, strict=True)]
        if not any(is_said):
            return None, False
        is_whole = all(done or " " not in part for done, part in zip(is_said, parts, strict=True))
        return instead.join(said), is_whole
    return None, False


def _find_values(text: str, words: list[str]) -> list[tuple[int, int]] | None:
    """Return where the values between the words of a sentence stand; None when the text is another one."""
    head, *rest = words
    if not rest:
        return [] if text == head else None
    if not text.startswith(head):
        return None
    values: list[tuple[int, int]] = []
    at = len(head)
    for index, word in enumerate(rest):
        is_last = index == len(rest) - 1
        found = (len(text) - len(word) if text.endswith(word) else -1) if is_last else text.find(word, at)
        if found < at:
            return None
        values.append((at, found))
        at = found + len(word)
    return values


def _hide_quoted(text: str) -> str:
    """Hide what is quoted: signs in it part no sentences."""
    return QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), text)
