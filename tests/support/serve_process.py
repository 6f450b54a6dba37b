"""Run `shipmate serve` as a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from tests.support.wait import LONG

LINK = re.compile(r"http://\S+/\?token=(\S+)")


class Process:
    """Hold a running server process and a client that is let in."""

    def __init__(self, process: asyncio.subprocess.Process, address: str, ticket: str, token: str) -> None:
        self.process = process
        self.address = address
        self.ticket = ticket
        self.token = token
        self.client = httpx2.AsyncClient(
            base_url=address,
            headers={"authorization": f"Bearer {token}"},
            trust_env=False,
            verify=False,
            timeout=LONG,
        )

    async def kill(self) -> None:
        """End the process as a power cut would."""
        self.process.kill()
        await self.process.wait()


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    return {**kept, "PYTHONUNBUFFERED": "1"}


@asynccontextmanager
async def shipmate(root: Path, *options: str) -> AsyncGenerator[Process]:
    """Run `shipmate serve` in a folder."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from shipmate.cli import main; main()",
        *("-C", str(root), "serve", "--no-open", "--port", "0", *options),
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(LONG):
            address = (await process.stdout.readline()).decode().split()[-1]
            link = LINK.search((await process.stdout.readline()).decode())
        assert link is not None
        running = Process(process, address, link[1], (root / ".ship" / "token").read_text().strip())
        async with running.client:
            yield running
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
