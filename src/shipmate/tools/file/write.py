"""Create or replace files of the workspace."""

from __future__ import annotations

import asyncio
import os

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.confine import Place, locate, read_place, replace_bytes
from shipmate.tools.file.diff import summary, unified
from shipmate.tools.file.protection import refuse_writing
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.reveal import reveal

COMPARE_LIMIT = 5_000_000


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    content: str


class Write(Tool[WriteArguments]):
    """Put a whole file in place."""

    name = "write"
    description = "Create or replace a file."
    arguments = WriteArguments
    labels = Labels(acts=True)

    async def preview(self, arguments: WriteArguments, context: ToolContext) -> str | None:
        return await asyncio.to_thread(_preview, arguments, context)

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        return ToolResult(output=await asyncio.to_thread(_write, arguments, context))


def _preview(arguments: WriteArguments, context: ToolContext) -> str:
    try:
        with locate(context.folder, arguments.path, refuse_writing) as place:
            old = _current(place)
    except ToolError:
        # Folders on the way do not exist yet, or the call will be refused: there is nothing to compare with.
        old = None
    if isinstance(old, int):
        return reveal(f"{arguments.path}: replaces a file of {old:,} bytes with\n{arguments.content}")
    return reveal(unified(arguments.path, old or "", arguments.content))


def _write(arguments: WriteArguments, context: ToolContext) -> str:
    data = encode(arguments.content)
    with locate(context.folder, arguments.path, refuse_writing, make_parents=True) as place:
        old = _current(place)
        replace_bytes(place, data)
    if old is None:
        return f"Created {place.path}: {len(arguments.content.splitlines())} lines."
    if isinstance(old, int):
        return f"Replaced {place.path}: {len(data):,} bytes, before {old:,}."
    return f"Replaced {place.path}: {summary(old, arguments.content)}."


def encode(text: str) -> bytes:
    """Encode a text for a file."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The text holds half a character (a lone surrogate). Nothing was written.") from error


def _current(place: Place) -> str | int | None:
    """Give what a file holds now: text, the size of what is none or too long, None when there is no file."""
    try:
        size = os.stat(place.name or ".", dir_fd=place.folder, follow_symlinks=False).st_size
    except FileNotFoundError:
        return None
    if size > COMPARE_LIMIT:
        return size
    try:
        return read_place(place, COMPARE_LIMIT).decode()
    except UnicodeDecodeError:
        return size
