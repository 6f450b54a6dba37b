"""Show an image of the workspace in the conversation."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath

import msgspec

from shipmate.context.media import BYTES_LIMIT, check_image
from shipmate.errors import MediaError, ToolError
from shipmate.tools.file.read import labels_by_path
from shipmate.tools.file.target import read_target
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.workspace.upload import attach


class ShowImageArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class ShowImage(Tool[ShowImageArguments]):
    """The tool that puts a picture before the people in the thread."""

    name = "show_image"
    description = "Show an image file to the user."
    arguments = ShowImageArguments
    labels = Labels(reads_private=True)

    def labels_for(self, arguments: ShowImageArguments) -> Labels:
        return labels_by_path(arguments.path)

    async def picture(self, arguments: ShowImageArguments, context: ToolContext) -> Picture:
        _, target = await asyncio.to_thread(read_target, context, arguments.path, BYTES_LIMIT)
        return Picture((await super().picture(arguments, context)).text, target)

    async def run(self, arguments: ShowImageArguments, context: ToolContext) -> ToolResult:
        data, _ = await asyncio.to_thread(read_target, context, arguments.path, BYTES_LIMIT)
        try:
            # Decodes it: only what is an image through and through is shown as one.
            await check_image(data, arguments.path)
        except MediaError as error:
            raise ToolError(str(error)) from error
        name = PurePosixPath(arguments.path).name
        part = attach(context.uploads, data, name)
        return ToolResult(output=f"Shown: {name} ({part['mediaType']}, {len(data):,} bytes).", files=(part,))
