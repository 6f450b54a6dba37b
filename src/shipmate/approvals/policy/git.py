"""Know which git commands stay plain when a rule leaves their words open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shipmate.approvals.listing import load_lists
from shipmate.values.reason import Why

LISTS = load_lists("program")

HARMFUL = tuple(LISTS["git-harmful"])
RUNNING = frozenset(LISTS["git-running"])
SHOWING = frozenset(LISTS["git-showing"])
CHANGING = frozenset(LISTS["git-changing"])
LONG_PLAIN = re.compile(
    rf"--(?:{'|'.join(LISTS['git-plain'])}|(?:{'|'.join(LISTS['git-plain-value'])})(?:=.*)?)"
)
SHORT_PLAIN = re.compile(r"-(\d+|n\d*|U\d+|[abilmMqrstvwz]+|sb|p|u|c|L[\d,]+|[GS]\w+|1)")
SHORT_CHANGING = re.compile(r"-(m|am|a|q|v|n|A|b|\d+)")


def refuse_git(rest: Sequence[str]) -> Why | None:
    """Say why no rule may cover this git command, not even one that gives every word."""
    if not rest or rest[0] in ("--version", "version"):
        return None
    if rest[0].startswith("-"):
        return Why("option", f"git {rest[0]}")
    if rest[0] in RUNNING:
        return Why("carrier", f"git {rest[0]}")
    harmful = next((word for word in rest[1:] if _is_harmful(word)), None)
    return Why("option", harmful) if harmful else None


def _is_harmful(word: str) -> bool:
    name = word.partition("=")[0]
    if name.startswith("--") and len(name) > 2:
        return any(option.startswith(name) for option in HARMFUL) and not LONG_PLAIN.fullmatch(word)
    return name.startswith("-O") or "::" in word


def refuse_git_gap(rest: Sequence[str], given: int) -> Why | None:
    """Say why git's words after the first `given` may not fill the gap of an open rule."""
    verb = rest[0] if rest else "--version"
    if given < 1 and verb not in SHOWING | CHANGING and verb != "--version":
        return Why("option", f"git {verb}")
    short = SHORT_PLAIN if verb in SHOWING else SHORT_CHANGING
    for word in rest[max(given, 1) :]:
        plain = LONG_PLAIN if word.startswith("--") else short
        if word.startswith("-") and word != "--" and not plain.fullmatch(word):
            return Why("option", f"git {verb} {word}")
        if word.startswith(("+", ":")) and verb in CHANGING:
            return Why("option", word)
    return None
