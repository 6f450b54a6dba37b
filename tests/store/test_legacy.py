"""What an earlier Shipmate kept only in its database is in files after the first opening."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from shipmate.store.file_store import open_store
from shipmate.store.migration import read_migrations
from shipmate.store.sqlite.database import PACKAGE
from shipmate.thread.log import FileLog
from shipmate.values.event import Outcome, TextEvent, encode_event
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

ROOM = "web:room:1"
AT = "2026-01-01T00:00:00.000Z"


@pytest.fixture
async def layout(tmp_path: Path) -> Layout:
    """A workspace as the first version left it."""
    layout = Layout(tmp_path)
    await FileLog(layout).append(ThreadId.parse(ROOM), [user_message("m1", "hello", {"timestamp": AT})])
    event = TextEvent(
        platform="web", thread_id=ROOM, user_id="ann", message_id="m2", timestamp=AT, text="waiting"
    )
    connection = sqlite3.connect(layout.state)
    connection.executescript(f"{read_migrations(PACKAGE)[0].sql} PRAGMA user_version = 1;")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "INSERT INTO thread VALUES (?, 'Mine', 'person', 'ux', 1, 1, ?, ?, ?, 1, 0, '{\"a\":1}')",
        (ROOM, AT, AT, AT),
    )
    connection.execute(
        "INSERT INTO inbox (platform, message_id, thread_id, event, received_at) VALUES (?, ?, ?, ?, ?)",
        ("web", "m2", ROOM, encode_event(event), AT),
    )
    connection.execute("INSERT INTO \"grant\" VALUES ('g1', ?, ?, NULL, NULL)", (b'{"x":1}', AT))
    connection.execute("INSERT INTO \"grant\" VALUES ('g2', ?, ?, NULL, ?)", (b"{}", AT, AT))
    connection.execute(
        "INSERT INTO usage VALUES (1, ?, ?, 'ux', 'r', 1, 'm', 5, 6, 0, 0, NULL, 4, 9)", (AT, ROOM)
    )
    connection.commit()
    connection.close()
    return layout


async def test_titles_marks_grants_usage_and_what_waits_are_carried_over(layout: Layout) -> None:
    for _ in range(2):
        store = open_store(layout)
        (info,) = await store.threads.list(archived=True)
        assert (info.title, info.member, info.settings, info.read_at) == ("Mine", "ux", {"a": 1}, AT)
        assert [row.event.message_id for row in await store.inbox.open(ROOM)] == ["m2"]
        assert [grant.id for grant in await store.consents.grants()] == ["g1"]
        assert [grant.id for grant in await store.consents.grants(every=True)] == ["g1", "g2"]
        assert [step.input_tokens for step in await store.ledger.usage("")] == [5]
        await store.close()
        # They stand in files now.
        layout.state.unlink()


async def test_a_kill_while_it_is_carried_over_carries_over_once(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        """The process ends here."""

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("shipmate.store.legacy._carry_inbox", killed)
        with pytest.raises(KilledError):
            open_store(layout)
    store = open_store(layout)
    assert len(await store.ledger.usage("")) == 1
    assert [row.event.message_id for row in await store.inbox.open(ROOM)] == ["m2"]
    await store.close()
    assert msgspec.json.decode(layout.mark(ThreadId.parse(ROOM)).read_bytes())["title"] == "Mine"


async def test_an_old_database_put_back_later_changes_nothing_that_files_say(layout: Layout) -> None:
    copy = layout.state.read_bytes()
    store = open_store(layout)
    await store.threads.rename(ROOM, "Renamed since")
    await store.inbox.finish(await store.inbox.open(ROOM), Outcome(run_id="run_1", status="replied"))
    (step,) = await store.ledger.usage("")
    await store.ledger.add_usage(step)
    await store.close()
    layout.state.write_bytes(copy)
    store = open_store(layout)
    assert [info.title for info in await store.threads.list(archived=True)] == ["Renamed since"]
    assert await store.inbox.open(ROOM) == []
    assert len(await store.ledger.usage("")) == 2
    await store.close()


async def test_what_was_answered_or_names_no_thread_is_not_carried_over(layout: Layout) -> None:
    connection = sqlite3.connect(layout.state)
    connection.execute("UPDATE inbox SET status = 'done'")
    connection.execute("INSERT INTO thread SELECT 'no id', title, titled_by, member, message_count, "
        "token_estimate, created_at, last_at, read_at, archived, binned, settings FROM thread")  # fmt: skip
    connection.commit()
    connection.close()
    store = open_store(layout)
    assert await store.inbox.open(ROOM) == []
    assert [info.thread_id for info in await store.threads.list(archived=True)] == [ROOM]
    await store.close()
