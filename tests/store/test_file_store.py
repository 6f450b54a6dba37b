"""Grants are files, and no lost index makes an approval or a revocation forgotten."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from shipmate.errors import StorageError
from shipmate.store.file_store import FileStore, open_store
from shipmate.store.journal.grant import FolderWatch, GrantFiles
from shipmate.store.migration import read_migrations
from shipmate.store.sqlite.database import PACKAGE, Database
from shipmate.thread.log import FileLog
from shipmate.values.event import Outcome, TextEvent, encode_event
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, exists, locked, make_folder, opened
from shipmate.workspace.layout import Layout
from tests.simulation.disk import Locks, SimDisk
from tests.simulation.volume import Volume
from tests.support.store import open_any_store
from tests.support.sync import ImpatientDisk

ROOM = "web:room:1"
LEGACY_ROOM = "web:room:1"
AT = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def write(layout: Layout, approval_id: str, status: str, at: str = "2026-01-01", thread: str = ROOM) -> None:
    layout.approvals.mkdir(parents=True, exist_ok=True)
    given = {"id": approval_id, "threadId": thread, "status": status, "requestedAt": at, "expiresAt": "2027"}
    path = layout.approval(approval_id)
    path.with_suffix(".new").write_text(json.dumps(given))
    path.with_suffix(".new").rename(path)


async def test_d4_what_waits_is_known_whatever_became_of_the_index(layout: Layout) -> None:
    store = open_store(layout)
    write(layout, "apr_1", "requested")
    assert await store.consents.waiting() == {ROOM: 1}
    copy = layout.state.read_bytes()
    write(layout, "apr_1", "approved")
    write(layout, "apr_2", "requested", "2026-01-02")
    assert await store.consents.approvals() == ["apr_2", "apr_1"]
    assert await store.consents.approvals(status="requested") == ["apr_2"]
    for state in (None, copy, b"rubbish" * 1000):
        layout.state.unlink()
        if state is not None:
            layout.state.write_bytes(state)
        assert await store.consents.approvals(status="requested") == ["apr_2"]
        assert await store.consents.approvals(status="approved") == ["apr_1"]
        assert await store.consents.waiting() == {ROOM: 1}
    layout.approval("apr_2").unlink()
    assert await store.consents.waiting() == {}
    await store.close()


async def test_names_of_any_kind_and_unreadable_files_do_no_harm(layout: Layout) -> None:
    store = open_store(layout)
    for name in ("a/b", "ü", "." * 5, "x" * 300, "apr_1"):
        write(layout, name, "requested")
    (layout.approvals / "broken.json").write_text("{")
    assert sorted(await store.consents.approvals()) == sorted(["a/b", "ü", "." * 5, "x" * 300, "apr_1"])
    await store.close()


@pytest.mark.parametrize("kind", ["file", "memory", "postgres"])
async def test_d4_grants_and_their_revocation_are_files(
    layout: Layout, kind: str, request: pytest.FixtureRequest
) -> None:
    store = await open_any_store(request, kind, layout.root)
    await store.consents.add_grant("g/1", {"a": 1}, None)
    await store.consents.add_grant("g/1", {"a": 2}, None)
    await store.consents.add_grant("g2", {}, "2000-01-01")
    # Whether a window is over is for the approvals to say.
    assert [grant.id for grant in await store.consents.grants()] == ["g/1", "g2"]
    assert await store.consents.revoke_grant("g2")
    assert [(grant.id, grant.data) for grant in await store.consents.grants()] == [("g/1", {"a": 1})]
    assert await store.consents.revoke_grant("g/1")
    assert not await store.consents.revoke_grant("g/1")
    assert not await store.consents.revoke_grant("g3")
    if kind == "file":
        layout.state.unlink()
        other = open_store(layout)
        assert await other.consents.grants() == []
        assert len(await other.consents.grants(every=True)) == 2
        await other.close()
    assert await store.consents.grants() == []
    await store.close()


async def test_a_grant_that_cannot_be_read_grants_nothing_and_is_named(
    layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(layout)
    await store.consents.add_grant("g1", {}, None)
    await store.consents.add_grant("g2", {}, None)
    layout.grant("g1").write_text("{")
    assert [grant.id for grant in await store.consents.grants()] == ["g2"]
    assert ".ship/grants/g1.json" in caplog.text
    with pytest.raises(StorageError, match=r"\.ship/grants/g1\.json is not a readable grant"):
        await store.consents.revoke_grant("g1")
    await store.close()


async def test_d16_a_disk_that_refuses_is_told_in_words_without_a_machine_path(layout: Layout) -> None:
    store = open_store(layout)
    layout.approvals.write_text("a file where the folder should be")
    layout.grants.write_text("a file where the folder should be")
    assert await store.consents.approvals() == []
    with pytest.raises(StorageError, match=r"cannot use \.ship/grants/g1\.json: Not a directory") as caught:
        await store.consents.add_grant("g1", {}, None)
    assert str(layout.root) not in str(caught.value)
    await store.close()


def test_of_a_grant_given_and_taken_back_at_once_neither_is_lost(layout: Layout) -> None:
    GrantFiles(layout, DISK).add("gr_1", {}, None)
    waiting = GrantFiles(layout, ImpatientDisk())
    with locked(DISK, layout.grants / ".lock"):
        with pytest.raises(StorageError):
            waiting.revoke("gr_1")
        with pytest.raises(StorageError):
            waiting.add("gr_2", {}, None)
    assert [(row.id, row.revoked_at) for row in waiting.list()] == [("gr_1", None)]


async def test_d4_an_index_put_back_knows_what_was_decided_since(layout: Layout) -> None:
    store = open_store(layout)
    write(layout, "apr_1", "requested")
    write(layout, "apr_2", "approved")
    assert await store.consents.waiting() == {ROOM: 1}
    copy = layout.state.read_bytes()
    write(layout, "apr_1", "approved")
    write(layout, "apr_2", "superseded")
    # Nothing has changed in the folder for long when the older index comes.
    os.utime(layout.approvals, (1000, 1000))
    assert await store.consents.waiting() == {}
    layout.state.unlink()
    layout.state.write_bytes(copy)
    assert await store.consents.waiting() == {}
    assert await store.consents.approvals(status="superseded") == ["apr_2"]
    await store.close()


def test_two_changes_within_one_tick_of_the_clock_are_both_seen(tmp_path: Path) -> None:
    watch, now = FolderWatch(DISK, tmp_path), time.time_ns()
    os.utime(tmp_path, ns=(now, now))
    assert watch.look()
    (tmp_path / "a").touch()
    os.utime(tmp_path, ns=(now, now))
    assert watch.look()
    os.utime(tmp_path, (1000, 1000))
    assert [watch.look() for _ in range(3)] == [True, False, False]


def test_a_grant_given_here_is_seen_though_the_clock_stands_still(layout: Layout) -> None:
    grants = GrantFiles(layout, DISK)
    for number in range(2):
        grants.add(f"gr_{number}", {}, None)
        os.utime(layout.grants, (1000, 1000))
        assert len(grants.list()) == number + 1


@pytest.fixture
async def layout_legacy(tmp_path: Path) -> Layout:
    """A workspace as the first version left it."""
    layout_legacy = Layout(tmp_path)
    await FileLog(layout_legacy).append(
        ThreadId.parse(LEGACY_ROOM), [user_message("m1", "hello", {"timestamp": AT})]
    )
    event = TextEvent(
        platform="web", thread_id=LEGACY_ROOM, user_id="ann", message_id="m2", timestamp=AT, text="waiting"
    )
    connection = sqlite3.connect(layout_legacy.state)
    connection.executescript(f"{read_migrations(PACKAGE)[0].sql} PRAGMA user_version = 1;")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "INSERT INTO thread VALUES (?, 'Mine', 'person', 'ux', 1, 1, ?, ?, ?, 1, 0, '{\"a\":1}')",
        (LEGACY_ROOM, AT, AT, AT),
    )
    connection.execute(
        "INSERT INTO inbox (platform, message_id, thread_id, event, received_at) VALUES (?, ?, ?, ?, ?)",
        ("web", "m2", LEGACY_ROOM, encode_event(event), AT),
    )
    connection.execute("INSERT INTO \"grant\" VALUES ('g1', ?, ?, NULL, NULL)", (b'{"x":1}', AT))
    connection.execute("INSERT INTO \"grant\" VALUES ('g2', ?, ?, NULL, ?)", (b"{}", AT, AT))
    connection.execute(
        "INSERT INTO usage VALUES (1, ?, ?, 'ux', 'r', 1, 'm', 5, 6, 0, 0, NULL, 4, 9)", (AT, LEGACY_ROOM)
    )
    connection.commit()
    connection.close()
    return layout_legacy


async def test_titles_marks_grants_usage_and_what_waits_are_carried_over(layout_legacy: Layout) -> None:
    for _ in range(2):
        store = open_store(layout_legacy)
        (info,) = await store.threads.list(archived=True)
        assert (info.title, info.member, info.settings, info.read_at) == ("Mine", "ux", {"a": 1}, AT)
        assert [row.event.message_id for row in await store.inbox.open(LEGACY_ROOM)] == ["m2"]
        assert [grant.id for grant in await store.consents.grants()] == ["g1"]
        assert [grant.id for grant in await store.consents.grants(every=True)] == ["g1", "g2"]
        assert [step.input_tokens for step in await store.ledger.usage("")] == [5]
        await store.close()
        # They stand in files now.
        layout_legacy.state.unlink()


async def test_a_kill_while_it_is_carried_over_carries_over_once(
    layout_legacy: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        """The process ends here."""

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("shipmate.store.legacy._carry_inbox", killed)
        with pytest.raises(KilledError):
            open_store(layout_legacy)
    store = open_store(layout_legacy)
    assert len(await store.ledger.usage("")) == 1
    assert [row.event.message_id for row in await store.inbox.open(LEGACY_ROOM)] == ["m2"]
    await store.close()
    assert (
        msgspec.json.decode(layout_legacy.mark(ThreadId.parse(LEGACY_ROOM)).read_bytes())["title"] == "Mine"
    )


async def test_an_old_database_put_back_later_changes_nothing_that_files_say(layout_legacy: Layout) -> None:
    copy = layout_legacy.state.read_bytes()
    store = open_store(layout_legacy)
    await store.threads.rename(LEGACY_ROOM, "Renamed since")
    await store.inbox.finish(await store.inbox.open(LEGACY_ROOM), Outcome(run_id="run_1", status="replied"))
    (step,) = await store.ledger.usage("")
    await store.ledger.add_usage(step)
    await store.close()
    layout_legacy.state.write_bytes(copy)
    store = open_store(layout_legacy)
    assert [info.title for info in await store.threads.list(archived=True)] == ["Renamed since"]
    assert await store.inbox.open(LEGACY_ROOM) == []
    assert len(await store.ledger.usage("")) == 2
    await store.close()


async def test_what_was_answered_or_names_no_thread_is_not_carried_over(layout_legacy: Layout) -> None:
    connection = sqlite3.connect(layout_legacy.state)
    connection.execute("UPDATE inbox SET status = 'done'")
    connection.execute("INSERT INTO thread SELECT 'no id', title, titled_by, member, message_count, "
        "token_estimate, created_at, last_at, read_at, archived, binned, settings FROM thread")  # fmt: skip
    connection.commit()
    connection.close()
    store = open_store(layout_legacy)
    assert await store.inbox.open(LEGACY_ROOM) == []
    assert [info.thread_id for info in await store.threads.list(archived=True)] == [LEGACY_ROOM]
    await store.close()


@pytest.mark.parametrize("folder", ["approvals", "joint_decisions", "grants", "marks", "threads", "bin"])
async def test_what_a_killed_process_named_is_on_disk_before_others_build_on_it(folder: str) -> None:
    for seed in range(20):
        volume = Volume(random.Random(seed), lambda: 1_000_000_000)
        layout = Layout(Path("/ship"))
        volume.make(layout.root)
        path = getattr(layout, folder) / "a.json"
        killed = SimDisk(volume, Locks(), lambda _call, _path: None)
        with mock.patch.object(SimDisk, "fsync"):
            make_folder(killed, path.parent)
            with opened(killed, path, os.O_WRONLY | os.O_CREAT):
                pass
        heir = SimDisk(volume, Locks(), lambda _call, _path: None)
        store = FileStore(layout, heir, Database(None), lambda: datetime.now(UTC))
        await store.settle()
        await store.close()
        volume.cut_power()
        assert exists(heir, path)
