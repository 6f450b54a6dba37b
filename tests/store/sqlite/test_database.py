"""A database that refuses once stays usable and as durable as before."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.store.database import Database

OPEN = """
import sys
from pathlib import Path
from shipmate.store.sqlite import SqliteStore
SqliteStore(Path(sys.argv[1]))
"""


def test_a_locked_database_does_not_weaken_what_comes_after(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.db")
    database.run("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="locked"), database.transaction(is_hurried=True):
        pass
    other.execute("ROLLBACK")
    assert database.rows("PRAGMA synchronous")[0][0] == 2
    with database.transaction():
        database.run("CREATE TABLE one (a)")
    other.close()
    database.close()


def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.db")
    database.run("PRAGMA foreign_keys = ON")
    database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    database.run("CREATE TABLE child (p REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(sqlite3.IntegrityError), database.transaction():
        database.run("INSERT INTO child VALUES (1)")
    with database.transaction():
        database.run("INSERT INTO parent VALUES (1)")
    assert len(database.rows("SELECT * FROM parent")) == 1
    assert database.rows("SELECT * FROM child") == []
    database.close()


def test_many_processes_may_open_a_new_workspace_at_once(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(tmp_path / "state.db")], stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    told = [process.communicate(timeout=60)[1].decode() for process in processes]
    assert [line for line in told if "Error" in line] == []
    assert [process.returncode for process in processes] == [0] * 8
