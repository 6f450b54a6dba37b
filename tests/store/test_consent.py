"""Grants are files, and no lost index makes an approval or a revocation forgotten."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.store.file_store import open_store
from shipmate.store.journal.folder import FolderWatch
from shipmate.store.journal.grant import GrantFiles
from shipmate.store.port import Store
from shipmate.store.transient_store import TransientStore
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.layout import Layout
from tests.support.sync import ImpatientDisk

ROOM = "web:room:1"


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


@pytest.mark.parametrize("kind", ["file", "memory"])
async def test_d4_grants_and_their_revocation_are_files(layout: Layout, kind: str) -> None:
    store: Store = open_store(layout) if kind == "file" else TransientStore()
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
