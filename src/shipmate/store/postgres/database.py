"""Reach PostgreSQL: shared connections, and work that is done once, also when the database goes away.

What breaks off is done again until the database answers or patience ends. Whether a lost answer was a commit
is asked of the database itself, so that nothing is written twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from shipmate.errors import StorageError, UserError
from shipmate.store.migration import read_statements

log = logging.getLogger(__name__)
Result = TypeVar("Result")
AsyncLink: TypeAlias = "psycopg.AsyncConnection[tuple[Any, ...]]"
Link: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
Values: TypeAlias = Mapping[str, Any]
PACKAGE = "shipmate.store.postgres"
BEHIND = "Run `shipmate db migrate` once, with no run going on."
# How long a database may be away before those who wait are told.
PATIENCE = 75.0
# What is asked in between, where the whole process waits for the answer, is refused sooner.
SHORT_PATIENCE = 5.0
# How long one waits for a connection while all of them are busy.
BUSY_PATIENCE = 30.0
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
CONNECT_SECONDS = 5
AGAIN_SECONDS = 0.5
# A machine that vanished is noticed within about twenty seconds, from either side.
ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2}
# Names a transaction that wrote, so that its end can be asked for later.
NUMBER = b"SELECT pg_current_xact_id_if_assigned()::text"
STATUS = b"SELECT pg_xact_status(%s::xid8)"
OPTIONS = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2"


def statements(name: str) -> dict[str, bytes]:
    """Read the named statements of one .sql file."""
    return {key: text.encode() for key, text in read_statements(PACKAGE, name).items()}


def describe(address: str) -> str:
    """Return how an address is named to people: without user, password and options."""
    try:
        known = conninfo_to_dict(address)
    except psycopg.Error:
        return "the database"
    host = known.get("host") or "localhost"
    port = f":{known['port']}" if known.get("port") else ""
    return f"database {known.get('dbname') or ''} at {host}{port}"


def plain(text: str) -> str:
    """Return a text as a column can hold it; PostgreSQL has no room for NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


