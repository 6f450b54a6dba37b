"""Tell whether a person's words name a call that waits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from shipmate.approvals.policy.subject import KINDS, PATH_KEYS
from shipmate.approvals.reply.line import MARKS, WIDTH
from shipmate.approvals.reply.table import read_table
from shipmate.approvals.value import Approval

QUOTED = re.compile(r"([`'\"])(.+)\1")
# A command may be called by its first words only if all of it is plain words: of `git status && rm x` nobody
# names the half.
PLAIN = re.compile(r"[\w ./:=@,+%-]+")


def names_of(approval: Approval) -> list[str]:
    """Return what a call can be called by: its command, path or address, and its tool."""
    keys = {"command": ("command",), "host": ("url",), "path": PATH_KEYS, None: ()}[KINDS.get(approval.tool)]
    given = [approval.input[key] for key in keys if isinstance(approval.input.get(key), str)]
    return [*given, approval.tool]


def find_spoken(words: str, names: Sequence[str]) -> str | None:
    """Return the name that words call a waiting call by: None for none, "" where it could be speech."""
    quoted = QUOTED.fullmatch(words)
    said = quoted[2].strip() if quoted else words
    if not any(calls_by_name(said, name) for name in names):
        return None
    return said if quoted or not _is_speech(said) else ""


def _is_speech(words: str) -> bool:
    """Tell whether words could be speech: a call can be named so that it swallows a condition."""
    spoken = re.split(r"[\s,]+", words.casefold())
    has_han = any("\u3400" <= character <= "\u9fff" for character in words)
    return has_han or not read_table().speech.isdisjoint(spoken)


def calls_by_name(words: str, name: str) -> bool:
    """Tell whether words are a name, the first words of a plain one, or the end of its path."""
    said, wanted = _simplify(words), _simplify(name)
    if not said:
        return False
    if said == wanted:
        return True
    if " " not in wanted:
        return wanted.endswith(f"/{said}") and "." in said
    return wanted.startswith(f"{said} ") and PLAIN.fullmatch(name.strip()) is not None


def find_named(words: str, approvals: Sequence[Approval]) -> list[Approval]:
    """Return the approvals that words name; one that fits exactly outranks those that only begin so."""
    exact = [
        each for each in approvals if any(_simplify(words) == _simplify(name) for name in names_of(each))
    ]
    if exact:
        return exact
    return [each for each in approvals if any(calls_by_name(words, name) for name in names_of(each))]


@lru_cache(256)
def _simplify(text: str) -> str:
    # Replies are read in one width and with straight quotes, so names are compared the same way.
    return " ".join(text.translate(WIDTH).translate(MARKS).split())
