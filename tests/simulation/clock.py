"""The clock, ids and process numbers of a simulation, in place of the machine's."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import sys
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime, tzinfo
from typing import Any
from unittest import mock

from shipmate.context.builder import ContextBuilder
from shipmate.context.kept.request_log import RequestLog
from shipmate.context.request import Context
from shipmate.store.sqlite import database

PROMPT = Context(profile="", system="sim", sections=(), stable_bytes=3, tools_bytes=0, tokens=1)
START = 1_780_000_000_000_000_000


class Clock:
    """A wall clock that goes with the loop's time, and jumps."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._offset = START

    def now(self) -> int:
        """Return the time of day in nanoseconds."""
        return self._offset + int(self._monotonic() * 1e9)

    def jump(self, seconds: float) -> None:
        """Set the clock forward or back."""
        self._offset += int(seconds * 1e9)

    def monotonic(self) -> float:
        """Return the time that never jumps."""
        return self._monotonic()


@contextlib.contextmanager
def installed(
    clock: Clock, chance: random.Random, pid: Callable[[], int], start: Callable[[], str]
) -> Generator[None]:
    """Put the clock and seeded ids in the place of the machine's, for everything in this interpreter."""

    class SimDatetime(datetime):
        """A moment that knows the simulated now."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            seconds, rest = divmod(clock.now(), 1_000_000_000)
            moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
            return moment.astimezone(tz) if tz is not None else moment.astimezone().replace(tzinfo=None)

    with contextlib.ExitStack() as stack:

        def put(target: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(target, name, value))

        put(time, "time", lambda: clock.now() / 1e9)
        put(time, "time_ns", clock.now)
        put(time, "monotonic", clock.monotonic)
        put(time, "perf_counter", clock.monotonic)
        put(os, "getpid", pid)
        put(database, "_boot_id", start)
        # The prompt is not what is simulated, and takes long to build.
        put(ContextBuilder, "build", lambda _builder, _request: PROMPT)
        put(RequestLog, "keep", lambda _log, _sent: None)
        put(os, "urandom", chance.randbytes)
        put(secrets, "token_hex", lambda size=16: chance.randbytes(size).hex())
        put(secrets, "token_bytes", lambda size=16: chance.randbytes(size))
        for module in [each for name, each in sys.modules.items() if name.startswith("shipmate")]:
            if getattr(module, "datetime", None) is datetime:
                put(module, "datetime", SimDatetime)
        yield
