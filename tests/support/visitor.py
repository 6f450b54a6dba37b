"""Speak to a keeper's socket byte by byte."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from shipmate.workspace.layout import Layout
from tests.support.wait import LONG


class Visitor:
    """A connection to the socket, without anything of ours in between."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, layout: Layout) -> Visitor:
        """Knock at the keeper of a workspace."""
        return cls(*await asyncio.open_unix_connection(layout.keeper_socket))

    def say(self, frame: dict[str, Any]) -> None:
        """Send a frame."""
        data = json.dumps(frame).encode()
        self._writer.write(len(data).to_bytes(4, "big") + data)

    def say_bytes(self, data: bytes) -> None:
        """Send whatever."""
        self._writer.write(data)

    async def hear(self) -> dict[str, Any]:
        """Return the next frame."""
        size = int.from_bytes(await asyncio.wait_for(self._reader.readexactly(4), LONG), "big")
        return json.loads(await self._reader.readexactly(size))

    async def is_cut_off(self) -> bool:
        """Wait for the end, and tell whether nothing was said before it."""
        return await asyncio.wait_for(self._reader.read(), LONG) == b""

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
