"""Know which run a thread is at, and which message its stream will tell."""

from __future__ import annotations

from shipmate.orchestrator.lane.note import NoteEvent
from shipmate.orchestrator.turn import message_id_of
from shipmate.server.port import Ship
from shipmate.values.event import ModelSwitchEvent, PlanEvent
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId


async def run_of(ship: Ship, thread_id: ThreadId) -> str | None:
    """Return the run in flight of a thread, or the one about to begin; empty when that has no id yet."""
    if (run := ship.keeper.running(str(thread_id))) is not None:
        return run.run_id
    rows = await ship.keeper.queue(str(thread_id))
    # What opens a course, pins something or chooses a model is answered by no run.
    said = (row for row in rows if not isinstance(row.event, NoteEvent | ModelSwitchEvent | PlanEvent))
    return next((row.run_id or "" for row in said), None)


def without(messages: list[UIMessage], run_id: str | None) -> list[UIMessage]:
    """Leave out the message that the stream of a run will tell whole, so that a client hears it once."""
    if not run_id:
        return messages
    return [message for message in messages if message["id"] != message_id_of(run_id)]
