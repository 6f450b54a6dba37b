"""Open state.db, bring it to this version, and run the named statements of the .sql files.

It is an index and not waited for: a power cut may leave it torn, so one of an earlier start of the machine is
made anew, and so is one that is missing, damaged or was put in the place of the one that was open.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from errno import ENOENT
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from shipmate.errors import StorageError
from shipmate.store.migration import read_migrations, read_statements
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import DISK, locked, make_folder, move_file, opened, stat_of
from shipmate.workspace.layout import Layout

log = logging.getLogger(__name__)
Result = TypeVar("Result")
Carry = Callable[[sqlite3.Connection], None]
PACKAGE = "shipmate.store.sqlite"
BOOT = Path("/proc/sys/kernel/random/boot_id")
# What belongs to a database beside its file.
COMPANIONS = ("-journal", "-wal", "-shm")
BROKEN = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_READONLY_DBMOVED", "SQLITE_IOERR_SHORT_READ")
# The whole of a database up to this size is checked when the index is compared with the files.
CHECKED_BYTES = 16 * 1024 * 1024
# How many bytes, and where: SQLite counts there each transaction that wrote.
CHANGE_COUNTER = (4, 24)
# How often something is tried on a database that is taken away each time.
TRIES = 10


class _OtherStartError(Exception):
    """The machine was started anew since this database was written."""


class Database:
    """One connection to an index, or to one in memory when no path is given."""

    def __init__(self, layout: Layout | None, path: Path | None = None, carry: Carry | None = None) -> None:
        self._layout = layout
        self._path = path if path is not None or layout is None else layout.state
        self._carry = carry
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        # Changes whenever another database took the place of the one before: it is to be compared then.
        self.serial = 0
        try:
            self._open()
        except (sqlite3.DatabaseError, OSError) as error:
            self._raise(error)

    def do(self, work: Callable[[], Result]) -> Result:
        """Do some work on the database; a lost or damaged one is made anew, and the work done once more."""
        try:
            return self._do(work)
        except (sqlite3.DatabaseError, OSError) as error:
            self._raise(error)

    def _do(self, work: Callable[[], Result]) -> Result:
        self._notice()
        for _ in range(TRIES - 1):
            try:
                return work()
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    self._heal(error)
                elif self._is_lost():
                    self._notice()
                else:
                    raise
        return work()

    def run(self, statement: str, values: Mapping[str, Any] | None = None) -> sqlite3.Cursor:
        """Run one statement."""
        assert self._connection is not None, "the database is open"
        return self._connection.execute(statement, values or {})

    def run_many(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        """Run one statement with each of several values."""
        assert self._connection is not None, "the database is open"
        self._connection.executemany(statement, values)

    def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> list[sqlite3.Row]:
        """Run a query to its end."""
        return self.run(statement, values).fetchall()

    def transaction(self) -> Transaction:
        """Make several statements one: all or none."""
        assert self._connection is not None, "the database is open"
        return Transaction(self._connection)

    def revision(self) -> bytes:
        """Return what differs once anything was written, by whichever process; asking takes no lock."""
        if self._path is None:
            return b""
        try:
            with opened(DISK, self._path, os.O_RDONLY) as handle:
                return DISK.pread(handle, *CHANGE_COUNTER) + repr(_identity(self._path)).encode()
        except OSError:
            return b""

    def check(self) -> None:
        """Look the whole database through for damage, if it is not large; a damaged one is made anew."""
        status = stat_of(DISK, self._path) if self._path is not None else None
        if status is None or status.st_size > CHECKED_BYTES:
            return

        def work() -> None:
            (said,) = self.run("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                raise _damage(said)

        self.do(work)

    def close(self) -> None:
        """Close the connection; a closed database may be closed again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _notice(self) -> None:
        """Open the database anew when it is not the one that was opened."""
        if self._connection is None or self._is_lost():
            self.close()
            self._open()

    def _is_lost(self) -> bool:
        """Return whether the file is gone, or another one lies in its place."""
        return self._path is not None and _identity(self._path) != self._identity

    def _open(self) -> None:
        if self._path is None:
            self._connect(":memory:")
            return
        for _ in range(TRIES - 1):
            # It may be taken away or replaced while it is being opened, too.
            try:
                self._open_file(self._path)
            except (sqlite3.DatabaseError, FileNotFoundError) as error:
                if isinstance(error, sqlite3.DatabaseError) and not _is_damage(error):
                    raise
            else:
                return
        self._open_file(self._path)

    def _open_file(self, path: Path) -> None:
        make_folder(DISK, path.parent)
        with locked(DISK, path.with_suffix(".lock")):
            try:
                self._connect(path)
            except _OtherStartError:
                for name in ("", *COMPANIONS):
                    path.with_name(path.name + name).unlink(missing_ok=True)
                self._connect(path)
            except sqlite3.DatabaseError as error:
                if _identity(path) == (0, 0):
                    raise FileNotFoundError(ENOENT, os.strerror(ENOENT)) from error
                if not _is_damage(error):
                    raise
                self._set_aside(str(error))
                self._connect(path)
        path.chmod(0o600)
        self._identity = _identity(path)

    def _connect(self, place: Path | str) -> None:
        self.close()
        connection = sqlite3.connect(place, isolation_level=None, timeout=10)
        connection.row_factory = sqlite3.Row
        self._connection = connection
        self.serial += 1
        try:
            boot = _boot_id()
            # Between two transactions the one file is the whole of it, whoever copies or replaces it.
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute(f"PRAGMA synchronous = {'OFF' if boot else 'NORMAL'}")
            connection.execute("PRAGMA temp_store = MEMORY")
            self._migrate(connection)
            self._compare_start(connection, boot)
        except BaseException:
            self.close()
            raise

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the tables to this version; refuse those of a newer one."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        steps = read_migrations(PACKAGE)
        if version > len(steps):
            raise StorageError(
                f"{self._name} was made by a newer Shipmate. Update this one, or move it away."
            )
        if version == 1 and self._carry is not None:
            self._carry(connection)
        for step in steps[version:]:
            connection.executescript(
                f"BEGIN IMMEDIATE; {step.sql} PRAGMA user_version = {step.number}; COMMIT;"
            )

    def _compare_start(self, connection: sqlite3.Connection, boot: str) -> None:
        """Refuse what an earlier start of the machine wrote: a power cut may have torn it."""
        found = connection.execute("SELECT value FROM meta WHERE name = 'boot'").fetchone()
        if found is None:
            connection.execute("INSERT INTO meta (name, value) VALUES ('boot', ?)", (boot,))
        elif found[0] != boot:
            raise _OtherStartError

    def _heal(self, error: sqlite3.DatabaseError) -> None:
        """Set the damaged database aside, unless another process has done so, and make a new one."""
        assert self._path is not None, "a database in memory takes no damage"
        with locked(DISK, self._path.with_suffix(".lock")):
            if _identity(self._path) == self._identity:
                self.close()
                with contextlib.suppress(FileNotFoundError):
                    self._set_aside(str(error))
        self.close()
        self._open()

    def _set_aside(self, reason: str) -> None:
        assert self._path is not None, "a database in memory takes no damage"
        folder = self._layout.damaged if self._layout else self._path.parent / "damaged"
        stamp = timestamp().replace(":", "").replace(".", "")
        kept = folder / f"{self._path.stem}-{stamp}{self._path.suffix}"
        move_file(DISK, self._path, kept)
        for companion in COMPANIONS:
            self._path.with_name(self._path.name + companion).unlink(missing_ok=True)
        named = self._layout.name_of(kept) if self._layout else kept.name
        log.warning("%s cannot be used (%s); it is kept as %s and made anew", self._name, reason, named)

    @property
    def _name(self) -> str:
        if self._path is None:
            return "the index"
        return self._layout.name_of(self._path) if self._layout else self._path.name

    def _raise(self, error: sqlite3.DatabaseError | OSError) -> NoReturn:
        """Raise trouble in words for a person, but for a mistake of ours."""
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise error
        reason = error.strerror if isinstance(error, OSError) else error
        raise StorageError(
            f"cannot use {self._name}: {reason}. It only lists what the files hold; mend this and retry."
        ) from error


class Transaction:
    """Several statements that are one."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._take_back()
            return
        try:
            self._connection.execute("COMMIT")
        except BaseException:
            self._take_back()
            raise

    def _take_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.rollback()


def _damage(reason: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorname = "SQLITE_CORRUPT"
    return error


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    name = getattr(error, "sqlite_errorname", None) or ""
    return name.startswith(BROKEN) or "no such table" in str(error) or "no such column" in str(error)


def _identity(path: Path) -> tuple[int, int]:
    status = stat_of(DISK, path)
    return (0, 0) if status is None else (status.st_dev, status.st_ino)


@cache
def _boot_id() -> str:
    """Return what names this start of the machine; empty where nothing does."""
    try:
        return BOOT.read_text("ascii").strip()
    except OSError:
        return ""


def statements(name: str) -> dict[str, str]:
    """Read the named statements of one .sql file."""
    return read_statements(PACKAGE, name)
