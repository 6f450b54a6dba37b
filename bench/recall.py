"""Recall among 2,000 entries: how often the answer is among the best five, and how long it takes."""

from __future__ import annotations

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from shipmate.memory.reader import MemoryReader
from shipmate.memory.recalling import MemoryRecall
from shipmate.recall.text_ranking import Ranking
from shipmate.recall.vector import Vectors, load_vectors
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from tests.support.recall_set import KINDS, make_entries, read_questions, score

SIZES = (200, 2_000)


def measure() -> list[dict[str, Any]]:
    """Ask every question with and without vectors; then time what a turn asks of a memory of files."""
    rows = [row for vectors in (load_vectors(), None) for size in SIZES for row in _quality(size, vectors)]
    return [*rows, *_speed()]


def _quality(size: int, vectors: Vectors | None) -> list[dict[str, Any]]:
    entries = make_entries(size)
    best = partial(_best, entries, Ranking(entries), vectors)
    how = "with the extra" if vectors is not None else "without the extra"
    asked = [each for each in read_questions() if each.kind in KINDS[:2]]
    bar = ">= 0.85" if vectors is not None else ">= 0.6"
    name = f"recall@5 of {size:,}, {how}"
    rows: list[dict[str, Any]] = [
        {"name": name, "value": score(best, asked)["all", "all"], "unit": "", "bar": bar}
    ]
    for (language, kind), share in sorted(score(best, read_questions()).items()):
        if "all" not in (language, kind):
            rows.append({"name": f"… {language}, {kind}", "value": share, "unit": "", "bar": None})
    return rows


def _best(entries: list[str], ranking: Ranking, vectors: Vectors | None, query: str) -> list[str]:
    return [entries[each.place] for each in ranking.rank(query, vectors, 5)]


def _speed() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        (layout.memory / "topics").mkdir(parents=True)
        entries = make_entries(2_000)
        for number in range(20):
            lines = "\n".join(f"- {each}" for each in entries[number * 100 : number * 100 + 100])
            (layout.memory / "topics" / f"{number}.md").write_text(f"# Topic {number}\n\n{lines}\n")
        recall = MemoryRecall(MemoryReader(layout, FileCache(layout.root)), folder)
        spent: list[float] = []
        for question in read_questions():
            began = time.perf_counter()
            recall.find(question.text, "web", "", (), 1_500)
            spent.append((time.perf_counter() - began) * 1000)
    p95 = statistics.quantiles(spent[5:], n=20)[18]
    return [
        {
            "name": "recall from 2,000 entries, warm, p50",
            "value": statistics.median(spent[5:]),
            "unit": "ms",
            "bar": "<= 10",
        },
        {"name": "recall from 2,000 entries, warm, p95", "value": p95, "unit": "ms", "bar": None},
        {"name": "recall from 2,000 entries, first", "value": spent[0], "unit": "ms", "bar": None},
    ]
