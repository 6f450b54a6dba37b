"""Make a thread's entry in the list, the same whoever asks, and find the threads that differ from theirs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

import msgspec

from shipmate.store.journal.mark import MarkFiles
from shipmate.store.port import ThreadInfo
from shipmate.store.sqlite.thread import ThreadEntry
from shipmate.thread.log import thread_ids
from shipmate.thread.mark import ThreadMark
from shipmate.values.message import UIMessage, metadata_of, text_of, timestamp
from shipmate.values.primed import hides_priming, is_primed
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk, names_in, refusals, stat_of
from shipmate.workspace.layout import Layout

TITLE_LENGTH = 60

Item = TypeVar("Item")
# How long the event loop is kept at a time.
TURN_SECONDS = 0.005


class ThreadFileState(msgspec.Struct, frozen=True, kw_only=True):
    """How a thread's file was when it was read."""

    stamp: str
    inode: int
    offset: int
    binned: bool
    # When the file was written last: what is known of a thread that says nothing of its time.
    at: str
    problems: int = 0


def stamp_of(status: os.stat_result) -> str:
    """Return what changes whenever a file does."""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def time_of(status: os.stat_result) -> str:
    """Return when a file was written last."""
    return timestamp(datetime.fromtimestamp(status.st_mtime_ns // 1_000_000 / 1000, UTC))


def make_entry(
    thread_id: str,
    messages: Sequence[UIMessage],
    tokens: int,
    state: ThreadFileState,
    mark: ThreadMark | None,
    mark_stamp: str,
) -> ThreadEntry:
    """Return the entry of a thread."""
    info = ThreadInfo(
        thread_id=thread_id,
        title="",
        member="",
        message_count=len(messages),
        token_estimate=tokens,
        created_at="",
        last_at="",
        read_at=None,
        archived=False,
        binned=state.binned,
        settings={},
    )
    entry = ThreadEntry(
        info=info,
        stamp=state.stamp,
        mark_stamp=mark_stamp,
        words=title_of(_shown(messages, mark)),
        first_at=_first_time(messages) or state.at,
        said_at=_first_time(reversed(messages)) or state.at,
        inode=state.inode,
        offset=state.offset,
        problems=state.problems,
    )
    return apply_mark(entry, mark, mark_stamp)


def apply_mark(entry: ThreadEntry, mark: ThreadMark | None, mark_stamp: str) -> ThreadEntry:
    """Return an entry with what people and members decided about the thread."""
    mark = mark or ThreadMark()
    said_at = entry.said_at if entry.info.message_count or not mark.created_at else ""
    info = msgspec.structs.replace(
        entry.info,
        title=mark.title or entry.words,
        member=mark.member,
        created_at=mark.created_at or entry.first_at,
        last_at=max(mark.created_at, said_at),
        read_at=mark.read_at,
        archived=mark.archived,
        settings=mark.settings,
    )
    return msgspec.structs.replace(entry, info=info, mark_stamp=mark_stamp)


def title_of(messages: Sequence[UIMessage]) -> str:
    """Take the first line a person wrote as the title, or what came with its own."""
    for message in messages:
        given = str(metadata_of(message).get("title") or text_of(message))
        words = given.strip() if message["role"] == "user" else ""
        if words:
            line = words.splitlines()[0].strip()
            return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
    return ""


def _shown(messages: Sequence[UIMessage], mark: ThreadMark | None) -> Sequence[UIMessage]:
    """Return what people see of a thread: words nobody is shown are no title."""
    if mark is None or not hides_priming(mark.settings):
        return messages
    return [message for message in messages if not is_primed(message)]


def _first_time(messages: Iterable[UIMessage]) -> str:
    for message in messages:
        found = metadata_of(message).get("timestamp")
        if isinstance(found, str):
            return found
    return ""


class ThreadFile(NamedTuple):
    """One thread's file, as it lies there."""

    thread_id: ThreadId
    binned: bool
    stamp: str
    at: int


async def compare_files(
    layout: Layout, disk: Disk, marks: MarkFiles, stamps: Callable[[], Mapping[str, tuple[str, str, bool]]]
) -> tuple[list[ThreadFile], list[str]]:
    """Return the threads whose files differ from `stamps`, the oldest first, and those without one."""
    found: dict[str, ThreadFile] = {}
    for folder, binned in ((layout.bin, True), (layout.threads, False)):
        with refusals(folder, layout.root):
            ids = thread_ids(names_in(disk, folder))
        async for parsed in _in_turns(ids):
            path = layout.thread_bin(parsed) if binned else layout.thread(parsed)
            with refusals(path, layout.root):
                status = stat_of(disk, path)
            if status is not None:
                found[str(parsed)] = ThreadFile(parsed, binned, stamp_of(status), status.st_mtime_ns)
    known = stamps()
    with refusals(layout.marks, layout.root):
        marked = set(names_in(disk, layout.marks))
    todo: list[ThreadFile] = []
    async for name, each in _in_turns(list(found.items())):
        has_mark = layout.mark(each.thread_id).name in marked
        mark_stamp = marks.stamp(each.thread_id) if has_mark else ""
        if known.get(name) != (each.stamp, mark_stamp, each.binned):
            todo.append(each)
    todo.sort(key=lambda each: each.at)
    return todo, [name for name in known if name not in found]


async def _in_turns(items: Sequence[Item]) -> AsyncGenerator[Item]:
    """Go over items without keeping the event loop for long."""
    began = time.monotonic()
    for item in items:
        yield item
        if time.monotonic() - began > TURN_SECONDS:
            await asyncio.sleep(0)
            began = time.monotonic()


class Overlooked:
    """The threads the disk refused to read, and those that a process moved before it was killed."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk
        self.refused: set[str] = set()
        # How the folder of the bin was when it was last looked at.
        self._stamp = ""

    def find(self, binned: Callable[[], Iterable[str]]) -> set[str]:
        """Return the threads to read anew; `binned` lists those the index has in the bin."""
        with refusals(self._layout.bin, self._layout.root):
            status = stat_of(self._disk, self._layout.bin)
            stamp = stamp_of(status) if status else ""
            if stamp == self._stamp:
                return set(self.refused)
            names = names_in(self._disk, self._layout.bin)
        self._stamp = stamp
        return self.refused | (set(map(str, thread_ids(names))) ^ set(binned()))
