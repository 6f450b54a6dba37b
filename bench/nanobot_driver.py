"""Be run by nanobot's own python: time its turns against a model server, print rows as JSON."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

TURNS = 20
THREADS = 50
TURNS_EACH = 2


async def main(config: str) -> None:
    """Measure fresh turns, and many sessions at once."""
    from loguru import logger
    from nanobot.nanobot import Nanobot

    logger.remove()
    bot = Nanobot.from_config(config)
    await bot.run("ping", session_key="warm")
    spent = []
    for number in range(TURNS):
        began = time.perf_counter()
        await bot.run("ping", session_key=f"fresh-{number}")
        spent.append((time.perf_counter() - began) * 1000)
    began = time.perf_counter()
    await asyncio.gather(*(_talk(bot, f"load-{number}") for number in range(THREADS)))
    rate = THREADS * TURNS_EACH / (time.perf_counter() - began)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    rows = [
        {
            "name": "nanobot turn, fresh session, p50",
            "value": statistics.median(spent),
            "unit": "ms",
            "bar": None,
        },
        {"name": "nanobot 50 sessions at once", "value": rate, "unit": "turns/s", "bar": None},
        {"name": "nanobot memory after that", "value": pages * 4096 / 1e6, "unit": "MB", "bar": None},
    ]
    await bot.aclose()
    print(json.dumps(rows))


async def _talk(bot, session: str) -> None:
    for _ in range(TURNS_EACH):
        await bot.run("ping", session_key=session)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
