"""Tell how deep JSON is nested before it is decoded."""

from __future__ import annotations

import re

import msgspec

# Deeper than anything people write; decoders, encoders and browsers give up somewhere past it.
DEPTH_LIMIT = 128

# Texts are stepped over, so that brackets in them do not count.
_MARKS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+|[\[{]|[\]}]', re.DOTALL)


def check_nesting(data: bytes | str) -> bytes:
    """Return JSON text as it came; raises msgspec.ValidationError when it is nested too deep."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if raw.count(b"[") + raw.count(b"{") > DEPTH_LIMIT and _depth(raw) > DEPTH_LIMIT:
        raise msgspec.ValidationError(f"nested more than {DEPTH_LIMIT} deep")
    return raw


def _depth(raw: bytes) -> int:
    """Return the depth of JSON text, or of its beginning if that is too deep already."""
    depth = deepest = 0
    for found in _MARKS.finditer(raw):
        mark = raw[found.start()]
        if mark in b"[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > DEPTH_LIMIT:
                break
        elif mark in b"]}":
            depth -= 1
    return deepest
