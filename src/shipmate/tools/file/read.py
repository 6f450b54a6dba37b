"""Read text files of the workspace."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from io import BufferedReader, BytesIO
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta

from shipmate.errors import DecodingError, ToolError
from shipmate.skills.location import resolve
from shipmate.tools.file.confine import open_file
from shipmate.tools.file.protection import names_state
from shipmate.tools.file.search.tree import list_folder
from shipmate.tools.file.shared_project import in_project
from shipmate.tools.file.target import check_target, real_path
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject

IMAGE_STARTS = {b"\x89PNG\r\n": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"RIFF": "WebP"}
UTF16_LIMIT = 4_000_000
FOLDER_LIMIT = 500


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    offset: Annotated[int, Meta(ge=1, description="first line or page")] = 1
    limit: Annotated[int, Meta(ge=1, description="lines")] = 100_000


def labels_by_path(path: str) -> Labels:
    """Label a read: what strangers sent lies in `.ship`, beside the member's memory."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    _, _, rest = f"/{path}/".partition("/.ship/")
    is_memory = rest.startswith("memory/") and ".." not in rest
    return Labels(reads_private=True, reads_untrusted=names_state(parts) and not is_memory)


class Read(Tool[ReadArguments]):
    """The tool that shows a text file, or the names in a folder."""

    name = "read"
    description = (
        "Read a text file, PDF or office document, or list a folder. Paths are relative to the workspace."
    )
    arguments = ReadArguments
    synonyms = {"file_path": "path"}  # noqa: RUF012
    labels = Labels(reads_private=True)

    def translate(self, arguments: JsonObject) -> JsonObject:
        return in_project(super().translate(arguments))

    def labels_for(self, arguments: ReadArguments) -> Labels:
        return labels_by_path(arguments.path)

    async def picture(self, arguments: ReadArguments, context: ToolContext) -> Picture:
        shown = await super().picture(arguments, context)
        # A file may grow while it is asked about; which file it is may not change.
        return Picture(shown.text, {} if resolve(arguments.path) else real_path(context, arguments.path))

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        # Skills of the package lie outside the workspace; prompts name them `skill:<name>`.
        builtin = resolve(arguments.path)
        root, path = (builtin.parent, builtin.name) if builtin else (context.folder, arguments.path)
        with open_file(root, path) as (handle, status, place):
            if builtin is None:
                check_target(context, {"path": place.path})
            if stat.S_ISDIR(status.st_mode):
                return ToolResult(output=describe_folder(list_folder(handle, place.parts)))
            with os.fdopen(os.dup(handle), "rb") as file:
                from shipmate.documents.document import DOCUMENT_LIMIT, may_be_document

                if not may_be_document(file.peek(1024)):
                    return ToolResult(output=_show(file, status.st_size, arguments, self.budget))
                data = file.read(DOCUMENT_LIMIT + 1)
        return ToolResult(output=await self._read_document(data, status.st_size, arguments, context))

    async def _read_document(
        self, data: bytes, size: int, arguments: ReadArguments, context: ToolContext
    ) -> str:
        from shipmate.documents.document import DOCUMENT_LIMIT, kind_of, read_document, write_units

        kind = kind_of(data)
        if kind is None:
            return _describe_binary(data[:8], size)
        if size > DOCUMENT_LIMIT:
            raise ToolError(
                f"{arguments.path} is larger than {DOCUMENT_LIMIT // 1_000_000} MB, the most that is read "
                "of a document. Split it, or use exec."
            )
        name = arguments.path.rpartition("/")[2]
        try:
            found = await read_document(
                data, kind, name, first=arguments.offset, limit=arguments.limit, room=self.budget
            )
        except DecodingError as error:
            raise ToolError(str(error)) from error
        return keep(clean(write_units(found, name)), context, self.budget + 1_000)


def describe_folder(names: list[str]) -> str:
    """Write the names in a folder, as many as a model may want."""
    more = f"\n[{len(names) - FOLDER_LIMIT} more; use glob]" if len(names) > FOLDER_LIMIT else ""
    return ("\n".join(names[:FOLDER_LIMIT]) or "[empty folder]") + more


def _show(file: BufferedReader, size: int, arguments: ReadArguments, budget: int) -> str:
    start = file.peek(8192)[:8192]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = file.read(UTF16_LIMIT).decode("utf-16", "replace")
        return _lines(BytesIO(text.encode()), arguments, budget)
    if b"\0" in start:
        return _describe_binary(start, size)
    return _lines(file, arguments, budget) if size or start else "[empty file]"


def _describe_binary(start: bytes, size: int) -> str:
    for magic, kind in IMAGE_STARTS.items():
        if start.startswith(magic):
            return f"[{kind} image of {size:,} bytes: show_image shows it]"
    return f"[binary file of {size:,} bytes, beginning with {start[:8].hex(' ')}]"


def _lines(file: BinaryIO, arguments: ReadArguments, budget: int) -> str:
    """Show the lines asked for as far as the budget goes, and say how to read on."""
    shown: list[str] = []
    room, last, damaged = budget, arguments.offset - 1, False
    wanted = range(arguments.offset, arguments.offset + arguments.limit)
    for number, line in _numbered(file, budget * 4):
        if number < wanted.start:
            continue
        if number >= wanted.stop or (len(line) > room and shown):
            return "".join(shown) + _note(damaged, f"the file goes on: read with offset {last + 1}")
        text = line.decode("utf-8", "replace")
        damaged = damaged or "\ufffd" in text
        shown.append(clean(text[:budget]) + ("…[line cut]\n" if len(text) > budget else ""))
        room -= len(text)
        last = number
    if not shown:
        return f"[no line {arguments.offset}: the file is shorter]"
    return "".join(shown) + _note(damaged, "")


def _note(damaged: bool, more: str) -> str:
    notes = [
        note for note in ("not UTF-8: undecodable bytes are shown as \ufffd" if damaged else "", more) if note
    ]
    return f"\n[{'; '.join(notes)}]" if notes else ""


def _numbered(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes]]:
    """Go over numbered lines, each cut to `limit` bytes, without ever holding a whole giant line."""
    number = 0
    while line := file.readline(limit):
        number += 1
        ending = line
        while not ending.endswith(b"\n") and len(ending) == limit:
            ending = file.readline(limit)
        yield number, line
