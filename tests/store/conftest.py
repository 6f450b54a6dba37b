"""Let lists wait for an index that is being made, however busy the machine is; leave no connection open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from shipmate.store import index
from tests.support.wait import LONG


@pytest.fixture(autouse=True)
def wait_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PATIENCE_SECONDS", LONG)


@pytest.fixture(autouse=True)
def close_every_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every version notices here what only Python 3.13 warns of, and then in the test that left it open."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def note(*given: Any, **named: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **named))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", note)
    yield
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            _ = connection.total_changes
