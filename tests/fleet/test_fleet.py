"""A fleet over PostgreSQL answers as one keeper does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from shipmate.app import Shipmate
from shipmate.fleet.role import GATEWAY, WORKER, Role
from shipmate.models.port import Model
from shipmate.models.scripted import ScriptedModel, hold, say
from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.schema import migrate
from shipmate.values.message import text_of
from tests.support.wait import LONG
from tests.support.workspace import ROOM, messages_of, said


async def prepare(address: str) -> None:
    database = PostgresDatabase(address)
    await database.open()
    await migrate(database)
    await database.close()


@asynccontextmanager
async def aboard(folder: Path, address: str, role: Role, model: Model) -> AsyncGenerator[Shipmate]:
    folder.mkdir(exist_ok=True)
    (folder / "Agent.md").write_text("# Sailor\n")
    environ = {"SHIPMATE_STORE": address}
    async with Shipmate.open(folder, model=model, environ=environ, role=role) as ship:
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
