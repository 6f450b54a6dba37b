"""Tell open pages what changed, by whichever process, so that none of them has to ask."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from shipmate.orchestrator.feed import FeedEvent
from shipmate.server.guard.error import ApiError
from shipmate.server.guard.viewer import choose_seen, viewer
from shipmate.server.port import Ship
from shipmate.server.stream.stream import WAKE, Events
from shipmate.values.chunk import Chunk
from shipmate.workspace.layout import Layout

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
# Files of people are looked at every so many looks: they are many, and nobody waits for them.
FILE_LOOKS = 4
FILE_LIMIT = 5_000
NAMED_FILES = 50
READER_LIMIT = 200
WRITTEN = (".md", ".json", ".jsonl", ".env")

Topic: TypeAlias = Literal["threads", "approvals", "runs", "platforms", "files"]
TOPICS: tuple[Topic, ...] = ("threads", "approvals", "runs", "platforms", "files")
Stamp: TypeAlias = tuple[int, int, int]
Stamps: TypeAlias = dict[str, Stamp]


class PageChange(msgspec.Struct, kw_only=True, rename="camel", tag_field="type", tag="change"):
    """What changed since the last one: read again what you show of it."""

    changed: list[Topic]
    # The threads in which a run began or ended.
    runs: list[str]
    # The files people write, by their place in the workspace; empty when they are too many to name.
    files: list[str]
    # How many approvals wait for an answer.
    waiting: int


class NewsReader:
    """One open page: what it has not been told yet, which is never more than what there is."""

    def __init__(self, ship: Ship) -> None:
        self._ship = ship
        # Each connection begins with everything: whatever was missed is read again.
        self._changed: set[Topic] = set(TOPICS)
        self._runs: set[str] = set()
        self._files: set[str] = set()
        self.queue: Events = asyncio.Queue()
        self.queue.put_nowait(WAKE)

    def note(self, topics: Sequence[Topic], runs: set[str], files: set[str]) -> None:
        """Keep what changed until it is sent."""
        self._changed |= set(topics)
        self._runs |= runs
        self._files |= files
        if self.queue.empty():
            self.queue.put_nowait(WAKE)

    async def choose(self, _: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
        """Return what to send; nothing when nothing changed."""
        if not self._changed:
            return [], False
        changed, runs, files = self._changed, self._runs, self._files
        self._changed, self._runs, self._files = set(), set(), set()
        waiting = await self._ship.store.consents.waiting()
        if not viewer().has("admin"):
            changed, files = changed & {"threads", "approvals", "runs"}, set[str]()
            seen = await choose_seen(self._ship, {*runs, *waiting})
            runs, waiting = runs & seen, {name: count for name, count in waiting.items() if name in seen}
        change = PageChange(
            changed=[topic for topic in TOPICS if topic in changed],
            runs=sorted(runs),
            files=sorted(files) if len(files) <= NAMED_FILES else [],
            waiting=sum(waiting.values()),
        )
        return [msgspec.to_builtins(change)], False


class News:
    """The open pages of one server, and the one look at the disk for all of them while there is any."""

    def __init__(self) -> None:
        self._readers: dict[NewsReader, None] = {}
        self._looking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def read(self, ship: Ship) -> AsyncGenerator[NewsReader]:
        """Tell a page of every change from now on."""
        if len(self._readers) >= READER_LIMIT:
            raise ApiError(503, "unavailable", "Too many pages are open here.", "Close some of them.")
        reader = NewsReader(ship)
        self._readers[reader] = None
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(ship, _Sight(ship)))
        try:
            yield reader
        finally:
            del self._readers[reader]
            if not self._readers:
                self._looking.cancel()
                self._looking = None

    async def _look(self, ship: Ship, sight: _Sight) -> None:
        for number in range(1, 1 << 62):
            await asyncio.sleep(LOOK_SECONDS)
            try:
                topics, runs, files = await sight.look(ship, with_files=number % FILE_LOOKS == 0)
            # One look that fails, on a disk that refuses or a folder just moved, must not end the others.
            except Exception:
                log.exception("what changed could not be seen")
                continue
            for reader in self._readers if topics else ():
                reader.note(topics, runs, files)


class _Sight:
    """How everything was at the last look."""

    def __init__(self, ship: Ship) -> None:
        self._revision = ship.store.revision()
        self._runs = _runs(ship)
        self._platforms = _platforms(ship)
        self._files = _stamps(ship.layout, _homes(ship))

    async def look(self, ship: Ship, *, with_files: bool) -> tuple[list[Topic], set[str], set[str]]:
        """Return what changed, the threads in which a run began or ended, and the files."""
        revision, runs, platforms = ship.store.revision(), _runs(ship), _platforms(ship)
        moved = {thread_id for thread_id, _ in runs ^ self._runs}
        files = await self._look_at_files(ship) if with_files else set[str]()
        # The index does not say what of it was written; which lists show it is for the page to know.
        changes: tuple[tuple[Topic, bool], ...] = (
            ("threads", revision != self._revision),
            ("approvals", revision != self._revision),
            ("runs", bool(moved)),
            ("platforms", platforms != self._platforms),
            ("files", bool(files)),
        )
        self._revision, self._runs, self._platforms = revision, runs, platforms
        return [topic for topic, has_changed in changes if has_changed], moved, files

    async def _look_at_files(self, ship: Ship) -> set[str]:
        """Name the files that were made, changed or taken away."""
        before = self._files
        self._files = await asyncio.to_thread(_stamps, ship.layout, _homes(ship))
        return {name for name, _ in before.items() ^ self._files.items()}


def _runs(ship: Ship) -> set[tuple[str, str]]:
    return {(thread_id, run.run_id) for thread_id, run in ship.keeper.runs().items()}


def _platforms(ship: Ship) -> tuple[object, ...]:
    """Return what differs once something is sent, somebody let in, or a platform reached or lost."""
    heard = [
        (each.state, each.since, each.last_event_at) for each in map(ship.listening.look, ship.adapters.names)
    ]
    return *map(_stamp, (ship.layout.outbox, ship.layout.people, ship.shares.folder)), *heard


def _homes(ship: Ship) -> list[Layout]:
    """Return the workspace, and where each member's own files lie."""
    return list(dict.fromkeys((ship.layout, *(ship.layout.member(each.id) for each in ship.crew.list()))))


def _stamps(layout: Layout, homes: Sequence[Layout]) -> Stamps:
    """Return the files that pages show and people write, each with what differs once it changed."""
    found: Stamps = {}
    for path in islice(_written(layout, homes), FILE_LIMIT):
        if stamp := _stamp(path):
            # No JSON can tell a name that is not UTF-8.
            name = os.fsencode(layout.name_of(Path(path))).decode("utf-8", "replace")
            found[name] = stamp
    return found


def _stamp(path: str | Path) -> Stamp | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _written(layout: Layout, homes: Sequence[Layout]) -> Iterator[str]:
    for home in homes:
        # Of a home itself the files alone: it may hold projects of any size.
        with contextlib.suppress(OSError), os.scandir(home.root) as entries:
            yield from (entry.path for entry in entries if entry.name.endswith(WRITTEN))
    trees = [folder for home in homes for folder in (home.memory, home.skills)]
    for folder in (*trees, layout.project_memory.parent, layout.priming):
        for place, _, names in os.walk(folder):
            yield from (f"{place}/{name}" for name in names)
    # Of tasks, which may be thousands, the time of their folder says that one was written.
    yield from map(str, (layout.tasks, layout.occurrences))
