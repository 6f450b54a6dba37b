"""Make what the answer to a task sends to the places its file names besides its own thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from shipmate.delivery.compose import make_file, make_send, words_of
from shipmate.delivery.delivery_wording import say
from shipmate.delivery.splitting import split
from shipmate.orchestrator.turn import since_answer
from shipmate.store.port import InboxRow
from shipmate.thread.service import Thread
from shipmate.values.event import (
    SCHEDULE,
    AdapterCapabilities,
    CourseEvent,
    EgressMessage,
    Outcome,
    TextEvent,
    is_quiet,
)
from shipmate.values.message import metadata_of
from shipmate.values.thread_id import ThreadId

# So many messages a result may take; the rest stands in its thread.
PAGES = 5


def source_of(thread: Thread, message_id: str | None) -> str | None:
    """Return what said the words that a message answers, when no person did."""
    place = None if message_id is None else thread.messages.place_of(message_id)
    before = map(
        thread.messages.__getitem__, range((len(thread.messages) if place is None else place) - 1, -1, -1)
    )
    said = (message for message in before if message["role"] == "user")
    found = metadata_of(last).get("sourceTag") if (last := next(said, None)) is not None else None
    return found if isinstance(found, str) else None


def is_silent(thread: Thread, rows: Sequence[InboxRow], outcome: Outcome) -> bool:
    """Return whether nobody is told: a heartbeat had nothing to say, or a task only opened its course."""
    if all(isinstance(row.event, CourseEvent) and row.event.platform == SCHEDULE for row in rows):
        return True
    return is_quiet(source_of(thread, outcome.message_id), outcome.text)


def is_heartbeat(rows: Sequence[InboxRow]) -> bool:
    """Return whether a run may end in silence, so that nothing of it is shown before its end."""
    return any(isinstance(row.event, TextEvent) and is_quiet(row.event.source) for row in rows)


def compose_result(
    thread: Thread,
    outcome: Outcome,
    targets: Sequence[str],
    find: Callable[[ThreadId], AdapterCapabilities],
    language: str,
) -> list[EgressMessage]:
    """Return the words and files of a task's answer for each place it is delivered to."""
    message = thread.find(outcome.message_id) if outcome.message_id else None
    words = words_of(message, outcome)
    files = [part for part in since_answer(message)["parts"] if part["type"] == "file"] if message else []
    sends: list[EgressMessage] = []
    for target in targets:
        pages = split(words, find(ThreadId.parse(target))) if words else []
        told = [*pages[:PAGES], *([say(language, "task-rest", thread=str(thread.id))] * (len(pages) > PAGES))]
        if outcome.status == "suspended":
            told.append(say(language, "task-waits", thread=str(thread.id)))
        if outcome.error:
            told.append(say(language, "failed", why=outcome.error))
        made = [make_send(target, f"words.{place}", "words", text) for place, text in enumerate(told)]
        made += [make_file(target, place, part) for place, part in enumerate(files)]
        # Named after where they go: beside the answer in its own thread they are others.
        sends += [
            replace(each, extra={**each.extra, "name": f"{target} {each.extra['name']}"}) for each in made
        ]
    return sends
