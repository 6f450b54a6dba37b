"""A fleet over PostgreSQL answers as one keeper does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from shipmate.app import Shipmate
from shipmate.fleet.role import GATEWAY, WORKER, Role
from shipmate.models.port import Model
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.schema import migrate
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import Toolset
from shipmate.values.message import text_of
from tests.support.wait import LONG
from tests.support.workspace import ROOM, Probe, messages_of, pressed, said


async def prepare(address: str) -> None:
    database = PostgresDatabase(address)
    await database.open()
    await migrate(database)
    await database.close()


@asynccontextmanager
async def aboard(
    folder: Path, address: str, role: Role, model: Model, tools: Sequence[Tool[Any]] = ()
) -> AsyncGenerator[Shipmate]:
    folder.mkdir(exist_ok=True)
    (folder / "Agent.md").write_text("# Sailor\n")
    environ = {"SHIPMATE_STORE": address}
    (folder / "ship.json").write_text("{}")
    opening = Shipmate.open(folder, model=model, environ=environ, toolset=Toolset(tools), role=role)
    async with opening as ship:
        yield ship


async def test_a_gateway_is_answered_by_a_worker_and_follows_it(tmp_path: Path, postgres: str) -> None:
    await prepare(postgres)
    gate = asyncio.Event()
    model = ScriptedModel([[say("bu"), hold(gate), say("sy")], "all of it"])
    async with (
        aboard(tmp_path, postgres, WORKER, model),
        aboard(tmp_path, postgres, GATEWAY, ScriptedModel([])) as first,
        aboard(tmp_path, postgres, GATEWAY, ScriptedModel([])) as second,
    ):
        async with asyncio.timeout(LONG), first.keeper.watch(ROOM) as queue:
            receipt = await first.receive(said("one", message_id="m1"))
            assert not (await second.receive(said("one", message_id="m1"))).is_new
            while (event := await queue.get()).chunk is None or event.chunk["type"] != "text-delta":
                pass
            # Who comes later, through another gateway, is told where the answer stands.
            async with second.keeper.watch(ROOM) as other:
                assert (await other.get()).snapshot is not None
                assert second.keeper.running(ROOM) is not None
                others = [await second.receive(said(text)) for text in ("two", "three")]
                gate.set()
                outcome = await receipt.outcome()
                while (told := await other.get()).outcome is None:
                    pass
                assert told.outcome == outcome
            assert {(await each.outcome()).text for each in others} == {"all of it"}
        messages = [text_of(message) for message in await messages_of(second)]
        health = await second.keeper.health()
    assert messages == ["one", "busy", "two", "three", "all of it"]
    assert sorted(each.role for each in health.processes) == ["gateway", "gateway", "worker"]
    assert health.unserved == []


async def test_stop_approvals_and_what_nobody_serves_from_any_gateway(tmp_path: Path, postgres: str) -> None:
    await prepare(postgres)
    gate = asyncio.Event()
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("endless"), hold(gate)], [call("act", mark="x")], "acted"])
    worker = msgspec.structs.replace(WORKER, members=("captain",))
    async with (
        aboard(tmp_path, postgres, worker, model, [act]) as working,
        aboard(tmp_path, postgres, GATEWAY, ScriptedModel([])) as first,
        aboard(tmp_path, postgres, GATEWAY, ScriptedModel([])) as second,
        asyncio.timeout(LONG),
    ):
        async with first.keeper.watch(ROOM) as queue:
            receipt = await first.receive(said("go on for ever"))
            while (await queue.get()).chunk is None:
                pass
        assert await second.keeper.stop(ROOM)
        assert (await receipt.outcome()).status == "stopped"
        asking = await (await first.receive(said("act"))).outcome()
        assert asking.status == "suspended"
        (waiting,) = await second.approvals.pending(ROOM)
        decided = await (await second.receive(pressed(waiting.id, approved=True))).outcome()
        assert (decided.text, act.marks) == ("acted", ["x"])
        # A member whom no process serves: kept, and shown.
        await first.receive(said("hello", thread_id="cli:dm:bob", member="bob"))
        health = await second.keeper.health()
        assert (health.unserved, health.stranded) == (["bob"], ["cli:dm:bob"])
        assert [row.status for row in await second.keeper.queue("cli:dm:bob")] == ["waiting"]
        assert working.keeper.runs() == {}


async def test_a_place_is_had_by_one_process_and_passes_on(tmp_path: Path, postgres: str) -> None:
    await prepare(postgres)
    begun: asyncio.Queue[str] = asyncio.Queue()

    async def work(name: str) -> None:
        await begun.put(name)
        await asyncio.get_running_loop().create_future()

    async with asyncio.timeout(LONG), aboard(tmp_path, postgres, GATEWAY, ScriptedModel([])) as second:
        async with aboard(tmp_path, postgres, GATEWAY, ScriptedModel([])) as first:
            assert first.keeper.lead is not None
            first.keeper.lead("listening there", lambda: work("first"))
            assert await begun.get() == "first"
            assert second.keeper.lead is not None
            second.keeper.lead("listening there", lambda: work("second"))
        assert await begun.get() == "second"
        assert begun.empty()
