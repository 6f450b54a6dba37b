from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.priming.library import Library
from shipmate.workspace.layout import Layout
from tests.support.priming_script import Put, words


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "Agent.md").write_text("# Mate\n", encoding="utf-8")
    return Layout(tmp_path)


@pytest.fixture
def library(layout: Layout) -> Library:
    return Library(layout)


@pytest.fixture
def put(layout: Layout) -> Put:
    """Write a script of one exchange, or of the given records, to the library."""

    def write(ref: str, head: str = "", body: str = "") -> Path:
        path = layout.priming / f"{ref}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        top = f"---\n{head}\n---\n" if head else ""
        path.write_text(top + (body or words("hello", "hi there")), encoding="utf-8")
        return path

    return write
