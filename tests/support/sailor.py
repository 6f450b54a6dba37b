"""A program of the Python API that is fed over stdin, for crash tests to kill.

Each line of stdin is an ingress event. `ack ID` says that it is stored, `done ID STATUS` that its run ended.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shipmate import Shipmate
from shipmate.orchestrator.feed import Receipt
from shipmate.values.event import decode_event


async def main(folder: Path) -> None:
    """Hand events over until stdin ends."""
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    async with Shipmate.open(folder) as ship:
        print("ready", flush=True)
        followers: set[asyncio.Task[None]] = set()
        while line := await reader.readline():
            receipt = await ship.receive(decode_event(line))
            print(f"ack {receipt.row.event.message_id}", flush=True)
            task = asyncio.create_task(follow(receipt))
            followers.add(task)
            task.add_done_callback(followers.discard)
        await asyncio.gather(*followers)


async def follow(receipt: Receipt) -> None:
    """Say how the run of an event ended."""
    outcome = await receipt.outcome()
    print(f"done {receipt.row.event.message_id} {outcome.status}", flush=True)
