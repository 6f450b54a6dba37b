"""A process of an engine: it takes events in over a pipe, and its model writes down when it is asked."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.errors import ShipmateError
from shipmate.fleet import fleet, role
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta
from shipmate.orchestrator.feed import Receipt
from shipmate.tools.toolset import Toolset
from shipmate.values.event import TextEvent
from shipmate.values.message import text_of, timestamp

ROLES = {"worker": role.WORKER, "gateway": role.GATEWAY, "all-in-one": role.ALL_IN_ONE}
CALLS = "calls.log"


class LoggingModel:
    """A model that says what it heard last, after a while, and writes down from when to when it was asked."""

    name = "logging"

    def __init__(self, path: Path, pause: float) -> None:
        self._path = path
        self._pause = pause

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        assert request.origin is not None
        self._note("begin", request)
        yield TextDelta("heard ")
        await asyncio.sleep(self._pause)
        self._note("end", request)
        said = [text_of(each) for each in request.messages if each["role"] == "user"]
        yield TextDelta(said[-1].split()[-1])
        yield Finish("stop")

    def _note(self, what: str, request: ModelRequest) -> None:
        origin = request.origin
        assert origin is not None
        with self._path.open("a") as file:
            file.write(f"{what} {origin.thread_id} {origin.run_id} {os.getpid()} {time.monotonic_ns()}\n")


def main(kind: str, folder: str, address: str | None, pipe: Connection, pause: float) -> None:
    """Take part until told to end."""
    fleet.FROZEN_SECONDS = 3.0
    logging.basicConfig(filename=f"{folder}/{kind}-{os.getpid()}.log", level=logging.INFO)
    asyncio.run(_run(kind, Path(folder), address, pipe, pause))


async def _run(kind: str, folder: Path, address: str | None, pipe: Connection, pause: float) -> None:
    environ = {"SHIPMATE_STORE": address} if address else {}
    model = LoggingModel(folder / CALLS, pause)
    part = ROLES[kind]
    tasks: set[asyncio.Task[None]] = set()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    async with Shipmate.open(folder, model=model, environ=environ, toolset=Toolset([]), role=part) as ship:

        def start(work: Any) -> None:
            task = asyncio.ensure_future(work)
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        def read() -> None:
            try:
                said = pipe.recv()
            except (EOFError, ConnectionError):
                stopped.set()
                loop.remove_reader(pipe.fileno())
                return
            start(_take(ship, pipe, *said))

        loop.add_reader(pipe.fileno(), read)
        pipe.send(("ready", os.getpid()))
        await stopped.wait()
        loop.remove_reader(pipe.fileno())
        for task in tasks:
            task.cancel()


async def _take(ship: Shipmate, pipe: Connection, thread_id: str, message_id: str, text: str) -> None:
    event = TextEvent(
        platform="cli",
        thread_id=thread_id,
        user_id="ann",
        message_id=message_id,
        timestamp=timestamp(),
        text=text,
    )
    receipt: Receipt | None = None
    while receipt is None:
        try:
            receipt = await ship.receive(event)
        except ShipmateError as error:
            logging.info("not taken in: %s", error)
            await asyncio.sleep(0.2)
    pipe.send(("ack", message_id, receipt.is_new))
    outcome = await receipt.outcome()
    pipe.send(("done", message_id, outcome.status))
