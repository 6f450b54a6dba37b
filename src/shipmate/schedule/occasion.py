"""Make the events of occurrences, and read them back: an event's id is its task and its due time."""

from __future__ import annotations

from datetime import UTC, datetime

from shipmate.schedule.schedule_wording import refuse, say
from shipmate.schedule.task import Task, check_id
from shipmate.schedule.when import find_zone
from shipmate.store.journal.occurrence import Occurrence
from shipmate.values.event import QUIET, SCHEDULE, CourseEvent, TextEvent
from shipmate.values.message import timestamp


def make_event(task: Task | None, known: Occurrence, now: datetime, language: str) -> TextEvent:
    """Make the event of an occurrence; of a task that is gone, one that is only asked after."""
    return TextEvent(
        platform=SCHEDULE,
        thread_id=known.thread_id,
        # No person said it: what has to be asked is asked of those who may decide.
        user_id="",
        message_id=known.key,
        timestamp=timestamp(now),
        text=task.prompt if task is not None else "",
        member=task.member if task is not None else None,
        title=task.title if task is not None else "",
        source=task.source if task is not None else f"task:{known.task}",
        extra_context=None if task is None else _surroundings(task, known, now, language),
    )


def make_hand_event(task: Task, now: datetime, language: str) -> TextEvent:
    """Make the event of a task that somebody begins by hand."""
    known = Occurrence(
        task=task.id, due=timestamp(now), status="claimed", at="", by_hand=True, thread_id=task.thread_id
    )
    return make_event(task, known, now, language)


def make_course(event: TextEvent) -> CourseEvent:
    """Make the event that opens the course of an occurrence."""
    return CourseEvent(
        platform=SCHEDULE,
        thread_id=event.thread_id,
        user_id="",
        message_id=f"{event.message_id}.course",
        timestamp=event.timestamp,
        member=event.member,
    )


def read_key(event: TextEvent, at: str) -> Occurrence:
    """Return the occurrence that somebody begins by hand with an event."""
    task, _, due = event.message_id.partition("@")
    try:
        datetime.fromisoformat(due)
    except ValueError:
        raise refuse("time-bad", text=due[:60]) from None
    return Occurrence(
        task=check_id(task), due=due, status="claimed", at=at, by_hand=True, thread_id=event.thread_id
    )


def show(moment: datetime, zone: str) -> str:
    """Return a moment as people of a zone read it."""
    return f"{moment.astimezone(find_zone(zone)):%Y-%m-%d %H:%M %Z}".strip()


def _surroundings(task: Task, known: Occurrence, now: datetime, language: str) -> str:
    """Return what the member is told besides the task itself."""
    told = {"title": task.title, "id": task.id, "now": show(now, task.zone)}
    if known.by_hand:
        first = say("context-hand", **told)
    else:
        due = datetime.fromisoformat(known.due).astimezone(UTC)
        first = say("context", **told, due=show(due, task.zone))
    pieces = [first]
    if task.when.kind == "heartbeat":
        pieces.append(say("context-heartbeat", quiet=QUIET))
    return " ".join(piece.tell(language) for piece in pieces)
