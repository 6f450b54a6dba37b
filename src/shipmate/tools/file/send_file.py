"""Send a file of the workspace into the conversation."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath

import msgspec

from shipmate.tools.file.read import labels_by_path
from shipmate.tools.file.sharing import share_part
from shipmate.tools.file.target import read_target
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.workspace.upload import attach

# The most Telegram takes from a bot.
SIZE_LIMIT = 50 * 1024 * 1024


class SendFileArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class SendFile(Tool[SendFileArguments]):
    """The tool that hands a file to the people in the thread."""

    name = "send_file"
    description = "Send a file to the user."
    arguments = SendFileArguments
    # A file leaves the workspace for a platform, whole and for good.
    labels = Labels(reads_private=True, acts=True)

    def labels_for(self, arguments: SendFileArguments) -> Labels:
        return msgspec.structs.replace(labels_by_path(arguments.path), acts=True)

    async def picture(self, arguments: SendFileArguments, context: ToolContext) -> Picture:
        path, shares = arguments.path, context.shares
        if await asyncio.to_thread(shares.is_needed, context, path, SIZE_LIMIT):
            target = await asyncio.to_thread(shares.look, context, path)
        else:
            _, target = await asyncio.to_thread(read_target, context, path, SIZE_LIMIT)
        return Picture((await super().picture(arguments, context)).text, target)

    async def run(self, arguments: SendFileArguments, context: ToolContext) -> ToolResult:
        path, shares = arguments.path, context.shares
        name = PurePosixPath(path).name
        if await asyncio.to_thread(shares.is_needed, context, path, SIZE_LIMIT):
            share = await asyncio.to_thread(shares.share, context, path)
            told = f"Sent as an address that holds until {share.expires_at}: {name} ({share.size:,} bytes)."
            return ToolResult(output=told, files=(share_part(share),))
        data, _ = await asyncio.to_thread(read_target, context, path, SIZE_LIMIT)
        part = await asyncio.to_thread(attach, context.uploads, data, name)
        return ToolResult(output=f"Sent: {name} ({part['mediaType']}, {len(data):,} bytes).", files=(part,))
