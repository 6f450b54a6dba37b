"""The store in memory does what the one of files does, and leaves no file."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shipmate.store.port import Store
from shipmate.store.transient_store import TransientStore
from shipmate.values.event import EgressMessage, Outcome, TextEvent
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from tests.support.store import log_of, open_any_store

ROOM = "web:room:1"


@pytest.fixture(params=["file", "memory", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = await open_any_store(request, request.param, tmp_path)
    yield made
    await made.close()
    if request.param == "memory":
        assert list(tmp_path.rglob("*.db")) == []


async def test_an_event_goes_from_the_inbox_to_the_outbox(store: Store) -> None:
    event = TextEvent(platform="web", thread_id=ROOM, user_id="a", message_id="m", timestamp="t", text="hi")
    row, _ = await store.inbox.accept(event)
    await store.inbox.take([row], "run_1")
    outcome = Outcome(run_id="run_1", status="replied", text="hello")
    await store.inbox.finish([row], outcome, [EgressMessage(thread_id=ROOM, text="hello")])
    found = await store.inbox.find(event)
    assert found is not None
    assert found.outcome == outcome
    assert [send.message.text for send in await store.outbox.open(ROOM)] == ["hello"]


async def test_threads_are_listed_newest_first_by_state_and_by_words(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        stamp = f"2026-01-0{number + 1}T00:00:00.000Z"
        rows = [user_message("m", f"talk {number}", {"timestamp": stamp})]
        if not isinstance(store, TransientStore):
            await log_of(store, tmp_path).create(ThreadId("web", "room", str(number)), rows)
        await store.threads.note(f"web:room:{number}", rows)
    await store.threads.set("web:room:1", archived=True)
    assert [info.thread_id for info in await store.threads.list()] == ["web:room:2", "web:room:0"]
    found = await store.threads.list(archived=None, query="talk 1")
    assert [info.thread_id for info in found] == ["web:room:1"]
    assert await store.threads.list(query="talk_") == await store.threads.list(query="100%") == []
    assert [hit.thread_id for hit in await store.search.find("talk")] == [
        "web:room:2",
        "web:room:1",
        "web:room:0",
    ]
    await store.threads.rename("web:room:0", "Mine")
    info = await store.threads.find("web:room:0")
    assert info is not None
    assert (info.title, info.message_count) == ("Mine", 1)
    assert info.token_estimate > 0


async def test_somebody_of_a_team_is_listed_and_finds_what_is_theirs_alone(
    store: Store, tmp_path: Path
) -> None:
    settings = ({"owner": "ann"}, {"owner": "bo", "sharedWith": ["ann"]}, {"owner": "bo"}, {"owner": "cy"})
    for number, each in enumerate(settings):
        rows = [user_message("m", f"talk {number}", {"timestamp": f"2026-01-0{number + 1}T00:00:00.000Z"})]
        if not isinstance(store, TransientStore):
            await log_of(store, tmp_path).create(ThreadId("web", "room", str(number)), rows)
        await store.threads.note(f"web:room:{number}", rows)
        await store.threads.set(f"web:room:{number}", settings=each)
    shown = {viewer: await store.threads.list(viewer=viewer) for viewer in ("ann", "bo", "ann%", None)}
    numbers = {viewer: [info.thread_id[-1] for info in infos] for viewer, infos in shown.items()}
    assert numbers == {"ann": ["1", "0"], "bo": ["2", "1"], "ann%": [], None: ["3", "2", "1", "0"]}
    assert [hit.thread_id[-1] for hit in await store.search.find("talk", viewer="ann")] == ["1", "0"]
    assert [hit.thread_id[-1] for hit in await store.search.find("talk", within="web:room:2")] == ["2"]
    assert await store.search.find("talk", viewer="ann", within="web:room:2") == []
