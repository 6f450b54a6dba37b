"""Tell how tasks stand, for the terminal and the page: when they come next, and what became of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from shipmate.schedule.schedule_wording import FOLDER, say
from shipmate.schedule.task_folder import TaskFile, TaskFolder
from shipmate.schedule.when import Kind
from shipmate.store.journal.occurrence import JournalOccurrences, Occurrence, TaskRecord
from shipmate.values.message import timestamp
from shipmate.values.saying import load_sayings, tell_error

TaskState: TypeAlias = Literal["waiting", "manual", "paused", "done", "broken"]
UPCOMING = 3


class TaskOverview(msgspec.Struct, kw_only=True, rename="camel"):
    """A task as a list shows it."""

    id: str
    title: str
    state: TaskState
    # As it stands in the file.
    when: str = ""
    kind: Kind | None = None
    zone: str = ""
    member: str | None = None
    thread_id: str = ""
    deliver: tuple[str, ...] = ()
    catch_up: str = ""
    # What is wrong with the file, by language.
    problem: dict[str, str] | None = None
    # The next times, in UTC.
    upcoming: list[str] = []
    last: Occurrence | None = None
    # How many times are listed as missed or uncertain.
    listed: int = 0


def describe_task(
    file: TaskFile, record: TaskRecord | None, now: datetime, count: int = UPCOMING
) -> TaskOverview:
    """Return how a task stands, with as many of its next times."""
    known = list(record.known.values()) if record is not None else []
    last = known[-1] if known else None
    listed = sum(each.status in ("missed", "uncertain") for each in known)
    task = file.task
    if task is None:
        problem = tell_problem(file)
        return TaskOverview(
            id=file.id, title=file.id, state="broken", problem=problem, last=last, listed=listed
        )
    upcoming = task.when.upcoming(now, count) if task.is_enabled else []
    ended: TaskState = "manual" if task.when.kind == "manual" else "done"
    return TaskOverview(
        id=file.id,
        title=task.title,
        state="paused" if not task.is_enabled else "waiting" if upcoming else ended,
        when=task.rule,
        kind=task.when.kind,
        zone=task.zone,
        member=task.member,
        thread_id=task.thread_id,
        deliver=task.deliver,
        catch_up=task.catch_up,
        upcoming=[timestamp(each) for each in upcoming],
        last=last,
        listed=listed,
    )


def tell_problem(file: TaskFile) -> dict[str, str] | None:
    """Return what is wrong with a file, by language."""
    return {each: tell_error(file.problem, each) for each in ("en", "zh")} if file.problem else None


def list_tasks(
    folder: TaskFolder, journal: JournalOccurrences, now: datetime | None = None
) -> list[TaskOverview]:
    """Return how every task stands, what comes next first; `journal` is one that only looks."""
    moment = now or datetime.now(UTC)
    records = journal.look()
    found = [describe_task(file, records.get(file.id), moment, 1) for file in folder.list()]
    return sorted(found, key=lambda each: (each.upcoming[:1] or ["~"], each.id))


def tell_reason(occurrence: Occurrence, language: str) -> str:
    """Return why an occurrence came to what it did, in a language; words of others stay as they are."""
    is_ours = occurrence.why in load_sayings(FOLDER, "en")
    return say(occurrence.why).tell(language) if is_ours else occurrence.why
