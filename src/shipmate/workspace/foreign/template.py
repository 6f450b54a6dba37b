"""Know the texts that other programs write for everybody: nobody's own words until somebody changes them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data" / "template.txt"
# No template is longer; a long file need not be hashed to be known for somebody's own.
LENGTH_LIMIT = 16_384


@cache
def _templates() -> dict[tuple[str, str], str]:
    """Return the program of each template by file name and hash."""
    rows = (
        line.split() for line in DATA.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")
    )
    return {(name, digest): program for program, name, digest in rows}


@cache
def _names() -> frozenset[str]:
    return frozenset(name for name, _ in _templates())


def find_template(name: str, text: str) -> str:
    """Return the program whose untouched template a text is; empty when it is somebody's own."""
    if len(text) > LENGTH_LIMIT or name not in _names():
        return ""
    plain = text.replace("\r\n", "\n").strip()
    return _templates().get((name, hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:32]), "")
