"""Create or replace files of the workspace."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.change.replace import replace_bytes
from shipmate.tools.file.change.rewind import keep_before
from shipmate.tools.file.confine import locate
from shipmate.tools.file.diff import summary, unified
from shipmate.tools.file.protection import refuse_change
from shipmate.tools.file.shared_project import in_project
from shipmate.tools.file.target import FileState, approved_path, check_target, file_target, read_state
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

COMPARE_LIMIT = 5_000_000


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    content: str


class Write(Tool[WriteArguments]):
    """The tool that puts a whole file in place."""

    name = "write"
    description = "Create or replace a file."
    arguments = WriteArguments
    synonyms = {"file_path": "path"}  # noqa: RUF012
    labels = Labels(acts=True)

    def translate(self, arguments: JsonObject) -> JsonObject:
        return in_project(super().translate(arguments))

    async def picture(self, arguments: WriteArguments, context: ToolContext) -> Picture:
        return await asyncio.to_thread(_picture, arguments, context)

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        return ToolResult(output=await asyncio.to_thread(_write, arguments, context))


def _picture(arguments: WriteArguments, context: ToolContext) -> Picture:
    with locate(context.folder, arguments.path, refuse_change(context), parents="named") as place:
        before = read_state(place, COMPARE_LIMIT)
    target, old = file_target(place.path, before), _text_of(before)
    if before is not None and old is None:
        words = f"{place.path}: replaces a file of {before.size:,} bytes with\n{arguments.content}"
        return Picture(reveal(words), target)
    return Picture(reveal(unified(place.path, old or "", arguments.content)) or "[nothing changes]", target)


def _write(arguments: WriteArguments, context: ToolContext) -> str:
    data, expected, check = encode(arguments.content), approved_path(context), refuse_change(context)
    with locate(context.folder, arguments.path, check, parents="made", expected=expected) as place:
        before = read_state(place, COMPARE_LIMIT)
        check_target(context, file_target(place.path, before))
        keep_before(context, "write", place, data)
        replace_bytes(place, data, before)
    if before is None:
        count = len(arguments.content.splitlines())
        return f"Created {place.path}: {count} {'line' if count == 1 else 'lines'}."
    if (old := _text_of(before)) is None:
        return f"Replaced {place.path}: {len(data):,} bytes, before {before.size:,}."
    return f"Replaced {place.path}: {summary(old, arguments.content)}."


def encode(text: str) -> bytes:
    """Encode a text for a file."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The text holds half a character (a lone surrogate). Nothing was written.") from error


def _text_of(state: FileState | None) -> str | None:
    """Return the text a file holds; None when it holds none, or it is too long to compare."""
    if state is None or state.content is None:
        return None
    try:
        return state.content.decode()
    except UnicodeDecodeError:
        return None
