"""Decode the JSON that a server sends, where half of a character spoils it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from shipmate.values.nesting import check_nesting

# Every escape is matched, so that one begins where JSON says so; what is caught is half of a pair.
ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
LOST = rb"\ufffd"


def decode_json(data: bytes) -> Any:
    """Return what JSON says; raise `msgspec.DecodeError` for anything else.

    Servers that cut a text between two halves of a character send each half by itself. What it was is lost,
    the rest of the text is not.
    """
    try:
        return msgspec.json.decode(check_nesting(data))
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        mended = _mend(data)
        if mended == data:
            raise msgspec.DecodeError(str(error)) from None
    try:
        return msgspec.json.decode(mended)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from None


def _mend(data: bytes) -> bytes:
    whole = data.decode("utf-8", "replace").encode()
    return ESCAPE.sub(lambda match: LOST if match[1] else match[0], whole)