class PostgresDatabase:
    """One database, reached by this process under its worker's name."""

    def __init__(self, address: str, *, worker: str = "", size: int = 8, patience: float = PATIENCE) -> None:
        try:
            given = conninfo_to_dict(address)
        except psycopg.Error:
            # What it says may hold the password.
            raise UserError(
                "the address of the store cannot be read; write postgresql://user:password@host:5432/name"
            ) from None
        self.name = describe(address)
        self.worker = worker
        self._address = address
        self._patience = patience
        options = f"{given.get('options', '')} {OPTIONS}".strip()
        known = {"connect_timeout": CONNECT_SECONDS, "application_name": "shipmate", **ALIVE, **given}
        self._conninfo = make_conninfo("", **{**known, "options": options})
        self.pool: AsyncConnectionPool[AsyncLink] = AsyncConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=size,
            open=False,
            name="shipmate",
        )
        self._link: Link | None = None
        self._link_lock = threading.RLock()
        self._depth = 0
        self._again = 0.0
        self._is_away = False

    def twin(self) -> PostgresDatabase:
        """Return the same database, reached by connections of its own."""
        return PostgresDatabase(self._address, worker=self.worker, patience=self._patience)

    async def open(self) -> None:
        """Connect; raise StorageError when the database cannot be reached."""
        # The pool tries on behind our back; whether the address is right is said at once.
        await (await self.connect()).close()
        await self.pool.open()

    async def close(self) -> None:
        """Close every connection."""
        await self.pool.close()
        self.let_go()

    def let_go(self) -> None:
        """Close the connection of work that the process waited for."""
        with self._link_lock:
            if self._link is not None:
                self._link.close()
                self._link = None

    async def connect(self) -> AsyncLink:
        """Make a connection of one's own."""
        try:
            return await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        except psycopg.OperationalError as error:
            raise self._refuse(error) from error

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncLink]:
        """Hold a connection in a transaction; what breaks off is said, and nothing of it stands."""
        try:
            async with self.pool.connection(BUSY_PATIENCE) as link, link.transaction():
                yield link
        except PoolTimeout as error:
            raise self._refuse_busy(error) from error
        except psycopg.OperationalError as error:
            raise self._refuse(error) from error

    async def run(self, work: Callable[[AsyncLink], Awaitable[Result]], *, reads: bool = False) -> Result:
        """Do some work in one transaction, again when the database went away; one that `reads` needs none."""
        trying = _Trying(self._patience)
        while True:
            done: list[Result] = []
            number = ""
            try:
                async with self.pool.connection(min(trying.left, BUSY_PATIENCE)) as link:
                    if reads:
                        return self._back(await work(link))
                    async with link.transaction():
                        done.append(await work(link))
                        number = _first(await (await link.execute(NUMBER)).fetchone())
                return self._back(done[0])
            except PoolTimeout as error:
                if not trying.may_go_on or await self._answers():
                    raise self._refuse_busy(error) from error
            except psycopg.OperationalError as error:
                if not _is_lost(error):
                    raise self._refuse(error) from error
                self._say_away(error)
                if number and await self._has_committed(number, trying):
                    return self._back(done[0])
                if not trying.may_go_on:
                    raise self._refuse(error) from error
            await asyncio.sleep(trying.wait())

    def do(self, work: Callable[[Link], Result], *, patience: float = SHORT_PATIENCE) -> Result:
        """Do some work in one transaction while the process waits, again when the connection was lost.

        Work within such work is part of its transaction.
        """
        trying = _Trying(min(self._patience, patience))
        with self._link_lock:
            while True:
                done: list[Result] = []
                number = ""
                try:
                    with self._connected() as link, link.transaction():
                        done.append(work(link))
                        number = _first(link.execute(NUMBER).fetchone())
                    return self._back(done[0])
                except psycopg.OperationalError as error:
                    if self._depth or not _is_lost(error) or not trying.may_go_on:
                        raise self._refuse(error) from error
                    self._say_away(error)
                    if number and self._stands(number):
                        return self._back(done[0])
                except psycopg.errors.UndefinedTable as error:
                    raise StorageError(f"{self.name} lacks a table. {BEHIND}") from error
                time.sleep(trying.wait())

    @contextmanager
    def holding(self, statement: bytes) -> Generator[None]:
        """Hold a lock that a statement takes; all that is done meanwhile is one transaction."""
        with self._link_lock:
            number = ""
            self.do(lambda _: None)
            try:
                with self._connected() as link, link.transaction():
                    link.execute(statement)
                    yield
                    number = _first(link.execute(NUMBER).fetchone())
            except psycopg.OperationalError as error:
                if self._depth or not number or not self.do(lambda _: self._stands(number)):
                    raise self._refuse(error) from error

    async def rows(self, statement: bytes, values: Values | None = None) -> Sequence[tuple[Any, ...]]:
        """Ask something."""

        async def work(link: AsyncLink) -> Sequence[tuple[Any, ...]]:
            return await (await link.execute(statement, values)).fetchall()

        return await self.run(work, reads=True)

    @contextmanager
    def _connected(self) -> Generator[Link]:
        if self._link is None or (self._link.closed and not self._depth):
            if time.monotonic() < self._again:
                # The whole process waits meanwhile, so that is not tried time and again.
                raise psycopg.OperationalError("it did not answer a moment ago")
            self._again = time.monotonic() + AGAIN_SECONDS
            self._link = psycopg.connect(self._conninfo, autocommit=True)
            self._again = 0.0
        self._depth += 1
        try:
            yield self._link
        finally:
            self._depth -= 1

    def _stands(self, number: str) -> bool:
        with self._connected() as link:
            return _first(link.execute(STATUS, [number]).fetchone()) == "committed"

    async def _has_committed(self, number: str, trying: _Trying) -> bool:
        """Return whether a transaction whose end was not heard of stands."""
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                async with self.pool.connection(min(trying.left, BUSY_PATIENCE)) as link:
                    found = _first(await (await link.execute(STATUS, [number])).fetchone())
                if found != "in progress":
                    return found == "committed"
            if not trying.may_go_on:
                raise StorageError(
                    f"{self.name} went away while something was written, and whether it stands is not known. "
                    "Look at the thread once the database is back."
                )
            await asyncio.sleep(trying.wait())

    def _say_away(self, error: psycopg.OperationalError) -> None:
        if not self._is_away:
            self._is_away = True
            log.warning("%s does not answer (%s); waiting for it", self.name, _reason(error))

    def _back(self, result: Result) -> Result:
        if self._is_away:
            self._is_away = False
            log.warning("%s answers again", self.name)
        return result

    async def _answers(self) -> bool:
        """Return whether the database can be reached, though no connection was to be had."""
        try:
            await (await self.connect()).close()
        except StorageError:
            return False
        return True

    def _refuse_busy(self, error: PoolTimeout) -> StorageError:
        return StorageError(
            f"no connection to {self.name} was to be had: all {self.pool.max_size} are busy, or it is away "
            f"({error}). Try again, or let fewer runs go on at once."
        )

    def _refuse(self, error: psycopg.OperationalError) -> StorageError:
        return StorageError(
            f"cannot use {self.name}: {_reason(error)}. Nothing was written; try again once it answers."
        )


class _Trying:
    """How long something is tried, and how long one waits in between."""

    def __init__(self, patience: float) -> None:
        self._end = time.monotonic() + patience
        self._wait = FIRST_WAIT

    @property
    def left(self) -> float:
        return max(0.1, self._end - time.monotonic())

    @property
    def may_go_on(self) -> bool:
        return time.monotonic() < self._end

    def wait(self) -> float:
        now, self._wait = self._wait, min(self._wait * 2, LONGEST_WAIT)
        return now


def _first(row: tuple[Any, ...] | None) -> str:
    return str(row[0]) if row is not None and row[0] is not None else ""


def _is_lost(error: psycopg.OperationalError) -> bool:
    """Return whether the connection broke, or none could be made, rather than the statement."""
    state = error.sqlstate or ""
    # 08: the connection; 57P: the server stops or starts; 40: a deadlock or a change in between.
    return not isinstance(error, PoolClosed) and (not state or state.startswith(("08", "57P", "40")))


def _reason(error: psycopg.OperationalError) -> str:
    """Return the first line of what was said; those behind it guess at causes."""
    said = str(error).strip().splitlines()
    return said[0].strip() if said else type(error).__name__
