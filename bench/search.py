"""Search 100,000 stored messages, in Chinese and English."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

MESSAGES = 100_000
WORDS = ("部署", "服务器", "天气", "会议", "报告", "数据库", "审批", "用户", "deploy", "server", "weather")


def measure() -> list[dict[str, Any]]:
    """Time 200 queries of random substrings."""
    return asyncio.run(_measure())


async def _measure() -> list[dict[str, Any]]:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        store, log = open_store(layout), FileLog(layout)
        texts = ["，".join(chance.choices(WORDS, k=12)) + f" {number}" for number in range(MESSAGES)]
        began = time.perf_counter()
        for start in range(0, MESSAGES, 1000):
            batch = [user_message(f"m{number}", texts[number]) for number in range(start, start + 1000)]
            await log.create(ThreadId("web", "room", str(start)), batch)
        await store.reconcile()
        indexed = time.perf_counter() - began
        spent: list[float] = []
        for _ in range(200):
            text = chance.choice(texts)
            at = chance.randrange(len(text) - 4)
            query = text[at : at + chance.randint(2, 4)].strip("， ") or "天气"
            began = time.perf_counter()
            await store.search.find(query, limit=50)
            spent.append((time.perf_counter() - began) * 1000)
        await store.close()
    p95 = statistics.quantiles(spent, n=20)[18]
    return [
        {"name": "search 100,000 messages, substring, p95", "value": p95, "unit": "ms", "bar": "<= 50"},
        {"name": "index one message", "value": indexed / MESSAGES * 1000, "unit": "ms", "bar": None},
    ]
