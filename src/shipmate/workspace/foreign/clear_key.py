"""Find the keys that stand in the clear in the settings of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shipmate.workspace.secret.secret import Mask
from shipmate.workspace.secret.setting import VARIABLE, address_secrets, looks_secret

# Shorter values are switches and names; masking them would blot out ordinary words.
MIN_LENGTH = 8
# Whatever a program hands on in these may be a key, whatever it is called.
CARRIERS = frozenset({"env", "headers", "extraHeaders", "http_headers", "environment"})
# A value of so many characters without a space or a slash is more likely a key than a word.
DENSE = re.compile(r"[^\s/\\]{16,}")
_look = Mask(())


def find_keys(settings: Any) -> Iterator[str]:
    """Go over the values of settings that are keys by their place or by their look."""
    yield from _find(settings, "", is_carried=False)


def _find(value: Any, name: str, *, is_carried: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _find(inner, str(key), is_carried=is_carried or key in CARRIERS)
    elif isinstance(value, list):
        before = ""
        for inner in value:
            # What follows `--token` is a token.
            is_option = isinstance(before, str) and before.startswith("-")
            yield from _find(inner, str(before) if is_option else name, is_carried=is_carried)
            before = inner
    elif isinstance(value, str) and not VARIABLE.fullmatch(value):
        yield from _pieces(value, name, is_carried)


def _pieces(value: str, name: str, is_carried: bool) -> Iterator[str]:
    if "://" in value:
        yield from (piece for piece in address_secrets(value) if len(piece) >= MIN_LENGTH)
        return
    head, equals, rest = value.partition("=")
    if equals and looks_secret(head) and len(rest) >= MIN_LENGTH:
        yield rest
    last = value.rpartition(" ")[2]
    is_key = looks_secret(name) or _look(value) != value or (is_carried and DENSE.fullmatch(last) is not None)
    if is_key and len(last) >= MIN_LENGTH:
        yield last
        if last != value:
            yield value
