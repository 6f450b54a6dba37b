"""Make a thread's entry in the list from its messages and its marks, the same whoever asks and whenever."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from shipmate.store.port import ThreadInfo
from shipmate.store.sqlite.thread import ThreadEntry
from shipmate.thread.mark import ThreadMark
from shipmate.values.message import UIMessage, metadata_of, text_of, timestamp
from shipmate.values.primed import hides_priming, is_primed

TITLE_LENGTH = 60


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
        said_at=_first_time(messages[::-1]) or state.at,
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
    """Take the first line a person wrote as the title."""
    for message in messages:
        words = text_of(message).strip() if message["role"] == "user" else ""
        if words:
            line = words.splitlines()[0].strip()
            return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
    return ""


def _shown(messages: Sequence[UIMessage], mark: ThreadMark | None) -> Sequence[UIMessage]:
    """Return what people see of a thread: words nobody is shown are no title."""
    if mark is None or not hides_priming(mark.settings):
        return messages
    return [message for message in messages if not is_primed(message)]


def _first_time(messages: Sequence[UIMessage]) -> str:
    for message in messages:
        found = metadata_of(message).get("timestamp")
        if isinstance(found, str):
            return found
    return ""
