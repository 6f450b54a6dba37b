"""Remember facts about the project and the people in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from shipmate.errors import ToolError
from shipmate.memory.reader import user_key
from shipmate.tools.file.diff import unified
from shipmate.tools.file.notebook import upsert
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.reveal import reveal
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import write_private

# Memory is part of every prompt.
FILE_LIMIT = 65_536
HEADING_LIMIT = 100


class MemoryUpsertArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scope: Literal["project", "user"]
    heading: str
    content: str


class MemoryUpsert(Tool[MemoryUpsertArguments]):
    """Write one note of long-term memory."""

    name = "memory_upsert"
    description = "Remember a fact under a heading, replacing what stood there; empty content forgets it."
    arguments = MemoryUpsertArguments
    labels = Labels(acts=True)

    async def preview(self, arguments: MemoryUpsertArguments, context: ToolContext) -> str | None:
        path, before, after = _change(arguments, context)
        return reveal(unified(str(path.relative_to(context.folder)), before, after)) or "[nothing changes]"

    async def run(self, arguments: MemoryUpsertArguments, context: ToolContext) -> ToolResult:
        # Read and written in one go on the event loop, so that two notes at once cannot lose each other.
        path, before, after = _change(arguments, context)
        if before != after:
            write_private(path, after.encode())
        done = "Remembered" if arguments.content.strip() else "Forgotten"
        return ToolResult(output=f"{done}: {_heading(arguments)} ({path.relative_to(context.folder)}).")


def _change(arguments: MemoryUpsertArguments, context: ToolContext) -> tuple[Path, str, str]:
    """Work out which file changes, from what to what."""
    path = _path(arguments, context)
    before = path.read_text("utf-8", "replace") if path.is_file() else ""
    try:
        after = upsert(before, _heading(arguments), clean(arguments.content))
        size = len(after.encode())
    except UnicodeEncodeError as error:
        raise ToolError("The text holds half a character (a lone surrogate). Nothing was written.") from error
    if size > FILE_LIMIT:
        raise ToolError(
            f"Memory would grow past {FILE_LIMIT:,} bytes. Say it shorter, or forget something first."
        )
    return path, before, after


def _path(arguments: MemoryUpsertArguments, context: ToolContext) -> Path:
    if arguments.scope == "project":
        return context.layout.project_memory
    if not context.user_id:
        raise ToolError("Nobody in particular is speaking here; only the project can be remembered.")
    platform = ThreadId.parse(context.thread_id).platform
    return context.layout.user_memory(user_key(platform, context.user_id))


def _heading(arguments: MemoryUpsertArguments) -> str:
    heading = " ".join(clean(arguments.heading).strip(" \t\n#").split())
    if not heading or len(heading) > HEADING_LIMIT:
        raise ToolError(f"A heading is one line of 1 to {HEADING_LIMIT} characters.")
    return heading
