"""Read and write on the page in Chromium: a thread of 10,000 messages among 5,000 threads, hostile Markdown.

Tasks are told in processor time of the page's main thread, so that a busy machine does not count against it.
`python -m bench.page 1000 500` tries so many messages and threads.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from bench.__main__ import judge, line
from shipmate.store.file_store import open_store
from shipmate.workspace.layout import Layout
from tests.support.page import CHROMIUM, DESK, FLAGS, Serving, first_scripts, log_in, store_thread

MESSAGES = 10_000
THREADS = 5_000
# A shared machine's host counts what it takes for others as ours; what is ours comes again.
ROUNDS = 3
ANSWER = """Soundings of turn **{number}**, `lead-{number}`:

- two fathoms at the *quay*
- eleven beyond the [bar](https://example.org/{number})

```python
depth = sound({number})
```
"""
HOSTILE = (
    "*" * 20_000 + "a" + "*" * 20_000,
    "*a **b [c " * 20_000,
    "> " * 3_000,
    "$a^{b}$ " * 3_000,
    "a\n\n" * 50_000,
)

# What Chromium's main thread does is done in one of these, and none holds another.
TASKS = ("ThreadControllerImpl::RunTask", "BlinkScheduler_PerformMicrotaskCheckpoint")
# Scrolls by steps, one a frame, until the end of the list; tells the frames and the most elements.
SCROLL = """async (by) => {
    const box = document.querySelector(".conversation");
    const frames = [];
    let nodes = 0;
    let before = performance.now();
    for (let still = 0; still < 30 && frames.length < 3000; ) {
        const top = box.scrollTop;
        box.scrollBy(0, by);
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - before);
        before = now;
        if (frames.length % 20 === 0) nodes = Math.max(nodes, document.querySelectorAll("*").length);
        const isLoading = by < 0 && box.querySelector(".older") !== null;
        still = box.scrollTop === top && !isLoading ? still + 1 : 0;
    }
    return { frames, nodes };
}"""
OPEN = """async (room) => {
    const began = performance.now();
    location.hash = `#/t/web%3Aroom%3A${room}`;
    const isOpen = () => document.querySelector(`.message[data-row^="${room}-"]`);
    while (!isOpen()) await new Promise((resolve) => setTimeout(resolve, 1));
    return performance.now() - began;
}"""


def measure(messages: int = MESSAGES, threads: int = THREADS) -> list[dict[str, Any]]:
    """Drive a browser that is served by a real server."""
    rows = [{"name": "first scripts, gzip", "value": first_scripts(), "unit": "bytes", "bar": "<= 180000"}]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        addresses = _fill(folder, messages, threads)
        # A server that begins with all of it new would read it while the page is measured.
        asyncio.run(_index(folder))
        rows += _serve(folder, f"{messages:,} messages", addresses)
    return rows


def _serve(folder: Path, size: str, addresses: tuple[str, str, str]) -> list[dict[str, Any]]:
    with sync_playwright() as playwright:
        serving = Serving(folder)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS, "--enable-precise-memory-info"]
        )
        try:
            serving.start()
            return _drive(browser, serving, size, *addresses)
        finally:
            browser.close()
            serving.leave()


async def _index(folder: Path) -> None:
    store = open_store(Layout.at(folder))
    await store.reconcile()
    await store.close()


def _fill(folder: Path, messages: int, threads: int) -> tuple[str, str, str]:
    (folder / "Agent.md").write_text("# Captain\n")
    for number in range(threads):
        store_thread(folder, f"small-{number}", [f"Thread {number}", "Aye."])
    said = [ANSWER.format(number=n) if n % 2 else f"Sound again, turn {n}." for n in range(messages)]
    long = store_thread(folder, "long", said)
    short = store_thread(folder, "short", said[:60])
    hostile = store_thread(folder, "hostile", [text for each in HOSTILE for text in ("Harm", each)])
    return long, short, hostile


def _drive(
    browser: Browser, serving: Serving, size: str, long: str, short: str, hostile: str
) -> list[dict[str, Any]]:
    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    log_in(context, serving)
    page = context.new_page()
    page.goto(f"{serving.address}/{short}")
    page.locator(".message").last.wait_for()
    page.locator(".side-list .thread-link").first.wait_for()
    opened = [page.evaluate(OPEN, room) for room in ("long", "short") * 8]
    page.goto(f"{serving.address}/{long}")
    page.locator(".message").last.wait_for()
    up, ups = _traced(browser, page, lambda: page.evaluate(SCROLL, -1500))
    down, downs = _traced(browser, page, lambda: page.evaluate(SCROLL, 1500))
    words = "sound the lead " * 6
    typing = min(
        max(_traced(browser, page, lambda: page.locator("#prompt").press_sequentially(words))[1])
        for _ in range(ROUNDS)
    )
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    harm = min(_harm(browser, page, f"{serving.address}/{hostile}") for _ in range(ROUNDS))
    frames = [*up["frames"], *down["frames"]]
    return [
        {
            "name": "open a thread, warm, median",
            "value": statistics.median(opened[4:]),
            "unit": "ms",
            "bar": "<= 150",
        },
        {
            "name": f"{size}, end to end: most elements",
            "value": max(up["nodes"], down["nodes"]),
            "unit": "",
            "bar": "<= 8000",
        },
        {"name": f"{size}, end to end: memory after", "value": heap, "unit": "MB", "bar": None},
        {
            "name": f"{size}, scrolling: p95 frame",
            "value": statistics.quantiles(frames, n=20)[18],
            "unit": "ms",
            "bar": None,
        },
        {
            "name": f"{size}, scrolling up and loading: longest task",
            "value": max(ups),
            "unit": "ms",
            "bar": "<= 50",
        },
        {"name": f"{size}, scrolling down: longest task", "value": max(downs), "unit": "ms", "bar": "<= 50"},
        {
            "name": f"{size}, scrolling: tasks over 50 ms",
            "value": sum(spent > 50 for spent in (*ups, *downs)),
            "unit": f"of {len(frames):,} frames",
            "bar": None,
        },
        {"name": f"{size}, typing: longest task", "value": typing, "unit": "ms", "bar": "<= 50"},
        {"name": "hostile Markdown: longest task", "value": harm, "unit": "ms", "bar": "<= 200"},
    ]


def _harm(browser: Browser, page: Page, address: str) -> float:
    """Open what is hostile in a fresh page; return its longest task."""
    page.goto("about:blank")
    page.goto(address)
    # The page gives up reading after four seconds, and then draws piece by piece.
    _, spent = _traced(browser, page, lambda: page.wait_for_timeout(8000))
    drawn = page.locator(".message .prose").count()
    assert drawn == len(HOSTILE), f"{drawn} hostile messages were drawn"
    return max(spent)


def _traced(browser: Browser, page: Page, act: Callable[[], Any]) -> tuple[Any, list[float]]:
    """Do something; return what came of it and the processor time of each of the page's tasks meanwhile."""
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    outcome = act()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    spent = [
        event.get("tdur", event.get("dur", 0)) / 1000
        for event in events
        if event["name"] in TASKS and (event["pid"], event["tid"]) in mains
    ]
    return outcome, spent


if __name__ == "__main__":
    for row in measure(*map(int, sys.argv[1:])):
        print(line({**row, "holds": judge(row)}))
