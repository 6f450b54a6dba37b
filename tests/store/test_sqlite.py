"""The store keeps what came in once, what must go out once, and finds words in any language."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.errors import StorageError
from shipmate.store.port import StepUsage, Store
from shipmate.store.sqlite import MemoryStore, SqliteStore
from shipmate.values.event import EgressMessage, Outcome, TextEvent
from shipmate.values.message import UIMessage, user_message
from tests.support.search import examples

ROOM = "web:room:1"


def event(message_id: str, thread_id: str = ROOM, platform: str = "web") -> TextEvent:
    return TextEvent(
        platform=platform,
        thread_id=thread_id,
        user_id="ann",
        message_id=message_id,
        timestamp="t",
        text=message_id,
    )


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = SqliteStore(tmp_path / ".ship" / "state.db") if request.param == "file" else MemoryStore()
    yield made
    await made.close()


async def test_an_event_is_accepted_once_and_a_repeat_gets_the_outcome(store: Store) -> None:
    row, is_new = await store.inbox.accept(event("m1"))
    again, repeated = await store.inbox.accept(event("m1"))
    assert (is_new, repeated, again.seq) == (True, False, row.seq)
    outcome = Outcome(run_id="run_1", status="replied", text="hi")
    await store.inbox.take([row], "run_1")
    await store.inbox.finish([row], outcome)
    done, _ = await store.inbox.accept(event("m1"))
    assert (done.status, done.outcome) == ("done", outcome)
    assert await store.inbox.open(ROOM) == []


async def test_the_same_message_id_on_another_platform_is_another_event(store: Store) -> None:
    await store.inbox.accept(event("m1"))
    _, is_new = await store.inbox.accept(event("m1", "cli:dm:ann", "cli"))
    assert is_new
    assert set(await store.inbox.threads()) == {ROOM, "cli:dm:ann"}


async def test_open_rows_keep_their_order_and_their_run_across_a_reopening(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = SqliteStore(path)
    for name in ("m1", "m2", "m3"):
        await store.inbox.accept(event(name))
    rows = await store.inbox.open(ROOM)
    await store.inbox.take(rows[:1], "run_1")
    await store.close()
    store = SqliteStore(path)
    rows = await store.inbox.open(ROOM)
    assert [(row.event.message_id, row.status, row.run_id, row.attempts) for row in rows] == [
        ("m1", "running", "run_1", 1),
        ("m2", "waiting", None, 0),
        ("m3", "waiting", None, 0),
    ]
    await store.close()


async def test_only_what_still_waits_can_be_withdrawn(store: Store) -> None:
    row, _ = await store.inbox.accept(event("m1"))
    await store.inbox.accept(event("m2"))
    await store.inbox.take([row], "run_1")
    assert not await store.inbox.withdraw(ROOM, "m1")
    assert await store.inbox.withdraw(ROOM, "m2")
    assert [row.event.message_id for row in await store.inbox.open(ROOM)] == ["m1"]


async def test_a_withdrawn_row_can_neither_be_taken_nor_finished(store: Store) -> None:
    row, _ = await store.inbox.accept(event("m1"))
    await store.inbox.withdraw(ROOM, "m1")
    assert await store.inbox.take([row], "run_1") == []
    outcome = Outcome(run_id="run_1", status="replied")
    await store.inbox.finish([row], outcome, [EgressMessage(thread_id=ROOM, text="x")])
    assert await store.outbox.list() == []
    found = await store.inbox.find("web", "m1")
    assert found is not None
    assert (found.status, found.outcome) == ("withdrawn", None)


async def test_a_run_that_goes_on_sends_further_segments(store: Store) -> None:
    for number, text in enumerate(["May I?", "Done."]):
        row, _ = await store.inbox.accept(event(f"m{number}"))
        outcome = Outcome(run_id="run_1", status="replied")
        await store.inbox.finish([row], outcome, [EgressMessage(thread_id=ROOM, text=text)])
    sends = [(row.segment, row.message.text) for row in await store.outbox.list()]
    assert sends == [(0, "May I?"), (1, "Done.")]


async def test_finished_rows_are_forgotten_only_after_their_time(store: Store) -> None:
    row, _ = await store.inbox.accept(event("m1"))
    await store.inbox.finish([row], Outcome(run_id="r", status="replied"))
    assert await store.inbox.forget("2000-01-01T00:00:00.000Z") == 0
    assert await store.inbox.forget("2999-01-01T00:00:00.000Z") == 1


async def test_a_send_is_intended_with_the_outcome_and_sent_once(store: Store) -> None:
    row, _ = await store.inbox.accept(event("m1"))
    outcome = Outcome(run_id="run_1", status="replied")
    sends = [EgressMessage(thread_id=ROOM, text="one"), EgressMessage(thread_id=ROOM, text="two")]
    await store.inbox.finish([row], outcome, sends)
    await store.inbox.finish([row], outcome, sends)
    first, second = await store.outbox.next("web"), await store.outbox.next("web")
    assert first is not None
    assert second is not None
    assert [first.message.text, second.message.text] == ["one", "two"]
    assert await store.outbox.next("web") is None
    await store.outbox.sent(first, "receipt-1")
    assert await store.outbox.doubt("web") == 1
    assert [row.status for row in await store.outbox.list()] == ["sent", "uncertain"]


async def test_a_failed_send_is_tried_again_only_when_told(store: Store) -> None:
    row, _ = await store.inbox.accept(event("m1"))
    await store.inbox.finish(
        [row], Outcome(run_id="r", status="replied"), [EgressMessage(thread_id=ROOM, text="x")]
    )
    send = await store.outbox.next("web")
    assert send is not None
    await store.outbox.failed(send, "busy", retry=True)
    again = await store.outbox.next("web")
    assert again is not None
    await store.outbox.failed(again, "gone", retry=False)
    assert await store.outbox.next("web") is None


async def test_a_call_is_begun_once(store: Store) -> None:
    assert await store.ledger.begin_call(ROOM, "m", "c1")
    assert not await store.ledger.begin_call(ROOM, "m", "c1")
    assert await store.ledger.has_begun(ROOM, "m", "c1")
    assert not await store.ledger.has_begun(ROOM, "other", "c1")


async def test_the_list_of_threads_takes_its_title_from_the_first_words_unless_a_person_names_it(
    store: Store,
) -> None:
    messages: list[UIMessage] = [
        user_message("m1", "First line\nsecond", {"timestamp": "2026-01-01T00:00:00.000Z"})
    ]
    await store.threads.note(ROOM, messages)
    await store.threads.note(ROOM, [*messages, user_message("m2", "more")])
    info = await store.threads.find(ROOM)
    assert info is not None
    assert (info.title, info.message_count) == ("First line", 2)
    assert info.token_estimate > 0
    await store.threads.rename(ROOM, "Mine")
    await store.threads.note(ROOM, messages)
    renamed = await store.threads.find(ROOM)
    assert renamed is not None
    assert renamed.title == "Mine"


async def test_threads_are_listed_newest_first_and_by_state(store: Store) -> None:
    for number in range(3):
        stamp = f"2026-01-0{number + 1}T00:00:00.000Z"
        await store.threads.note(
            f"web:room:{number}", [user_message("m", f"talk {number}", {"timestamp": stamp})]
        )
    await store.threads.set("web:room:1", archived=True)
    assert [info.thread_id for info in await store.threads.list()] == ["web:room:2", "web:room:0"]
    assert [info.thread_id for info in await store.threads.list(archived=None, query="talk 1")] == [
        "web:room:1"
    ]
    await store.threads.set("web:room:0", binned=True)
    assert [info.thread_id for info in await store.threads.list(binned=True)] == ["web:room:0"]


async def test_usage_and_signatures_come_back(store: Store) -> None:
    usage = StepUsage(
        at="2026-01-01T00:00:00.000Z",
        thread_id=ROOM,
        member="captain",
        run_id="r",
        step=1,
        model="m",
        input_tokens=5,
        output_tokens=6,
        cache_read_tokens=1,
        cache_write_tokens=2,
        cost=0.25,
        estimated_tokens=4,
        milliseconds=9,
    )
    await store.ledger.add_usage(usage)
    assert await store.ledger.usage("2025") == [usage]
    await store.ledger.keep_signatures("m", [{"signature": "s"}])
    assert await store.ledger.signatures("m") == [{"signature": "s"}]
    await store.ledger.drop_signatures("m")
    assert await store.ledger.signatures("m") == []


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("今天天气很好", "天气", True),
        ("今天天气很好", "天好", False),
        ("今天天气很好", "好", True),
        ("今天天气很好", "今天天气", True),
        ("Use git status_x here", "status_x", True),
        ("Use git status here", "GIT stat", True),
        ("部署 deploy 完成", "deploy 完成", True),
        ("日本語のテスト", "テスト", True),
        ("plain", '" OR *', False),
    ],
)
async def test_words_are_found_in_any_language(store: Store, text: str, query: str, *, found: bool) -> None:
    await store.search.index(ROOM, [user_message("m1", text)])
    assert [hit.message_id for hit in await store.search.find(query)] == (["m1"] if found else [])


async def test_a_grown_message_is_found_by_its_new_words_and_once(store: Store) -> None:
    await store.search.index(ROOM, [user_message("m1", "first draft")])
    await store.search.index(ROOM, [user_message("m1", "first draft and ending")])
    assert len(await store.search.find("draft")) == 1
    assert len(await store.search.find("ending")) == 1
    await store.search.drop(ROOM)
    assert await store.search.find("draft") == []


@settings(max_examples=examples(100))
@given(st.text(max_size=40))
async def test_no_query_breaks_the_search(query: str) -> None:
    store = MemoryStore()
    await store.search.index(ROOM, [user_message("m1", "anything 任何 " + query)])
    assert isinstance(await store.search.find(query), list)
    await store.close()


@given(st.text("你好世界天气", min_size=2, max_size=12), st.data())
async def test_every_chinese_substring_is_found(text: str, data: st.DataObject) -> None:
    store = MemoryStore()
    await store.search.index(ROOM, [user_message("m1", text)])
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert len(await store.search.find(text[start:end])) == 1
    await store.close()


async def test_a_store_that_cannot_be_opened_says_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("this is no database, whatever its name says" * 50)
    with pytest.raises(StorageError, match=r"state\.db"):
        SqliteStore(tmp_path / "state.db")


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state.db")
    await store.inbox.accept(event("m1"))
    await store.close()
    with sqlite3.connect(tmp_path / "state.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="newer Shipmate"):
        SqliteStore(tmp_path / "state.db")
