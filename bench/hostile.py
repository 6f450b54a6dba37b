"""Read a hostile page of 1 MB, as `web_fetch` does: the child process, its start and its memory included."""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

SIZE = 1_000_000
SHAPES = {
    "nested lists": "<ul><li>",
    "nested quotations": "<blockquote>a",
    "nested blocks": "<div>",
    "tables": "<table><tr><td>",
    "links": "<a href=x>y</a>",
    "headings": "<h1>a</h1>",
    "unknown references": "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "comments never closed": "<!--",
    # Few tags and much text: what the library that finds the content is given, where it is installed.
    "ordinary": "<p>" + "The tide rises twice a day, as every sailor knows. " * 6 + "</p>",
}
RUNS = 3


def measure() -> list[dict[str, Any]]:
    """Time each shape in a fresh process, so that memory is that of this page alone."""
    slowest = heaviest = warmest = longest = busiest = 0.0
    for name in SHAPES:
        child = subprocess.run(
            [sys.executable, "-m", "bench.hostile", name], capture_output=True, text=True, check=True
        )
        cold, warm, stood, work, own, others = map(float, child.stdout.split())
        slowest, warmest = max(slowest, cold), max(warmest, warm)
        busiest = max(busiest, work)
        longest, heaviest = max(longest, stood), max(heaviest, own + others)
    return [
        {"name": "hostile page of 1 MB, worst shape, cold", "value": slowest, "unit": "s", "bar": "<= 1"},
        {"name": "hostile page of 1 MB, worst shape, warm", "value": warmest, "unit": "s", "bar": "<= 1"},
        {"name": "its work, processor time", "value": busiest, "unit": "s", "bar": "<= 1"},
        {"name": "its memory, child and growth of ours", "value": heaviest, "unit": "MB", "bar": "<= 200"},
        {
            "name": "longest time the event loop stood still",
            "value": longest * 1000,
            "unit": "ms",
            "bar": None,
        },
    ]


async def _read(name: str) -> str:
    from shipmate.decoding.worker import end_idle
    from shipmate.tools.web.fetcher import FetchedPage
    from shipmate.tools.web.web_fetch import read_fetched

    shape = SHAPES[name]
    body = (shape * (SIZE // len(shape) + 1))[:SIZE].encode()
    page = FetchedPage(url="https://example.org/", kind="text/html", charset=None, body=body, is_cut=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took: list[float] = []
    stood = 0.0
    for _ in range(RUNS):
        began = last = time.perf_counter()
        task = asyncio.create_task(read_fetched(page))
        while not task.done():
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            stood, last = max(stood, now - last), now
        await task
        took.append(time.perf_counter() - began)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    end_idle()
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = (others.ru_utime + others.ru_stime) / RUNS
    return f"{took[0]} {statistics.median(took)} {stood} {work} {grown / 1024} {others.ru_maxrss / 1024}"


if __name__ == "__main__":
    print(asyncio.run(_read(sys.argv[1])))
