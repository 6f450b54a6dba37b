from __future__ import annotations

import math
import os
import signal
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from tests.support.search import load_profile

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

# Before any test module is imported: decorators take over what holds then.
load_profile()

# A run that a shell starts in the background inherits that Ctrl-C is ignored, and so would all it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Generator[None]:
    """Wait for the disk in place, however busy the machine; what a slow disk changes has tests of its own."""
    from shipmate.workspace.disk import pace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace, "SLOW", math.inf)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    """Run a real PostgreSQL for as long as this process tests."""
    from tests.support.postgres import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Generator[str]:
    """Give the address of an empty database that is the test's own."""
    with postgres_server.database() as address:
        yield address


@pytest.fixture(scope="session")
def postgres_made(postgres_server: PostgresServer) -> Generator[str]:
    """Give the address of a database with all tables, which tests share."""
    from tests.support.postgres import make_tables

    with postgres_server.database() as address:
        make_tables(address)
        yield address


@pytest.fixture
def postgres_tables(postgres_made: str) -> str:
    """Give the address of a database with all tables and nothing in them."""
    from tests.support.postgres import empty_tables

    empty_tables(postgres_made)
    return postgres_made


@pytest.fixture(autouse=os.environ.get("SHIPMATE_TEST_STORE") == "postgres")
def fleet_store(postgres_tables: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let workspaces keep all in PostgreSQL: in every test when `SHIPMATE_TEST_STORE=postgres`."""
    monkeypatch.setenv("SHIPMATE_STORE", postgres_tables)
    # Tests that open a workspace with an environment of their own are meant as well.
    monkeypatch.setattr("shipmate.app.find_address", lambda *_: postgres_tables)
    return postgres_tables
