"""Carry over what stores kept in SQLite before it had files of its own."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import Any

import msgspec

from shipmate.errors import ThreadIdError
from shipmate.store.journal.grant import GrantFiles
from shipmate.store.journal.inbox_line import Accept, InboxBegin
from shipmate.store.journal.lines import LineFile
from shipmate.store.journal.mark import MarkFiles
from shipmate.store.port import StepUsage
from shipmate.thread.mark import ThreadMark
from shipmate.values.event import decode_event
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import (
    Disk,
    exists,
    replace_file,
)
from shipmate.workspace.layout import CAPTAIN, Layout


def carry_over(layout: Layout, disk: Disk, connection: sqlite3.Connection) -> None:
    """Write marks, grants, usage and what waits into their files; what is there already stays.

    A kill in between carries over again: the tables are dropped only after this.
    """
    connection.row_factory = sqlite3.Row
    _carry_marks(MarkFiles(layout, disk), connection)
    grants = GrantFiles(layout, disk)
    for row in connection.execute('SELECT * FROM "grant" ORDER BY created_at'):
        grants.add(row["id"], msgspec.json.decode(row["data"]), row["until"])
        if row["revoked_at"]:
            grants.revoke(row["id"])
    _carry_usage(layout, disk, connection)
    if not exists(disk, layout.inbox):
        _carry_inbox(LineFile(layout, layout.inbox, disk), connection)


def _carry_marks(marks: MarkFiles, connection: sqlite3.Connection) -> None:
    for row in connection.execute("SELECT * FROM thread"):
        settings: dict[str, Any] = msgspec.json.decode(row["settings"])
        mark = ThreadMark(
            title=row["title"] if row["titled_by"] == "person" else "",
            member=row["member"] or CAPTAIN,
            archived=bool(row["archived"]),
            read_at=row["read_at"],
            settings=settings,
        )
        try:
            thread_id = ThreadId.parse(row["thread_id"])
        except ThreadIdError:
            continue
        if mark != ThreadMark() and not marks.stamp(thread_id):
            marks.create(thread_id, msgspec.structs.replace(mark, created_at=row["created_at"]))


def _carry_usage(layout: Layout, disk: Disk, connection: sqlite3.Connection) -> None:
    months: defaultdict[str, list[bytes]] = defaultdict(list)
    for row in connection.execute("SELECT * FROM usage ORDER BY id"):
        step = StepUsage(**{key: row[key] for key in StepUsage.__struct_fields__ if key in row.keys()})  # noqa: SIM118  (a row goes over its values)
        months[step.at[:7]].append(msgspec.json.encode(step) + b"\n")
    for month, lines in months.items():
        path = layout.usage / f"{month}.jsonl"
        if not exists(disk, path):
            replace_file(disk, path, b"".join(lines))


def _carry_inbox(file: LineFile, connection: sqlite3.Connection) -> None:
    """Take what waits as accepted; a run that was going on is begun anew from its thread."""
    rows = connection.execute("SELECT * FROM inbox WHERE status IN ('waiting', 'running') ORDER BY seq")
    waiting = [
        Accept(seq=row["seq"], at=row["received_at"], event=decode_event(row["event"])) for row in rows
    ]
    if waiting:
        file.replace([InboxBegin(next=waiting[-1].seq + 1), *waiting])
