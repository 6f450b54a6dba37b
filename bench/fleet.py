"""What a fleet costs over PostgreSQL: turns a second, CPU a turn, hand-over, latency, connections."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.schema import migrate
from tests.support.engine_storm import Storm, raging
from tests.support.postgres import PostgresServer, running_server

THREADS, TURNS = 40, 5
# A model that takes half a second, and so many threads at once in each worker.
SLOW_SECONDS, SLOTS, SLOW_TURNS = 0.5, 20, 120
KILLS = 3
LINKS = "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"


def measure() -> list[dict[str, Any]]:
    """Measure with a server and processes of our own; nothing is shared with other databases."""
    with running_server() as server:
        return asyncio.run(_measure(server))


async def _measure(server: PostgresServer) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    files = await _drive(None, ["all-in-one"], server)
    rows.append({"name": "files, one process", "value": files["rate"], "unit": "turns/s"})
    rows.append({"name": "files, CPU a turn", "value": files["cpu"], "unit": "ms"})
    rows.append({"name": "files, latency of a turn, p50", "value": files["latency"], "unit": "ms"})
    for count in (1, 2, 4):
        with server.database() as address:
            await _prepare(address)
            found = await _drive(address, [*["worker"] * count, "gateway"], server)
        rows.append({"name": f"fleet, {count} workers", "value": found["rate"], "unit": "turns/s"})
        rows.append({"name": f"fleet, {count} workers, connections", "value": found["links"], "unit": ""})
        if count == 1:
            rows.append({"name": "fleet, CPU a turn, database included", "value": found["cpu"], "unit": "ms"})
            more = found["cpu"] / files["cpu"]
            rows.append({"name": "CPU a turn, fleet over files", "value": more, "unit": "x", "bar": "<= 2.5"})
            rows.append({"name": "fleet, latency of a turn, p50", "value": found["latency"], "unit": "ms"})
    return [*rows, *await _slow(server), *await _kill(server)]


async def _prepare(address: str) -> None:
    database = PostgresDatabase(address)
    await database.open()
    await migrate(database)
    await database.close()


async def _drive(address: str | None, kinds: list[str], server: PostgresServer) -> dict[str, float]:
    """Let many threads talk at once, one turn after the other in each; then one alone."""
    with tempfile.TemporaryDirectory() as folder:
        async with raging(Path(folder), address, random.Random(1), kinds) as storm:
            await asyncio.gather(*(_talk(storm, number, 1) for number in range(4)))
            before, began = _cpu(storm, server), time.perf_counter()
            await asyncio.gather(*(_talk(storm, number, TURNS) for number in range(100, 100 + THREADS)))
            spent = time.perf_counter() - began
            cpu = (_cpu(storm, server) - before) * 1000 / (THREADS * TURNS)
            links = _links(address) if address else 0
            alone = [await _timed(storm, 1000 + number) for number in range(20)]
    rate = THREADS * TURNS / spent
    return {"rate": rate, "cpu": cpu, "links": links, "latency": statistics.median(alone) * 1000}


async def _talk(storm: Storm, thread: int, turns: int) -> None:
    for number in range(1, turns + 1):
        await storm.ask(thread, number)


async def _timed(storm: Storm, thread: int) -> float:
    began = time.perf_counter()
    await storm.ask(thread, 1)
    return time.perf_counter() - began


async def _slow(server: PostgresServer) -> list[dict[str, Any]]:
    """Compare one and two workers whose model takes its time; each works so many threads at once."""
    rates: list[float] = []
    for count in (1, 2):
        with server.database() as address, tempfile.TemporaryDirectory() as folder:
            await _prepare(address)
            kinds = [*["worker"] * count, "gateway"]
            async with raging(Path(folder), address, random.Random(1), kinds, pause=SLOW_SECONDS) as storm:
                began = time.perf_counter()
                await asyncio.gather(*(storm.ask(number, 1) for number in range(SLOW_TURNS)))
                rates.append(SLOW_TURNS / (time.perf_counter() - began))
    bar = {"bar": ">= 1.8"}
    return [
        {"name": f"model of 500 ms, 1 worker of {SLOTS} threads", "value": rates[0], "unit": "turns/s"},
        {"name": "model of 500 ms, 2 workers", "value": rates[1], "unit": "turns/s"},
        {"name": "2 workers over 1", "value": rates[1] / rates[0], "unit": "x", **bar},
    ]


async def _kill(server: PostgresServer) -> list[dict[str, Any]]:
    """Kill the worker of a thread in the midst of its answer; how long until another asks the model."""
    overs: list[float] = []
    with server.database() as address, tempfile.TemporaryDirectory() as folder:
        await _prepare(address)
        async with raging(
            Path(folder), address, random.Random(1), ["worker", "worker", "gateway"], pause=0.3
        ) as storm:
            for number in range(KILLS):
                asking = asyncio.create_task(storm.ask(number, 1))
                pid = await storm.asked(f"cli:dm:t{number}")
                began = time.perf_counter()
                os.kill(pid, signal.SIGKILL)
                await storm.asked(f"cli:dm:t{number}", besides=pid)
                overs.append(time.perf_counter() - began)
                await asking
                await storm.start("worker")
    return [
        {"name": "hand-over after kill -9, p50", "value": statistics.median(overs), "unit": "s"},
        {"name": "hand-over after kill -9, slowest", "value": max(overs), "unit": "s", "bar": "<= 2"},
    ]


def _cpu(storm: Storm, server: PostgresServer) -> float:
    """Return the CPU seconds of all processes of the engine and of the database."""
    pids = [child.process.pid for child in storm.children]
    return sum(_spent(pid) for pid in (*pids, *server.processes()) if pid is not None)


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # With those of children that ended: a server starts one for each connection.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _links(address: str) -> int:
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(LINKS).fetchone()
    return int(found[0]) if found else 0
