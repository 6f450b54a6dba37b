"""Open state.db and run the named statements of the .sql files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from shipmate.errors import StorageError
from shipmate.workspace.layout import make_private

# Raised with every change of schema.sql; a database of an older version is then brought up to date here.
SCHEMA_VERSION = 1
MARK = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Database:
    """Be one connection to state.db, or to a database in memory when no path is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        with self._trouble():
            if path is not None:
                make_private(path.parent)
            self._connection = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=10)
            self._connection.row_factory = sqlite3.Row
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        """Make the tables of a new database; refuse one that a newer Shipmate made."""
        if self._path is not None:
            self._path.chmod(0o600)
            # FULL: an acknowledged message survives a power cut, not only a crash.
            self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StorageError(f"{self._path} was made by a newer Shipmate. Update this one to use it.")
        if version == 0:
            self._connection.executescript(
                f"{read_sql('schema.sql')} PRAGMA user_version = {SCHEMA_VERSION};"
            )

    def run(self, statement: str, values: Mapping[str, Any] | None = None) -> sqlite3.Cursor:
        """Run one statement."""
        with self._trouble():
            return self._connection.execute(statement, values or {})

    def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> list[sqlite3.Row]:
        """Run a query to its end."""
        with self._trouble():
            return self._connection.execute(statement, values or {}).fetchall()

    def hurry(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Run one statement as a hurried transaction of its own."""
        self.run("PRAGMA synchronous = NORMAL")
        try:
            self.run(statement, values)
        finally:
            self.run("PRAGMA synchronous = FULL")

    @contextmanager
    def transaction(self, *, is_hurried: bool = False) -> Generator[None]:
        """Make several statements one: all or none.

        A hurried one does not wait for the disk: a crash of the process loses nothing, a power cut may.
        It is for what can be told again from the threads; the next one that waits puts it on disk as well.
        """
        if is_hurried:
            self.run("PRAGMA synchronous = NORMAL")
        try:
            self.run("BEGIN IMMEDIATE")
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise
        finally:
            if is_hurried:
                self.run("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the connection; a closed database may be closed again."""
        self._connection.close()

    @contextmanager
    def _trouble(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            raise StorageError(
                f"cannot use {self._path}: {error}. Nothing stored was lost; mend it and retry."
            ) from error


@cache
def statements(name: str) -> dict[str, str]:
    """Read the named statements of one .sql file."""
    _, *pieces = MARK.split(read_sql(f"{name}.sql"))
    return {key: text.strip() for key, text in zip(pieces[::2], pieces[1::2], strict=True)}


def read_sql(name: str) -> str:
    """Read a .sql file of the package."""
    return (files("shipmate.store") / "sql" / name).read_text("utf-8")
