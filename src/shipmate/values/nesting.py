"""Tell how deep JSON is nested before it is decoded."""

from __future__ import annotations

import msgspec

# Deeper than anything people write; decoders, encoders and browsers give up somewhere past it.
DEPTH_LIMIT = 128

_SQUARE = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STRETCH = 65_536


def check_nesting(data: bytes | str) -> bytes:
    """Return JSON text as it came; raises msgspec.ValidationError when it is nested too deep."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if raw.count(b"[") + raw.count(b"{") > DEPTH_LIMIT and _is_too_deep(raw):
        raise msgspec.ValidationError(f"nested more than {DEPTH_LIMIT} deep")
    return raw


def _brackets_of(raw: bytes) -> bytes:
    """Return the brackets of JSON text, all of them square, without those that stand in its texts."""
    escapes_gone = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = escapes_gone.translate(_SQUARE, _OTHERS)
    found = bytearray()
    is_text = False
    # Stretch by stretch: a list of all pieces would take many times the memory of the text.
    for start in range(0, len(marks), _STRETCH):
        pieces = marks[start : start + _STRETCH].split(b'"')
        found += b"".join(pieces[is_text::2])
        is_text ^= len(pieces) % 2 == 0
    return bytes(found)


def _is_too_deep(raw: bytes) -> bool:
    """Return whether JSON text is nested past the limit, peeling it layer by layer from the inside."""
    brackets = _brackets_of(raw)
    for layer in range(DEPTH_LIMIT):
        peeled = brackets.replace(b"[]", b"")
        if len(peeled) == len(brackets):
            # Nothing is left but what was never closed, or never opened.
            return layer + brackets.count(b"[") > DEPTH_LIMIT
        brackets = peeled
    return bool(brackets)
