"""Serve a workspace with the scripted model as a process that a test may kill: <folder> <port>."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.script import TalkingModel
from tests.support.server import make_site, opener_for, serving
from tests.support.wait import LONG

ROOT = Path(__file__).parents[2]


async def start(folder: Path, port: int = 0) -> asyncio.subprocess.Process:
    """Start such a process and wait until it answers."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.talking_server", str(folder), str(port)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(LONG):
        assert await process.stdout.readline() == b"ready\n"
    return process


async def main(folder: Path, port: int) -> None:
    """Serve until killed."""
    site = make_site(folder, opener_for(TalkingModel()))
    async with serving(site, port=port) as served:
        # What was left undone goes on before anybody asks, as in `shipmate serve`.
        await served.ship()
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
