"""Tell whether a person's words name a call that waits."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from shipmate.approvals.policy.subject import KINDS, PATH_KEYS
from shipmate.approvals.reply.line import QUOTES
from shipmate.approvals.value import Approval


def names_of(approval: Approval) -> list[str]:
    """List what a call can be called by: its command, path or address, and its tool."""
    keys = {"command": ("command",), "host": ("url",), "path": PATH_KEYS, None: ()}[KINDS.get(approval.tool)]
    given = [approval.input[key] for key in keys if isinstance(approval.input.get(key), str)]
    return [*given, approval.tool]


def calls_by_name(words: str, name: str) -> bool:
    """Tell whether words are a name, its beginning word by word, or the end of its path."""
    said, wanted = _simplify(words), _simplify(name)
    if not said:
        return False
    return (
        said == wanted or wanted.startswith(f"{said} ") or (" " not in wanted and wanted.endswith(f"/{said}"))
    )


def find_named(words: str, approvals: Sequence[Approval]) -> list[Approval]:
    """Find the approvals that words name; one that fits exactly outranks those that only begin so."""
    exact = [
        each for each in approvals if any(_simplify(words) == _simplify(name) for name in names_of(each))
    ]
    if exact:
        return exact
    return [each for each in approvals if any(calls_by_name(words, name) for name in names_of(each))]


def _simplify(text: str) -> str:
    # The grammar reads replies in one width and with straight quotes, so names are compared the same way.
    folded = unicodedata.normalize("NFKC", text).translate(QUOTES)
    return " ".join(folded.split())
