"""Drive the processes of an engine through trouble, and hold what comes of it against what was said."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import random
import signal
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from shipmate.values.message import UIMessage, text_of
from tests.support import engine_child
from tests.support.engine_child import CALLS
from tests.support.wait import LONG

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.engine_child", "shipmate.fleet.boarding"])


class Child:
    """One process of the engine."""

    def __init__(self, kind: str, process: BaseProcess, pipe: Any, tell: Callable[..., None]) -> None:
        self.kind = kind
        self.process = process
        self.is_frozen = False
        self._pipe = pipe
        self._tell = tell
        self.ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._read)

    def say(self, *words: str) -> bool:
        """Hand an event over; False when the process is gone."""
        try:
            self._pipe.send(words)
        except (BrokenPipeError, ConnectionError, OSError):
            return False
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        assert self.process.pid is not None
        self.is_frozen = number == signal.SIGSTOP
        os.kill(self.process.pid, number)

    def _read(self) -> None:
        try:
            said = self._pipe.recv()
        except (EOFError, ConnectionError):
            self.close()
            self._tell(self, "gone")
            return
        if said[0] == "ready":
            self.ready.set_result(said[1])
        else:
            self._tell(self, *said)

    def close(self) -> None:
        """Listen no more."""
        with suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._pipe.close()


class Storm:
    """Threads in which one thing is said after the other, each a few times, while processes come and go."""

    def __init__(self, folder: Path, address: str | None, chance: random.Random, *, pause: float) -> None:
        self._folder = folder
        self._address = address
        self._chance = chance
        self._pause = pause
        self.children: list[Child] = []
        # Those that were killed or frozen while they may have been asking a model.
        self.cut: set[int] = set()
        self._acks: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._ends: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.new: dict[str, int] = defaultdict(int)
        self._news = asyncio.Event()
        self.repeats = 0

    async def start(self, kind: str) -> Child:
        """Start a process."""
        ours, theirs = _context.Pipe()
        arguments = (kind, str(self._folder), self._address, theirs, self._pause)
        process = _context.Process(target=engine_child.main, args=arguments)
        process.start()
        theirs.close()
        child = Child(kind, process, ours, self._hear)
        self.children.append(child)
        async with asyncio.timeout(LONG):
            await child.ready
        return child

    def _hear(self, child: Child, what: str, *words: Any) -> None:
        if what == "gone":
            self.children.remove(child)
        elif what == "ack":
            self._acks[words[0]].set()
            self.new[words[0]] += words[1]
            self._news.set()
        elif words[1] == "replied":
            self._ends[words[0]].set()

    async def talk(self, thread: int, messages: int) -> None:
        """Say one thing after the other in a thread, each one to five times."""
        for number in range(1, messages + 1):
            await self._say(f"cli:dm:t{thread}", f"m{thread}.{number}", f"say {thread}.{number}")

    async def said(self, count: int) -> None:
        """Wait until so many more things were taken in."""
        until = len(self.new) + count
        while len(self.new) < until and len(self.new) < len(self._acks):
            self._news.clear()
            await self._news.wait()

    async def _say(self, *words: str) -> None:
        times = self._chance.randint(1, 5)
        self.repeats += times - 1
        while not self._acks[words[1]].is_set():
            for _ in range(times):
                self._gateway().say(*words)
            with suppress(TimeoutError):
                async with asyncio.timeout(3):
                    await self._acks[words[1]].wait()

    async def ask(self, thread: int, number: int) -> None:
        """Say one thing once, and wait for its answer."""
        self._gateway().say(f"cli:dm:t{thread}", f"m{thread}.{number}", f"say {thread}.{number}")
        await self._ends[f"m{thread}.{number}"].wait()

    async def asked(self, thread_id: str, *, besides: int = 0) -> int:
        """Wait until a process asks the model about a thread; return which."""
        while True:
            for line in (self._folder / CALLS).read_text().splitlines():
                what, name, _, pid, _ = line.split()
                if what == "begin" and name == thread_id and int(pid) != besides:
                    return int(pid)
            await asyncio.sleep(0.01)

    async def end(self, thread: int, messages: int) -> None:
        """Wait until everything said in a thread is answered."""
        for number in range(1, messages + 1):
            words = (f"cli:dm:t{thread}", f"m{thread}.{number}", f"say {thread}.{number}")
            while not self._ends[words[1]].is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(3):
                        await self._ends[words[1]].wait()
                        continue
                # Whoever waited for it may be gone.
                self._gateway().say(*words)

    def _gateway(self) -> Child:
        awake = [each for each in self.children if each.kind != "worker" and not each.is_frozen]
        return self._chance.choice(awake)

    def workers(self) -> list[Child]:
        """Return the processes that work and are awake."""
        return [each for each in self.children if each.kind != "gateway" and not each.is_frozen]

    async def kill(self) -> Child:
        """Kill a process that works, as a power cut would, and start another."""
        victim = self._chance.choice(self.workers())
        assert victim.process.pid is not None
        self.cut.add(victim.process.pid)
        victim.signal(signal.SIGKILL)
        await asyncio.to_thread(victim.process.join)
        return victim

    async def freeze(self, until: Callable[[], Awaitable[None]]) -> None:
        """Halt a process that works, and let it go on after something happened."""
        victim = self._chance.choice(self.workers())
        assert victim.process.pid is not None
        self.cut.add(victim.process.pid)
        victim.signal(signal.SIGSTOP)
        try:
            await until()
        finally:
            victim.signal(signal.SIGCONT)

    def overlaps(self) -> list[str]:
        """List the threads in which two runs asked a model at once; those that were cut off do not count."""
        open_calls: dict[str, str] = {}
        found: list[str] = []
        for line in sorted(
            (self._folder / CALLS).read_text().splitlines(), key=lambda each: int(each.split()[4])
        ):
            what, thread, run, pid, _ = line.split()
            if int(pid) in self.cut:
                continue
            if what == "begin" and thread in open_calls:
                found.append(f"{thread}: {run} of {pid} while {open_calls[thread]}")
            if what == "begin":
                open_calls[thread] = f"{run} of {pid}"
            else:
                open_calls.pop(thread, None)
        return found

    def hands(self) -> set[str]:
        """Return the processes that asked a model."""
        return {line.split()[3] for line in (self._folder / CALLS).read_text().splitlines()}


@asynccontextmanager
async def raging(
    folder: Path, address: str | None, chance: random.Random, kinds: list[str], *, pause: float = 0.0
) -> AsyncGenerator[Storm]:
    """Start the processes of an engine, and end them."""
    (folder / "Agent.md").write_text("# Sailor\n")
    (folder / CALLS).touch()
    storm = Storm(folder, address, chance, pause=pause)
    try:
        # The first keeps where one process does.
        await storm.start(kinds[0])
        await asyncio.gather(*(storm.start(kind) for kind in kinds[1:]))
        yield storm
    finally:
        for child in list(storm.children):
            child.signal(signal.SIGCONT)
            child.signal(signal.SIGTERM)
        for child in list(storm.children):
            await asyncio.to_thread(child.process.join, 15)
            if child.process.is_alive():
                child.process.kill()
                await asyncio.to_thread(child.process.join)
            child.close()


def check_thread(messages: list[UIMessage], thread: int, count: int) -> list[str]:
    """Say what is wrong with a thread: something said out of its order, twice, not at all, or unanswered."""
    said = [text_of(each) for each in messages if each["role"] == "user"]
    wrong = [] if said == [f"say {thread}.{number}" for number in range(1, count + 1)] else [f"said {said}"]
    last = ""
    for before, each in itertools.pairwise(messages):
        if each["role"] != "assistant":
            continue
        if before["role"] == "user":
            last = text_of(before).split()[-1]
        if text_of(each) != f"heard {last}":
            wrong.append(f"{text_of(each)!r} instead of what answers {last}")
    if messages and messages[-1]["role"] != "assistant":
        wrong.append("the last was not answered")
    return wrong
