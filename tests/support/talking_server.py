"""Serve a workspace with the scripted model as a process that a test may kill: <folder> <port>."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.script import TalkingModel
from tests.support.server import make_site, opener_for, serving


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
