"""What people and members decided about a thread beside its rows: `.ship/marks/<thread>.json`."""

from __future__ import annotations

import msgspec

from shipmate.values.message import JsonObject
from shipmate.workspace.layout import CAPTAIN


class ThreadMark(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The marks of one thread. That it is in the bin is said by the place of its file."""

    # Given by a person; without one the first words are the title.
    title: str = ""
    member: str = CAPTAIN
    archived: bool = False
    read_at: str | None = None
    settings: JsonObject = {}
    created_at: str = ""
    # It was made without words and has none yet: its file may be empty.
    is_new: bool = False


_decoder = msgspec.json.Decoder(ThreadMark)


def encode_mark(mark: ThreadMark) -> bytes:
    """Return a mark as the text of its file."""
    return msgspec.json.format(msgspec.json.encode(mark), indent=2) + b"\n"


def decode_mark(data: bytes) -> ThreadMark:
    """Read a mark; raise ValueError when it is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no readable mark: {error}") from error
