"""A workspace lives in PostgreSQL by one address, and moves there and back without loss."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from shipmate.approvals.audit import Audit
from shipmate.cli.group import run
from shipmate.errors import UserError
from shipmate.models.scripted import ScriptedModel, call
from shipmate.priming.library import Library
from shipmate.priming.replay import Priming, create_dialog
from shipmate.residence import find_address, open_shelf
from shipmate.store.file_store import open_store
from shipmate.store.postgres.postgres_store import open_postgres_store
from shipmate.thread.log import FileLog
from shipmate.values.event import Outcome
from shipmate.values.message import text_of, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.priming_script import words
from tests.support.workspace import ROOM, Probe, messages_of, open_workspace, pressed, said, talk

PRIMED = ThreadId("web", "room", "1")


async def test_chats_approvals_and_priming_go_on_in_postgresql(tmp_path: Path, fleet_store: str) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel(["Hello.", [call("act", mark="x")], "Done.", "It is Linux."])
    async with open_workspace(tmp_path, model, [act]) as app:
        first = await talk(app, "hi", message_id="m1")
        assert await talk(app, "hi", message_id="m1") == first
        assert (await talk(app, "act!")).status == "suspended"
        assert act.marks == []
        (waiting,) = await app.approvals.pending(ROOM)
    # Another machine with the same folder, in which nothing of it lies.
    shutil.rmtree(tmp_path / ".ship", ignore_errors=True)
    script = Layout(tmp_path).priming / "team_shared" / "a.md"
    script.parent.mkdir(parents=True)
    script.write_text(words("What runs here?", "I look."), encoding="utf-8")
    async with open_workspace(tmp_path, model, [act]) as app:
        outcome = await (await app.receive(pressed(waiting.id, approved=True))).outcome()
        assert (outcome.status, act.marks) == ("replied", ["x"])
        assert [text_of(each) for each in await messages_of(app)][-1] == "Done."
        priming = Priming(script_refs=("team_shared/a",), show_in_ui=True)
        await create_dialog(Library(app.layout), app.threads, app.store, thread_id=PRIMED, priming=priming)
        said_there = await talk(app, "And now?", thread_id=str(PRIMED), platform="web")
        assert said_there.text == "It is Linux."
        events = [entry.event for entry in app.approvals.audit.entries()]
        assert events == ["ran", "allowed", "decided", "asked"]
        assert app.approvals.audit.verify().holds
    store = await open_postgres_store(fleet_store)
    assert {info.thread_id for info in await store.threads.list()} == {ROOM, str(PRIMED)}
    assert [hit.thread_id for hit in await store.search.find("Linux")] == [str(PRIMED)]
    assert len(await store.ledger.usage("")) == 4
    with open_shelf(Layout(tmp_path)) as shelf:
        assert len(shelf.read_kept(ROOM).steps) == 3
        assert shelf.audit.verify().holds
    await store.close()
    own = Layout(tmp_path)
    places = (own.threads, own.inbox, own.outbox, own.state, own.approvals, own.grants, own.usage, own.audit)
    assert [place for place in places if place.exists()] == []


def test_a_store_is_named_in_ship_json_or_the_environment_and_never_shown(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert find_address(layout, {}) == ""
    layout.config.write_text(json.dumps({"store": "postgresql://ann:${PASSWORD}@db/ship"}))
    assert find_address(layout, {"PASSWORD": "hunter2"}) == "postgresql://ann:hunter2@db/ship"
    assert find_address(layout, {"SHIPMATE_STORE": "postgres://db/other"}) == "postgres://db/other"
    with pytest.raises(UserError) as caught:
        find_address(layout, {"SHIPMATE_STORE": "mysql://ann:hunter2@db"})
    assert "hunter2" not in str(caught.value)


async def _fill(folder: Path) -> None:
    """Have a workspace of files that holds something of every kind."""
    act = Probe("act", acts=True)
    model = ScriptedModel(["Hello.", [call("act", mark="x")], [call("act", mark="y")]])
    async with open_workspace(folder, model, [act]) as app:
        await talk(app, "你好")
        await talk(app, "act!")
        (waiting,) = await app.approvals.pending(ROOM)
        await (await app.receive(pressed(waiting.id, approved=True, scope="thread"))).outcome()
        await app.store.threads.rename(ROOM, "Mine")
        await app.store.threads.set(ROOM, settings={"model": "x"})
        await app.store.ledger.keep_context(ROOM, "m", "beside")
        await app.store.consents.add_grant("g1", {"a": 1}, None)
        app.people.offer("telegram", "7", "Ann")
        app.uploads.keep(b"%PDF-\0", "a.pdf")
        row, _ = await app.store.inbox.accept(said("waits", thread_id="web:room:9", platform="web"))
        await app.store.inbox.take([row], "run_9")
    log = FileLog(Layout(folder))
    gone = ThreadId("web", "room", "2")
    await log.create(gone, [user_message("m", "in the bin")])
    await log.bin(gone)
    with Layout(folder).thread(ThreadId.parse(ROOM)).open("ab") as file:
        file.write(b"not a row\n")


def _files(folder: Path) -> dict[str, bytes]:
    """Return what must be the same after a move there and back; journals are compared by what they say."""
    own = Layout(folder)
    places = (own.threads, own.bin, own.marks, own.approvals, own.grants, own.usage, own.audit, own.uploads)
    places = (*places, own.kept)
    found = [path for place in places for path in place.rglob("*") if path.is_file()]
    named = {str(path.relative_to(folder)): path.read_bytes() for path in (*found, own.people)}
    return {name: data for name, data in named.items() if "/." not in name.removeprefix(".ship")}


def test_a_workspace_moves_there_and_back_without_loss_and_goes_on_where_it_broke_off(
    tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    here.mkdir()
    asyncio.run(_fill(here))
    before = _files(here)
    monkeypatch.chdir(here)
    assert run(["db", "import"]) == 2
    assert "SHIPMATE_STORE" in capsys.readouterr().err
    monkeypatch.setenv("SHIPMATE_STORE", postgres)
    assert run(["db", "import"]) == 1
    assert "shipmate db migrate" in capsys.readouterr().err
    assert run(["db", "migrate"]) == 0

    # A move that is killed half way.
    from shipmate.store.postgres.importing import Importing

    with monkeypatch.context() as patch:
        patch.setattr(Importing, "_usage", None)
        with pytest.raises(TypeError):
            run(["db", "import"])
    assert run(["db", "import"]) == 0
    assert run(["db", "import"]) == 0
    assert "Brought in 0 of " in capsys.readouterr().out
    assert run(["threads", "list"]) == 0
    assert "Mine" in capsys.readouterr().out
    assert run(["audit", "--verify"]) == 0
    assert run(["db", "export", str(back)]) == 0
    assert run(["db", "export", str(back)]) == 0
    assert "Wrote 0 of " in capsys.readouterr().out
    assert _files(here) == before
    assert _files(back) == before
    asyncio.run(_compare(here, back, postgres))
    # What is there and different is never written over.
    Layout(back).people.write_bytes(b"{}")
    assert run(["db", "export", str(back)]) == 2
    assert "people.json is there and differs" in capsys.readouterr().err


async def _compare(here: Path, back: Path, address: str) -> None:
    stores = [open_store(Layout(here)), open_store(Layout(back)), await open_postgres_store(address)]
    try:
        open_rows = [await each.inbox.open("web:room:9") for each in stores]
        assert len(open_rows[0]) == 1
        assert open_rows[0] == open_rows[1] == open_rows[2]
        for each in stores:
            row = open_rows[0][0]
            await each.inbox.finish([row], Outcome(run_id="run_9", status="replied"))
        lists = [await each.threads.list(archived=None) for each in stores]
        assert [msgspec.structs.asdict(info)["title"] for info in lists[0]] == ["Mine"]
        assert lists[0] == lists[1] == lists[2]
        found = [[hit.message_id for hit in await each.search.find("你好")] for each in stores]
        assert found[0] == found[1] == found[2] != []
        grants = [await each.consents.grants() for each in stores]
        assert grants[0] == grants[1] == grants[2] != []
        sides = [dict(await each.ledger.sidecars(ROOM)) for each in stores]
        assert sides[0] == sides[1] == sides[2] != {}
    finally:
        for each in stores:
            await each.close()
    assert Audit(Layout(back)).verify().holds
