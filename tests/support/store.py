"""Open each kind of store the same way, so that one test holds all of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from shipmate.store.file_store import open_store
from shipmate.store.port import Store
from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.postgres_store import PostgresStore, open_postgres_store
from shipmate.store.transient_store import TransientStore
from shipmate.thread.log import FileLog, Log
from shipmate.thread.memory_log import MemoryLog
from shipmate.workspace.disk.disk import Disk
from shipmate.workspace.layout import Layout

Place: TypeAlias = Disk | PostgresDatabase


async def open_any_store(request: pytest.FixtureRequest, kind: str, folder: Path) -> Store:
    """Open a store of a kind: `file`, `memory` or `postgres`."""
    if kind == "postgres":
        return await open_postgres_store(request.getfixturevalue("postgres_tables"))
    return open_store(Layout(folder)) if kind == "file" else TransientStore()


def log_of(store: Store, folder: Path) -> Log:
    """Return where a store's threads have their rows."""
    return store.log if isinstance(store, PostgresStore) else FileLog(Layout(folder))


@asynccontextmanager
async def any_log(request: pytest.FixtureRequest, kind: str, folder: Path) -> AsyncGenerator[Log]:
    """Open a log of a kind: `file`, `memory` or `postgres`."""
    if kind == "postgres":
        store = await open_postgres_store(request.getfixturevalue("postgres_tables"))
        yield store.log
        await store.close()
    else:
        yield FileLog(Layout(folder)) if kind == "file" else MemoryLog()
