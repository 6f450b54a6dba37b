"""A database that refuses once stays usable; one that is lost, damaged or old is made what it must be."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.store.migration import Migration, read_migrations
from shipmate.store.sqlite import database as module
from shipmate.store.sqlite.database import PACKAGE, Database
from shipmate.workspace.layout import Layout

OPEN = """
import sys
from pathlib import Path
from shipmate.store.file_store import open_store
from shipmate.workspace.layout import Layout
open_store(Layout(Path(sys.argv[1])))
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def test_a_locked_database_refuses_in_words_and_works_again(layout: Layout) -> None:
    database = Database(layout)
    database.run("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(layout.state, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    def work() -> None:
        with database.transaction():
            database.run("CREATE TABLE one (a)")

    with pytest.raises(StorageError, match=r"cannot use \.ship/state\.db: database is locked") as caught:
        database.do(work)
    assert str(layout.root) not in str(caught.value)
    assert "lost" not in str(caught.value)
    other.execute("ROLLBACK")
    other.close()
    database.do(work)
    database.close()


def test_a_commit_that_fails_leaves_no_transaction_open(layout: Layout) -> None:
    database = Database(layout)
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


def test_many_processes_may_open_a_new_workspace_at_once(layout: Layout) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(layout.root)], stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    told = [process.communicate(timeout=60)[1].decode() for process in processes]
    assert [line for line in told if "Error" in line] == []
    assert [process.returncode for process in processes] == [0] * 8
    assert not layout.damaged.exists()


def test_many_processes_that_find_one_damaged_database_set_it_aside_once(layout: Layout) -> None:
    layout.ship.mkdir()
    layout.state.write_bytes(b"rubbish" * 1000)
    processes = [subprocess.Popen([sys.executable, "-c", OPEN, str(layout.root)]) for _ in range(6)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 6
    assert len(list(layout.damaged.iterdir())) == 1


def test_a_new_database_has_the_version_of_the_last_migration(layout: Layout) -> None:
    steps = read_migrations(PACKAGE)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    Database(layout).close()
    connection = sqlite3.connect(layout.state)
    assert connection.execute("PRAGMA user_version").fetchone()[0] == len(steps)
    connection.close()


def test_every_table_names_the_files_it_is_rebuilt_from() -> None:
    *_, index = [step.sql for step in read_migrations(PACKAGE)]
    for table in re.finditer(r"((?:--[^\n]*\n)*)CREATE TABLE (\w+)", index):
        if table[2] not in ("meta", "usage_file"):
            assert "Rebuilt from .ship/" in table[1], table[2]


def test_a_database_of_an_earlier_start_of_the_machine_is_made_anew(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(layout)
    database.run("INSERT INTO usage_file VALUES ('x', 1, 1)")
    database.close()
    monkeypatch.setattr(module, "_boot_id", lambda: "another start")
    layout.state.with_name("state.db-wal").write_bytes(b"left over")
    database = Database(layout)
    assert not layout.state.with_name("state.db-wal").exists()
    assert database.rows("SELECT * FROM usage_file") == []
    database.close()
    # It is no damage, and so nothing is set aside.
    assert not layout.damaged.exists()


def test_a_folder_that_cannot_be_used_is_told_without_its_place_on_the_machine(layout: Layout) -> None:
    layout.ship.write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"cannot use \.ship/state\.db") as caught:
        Database(layout)
    assert str(layout.root) not in str(caught.value)


def test_a_migration_that_breaks_off_leaves_nothing_of_itself(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Migration(1, "broken", "CREATE TABLE one (a); CREATE TABLE one (a);")
    with monkeypatch.context() as patch:
        patch.setattr("shipmate.store.sqlite.database.read_migrations", lambda _: [step])
        with pytest.raises(StorageError):
            Database(layout)
    database = Database(layout)
    names = [row[0] for row in database.rows("SELECT name FROM sqlite_master")]
    assert "one" not in names
    database.close()


def test_what_lay_beside_a_damaged_database_does_not_reach_the_new_one(layout: Layout) -> None:
    layout.ship.mkdir()
    layout.state.write_bytes(b"this is no database" * 500)
    beside = [layout.state.with_name(f"state.db{end}") for end in ("-journal", "-wal", "-shm")]
    for path in beside:
        path.write_bytes(b"left over")
    database = Database(layout)
    assert not any(path.exists() and path.read_bytes() for path in beside)
    assert layout.state.stat().st_mode & 0o777 == 0o600
    database.close()


def test_where_nothing_names_the_start_of_the_machine_writes_are_ordered(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipmate.store.sqlite.database._boot_id", lambda: "")
    database = Database(layout)
    assert database.rows("PRAGMA synchronous")[0][0] == 1
    database.close()
