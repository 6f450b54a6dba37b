"""List tasks, what became of their times, and change, pause and begin them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate.schedule.occasion import make_hand_event
from shipmate.schedule.overview import TaskOverview, describe_task, list_tasks
from shipmate.schedule.schedule_wording import TaskError
from shipmate.schedule.task import SIZE_LIMIT, read_task
from shipmate.schedule.task_folder import TaskFile
from shipmate.server.port import Ship
from shipmate.server.revision import remove_document, write_document
from shipmate.server.shape import Answer, Json, Shape, Slot, empty, tells
from shipmate.server.site import TheShip
from shipmate.store.journal.occurrence import JournalOccurrences, Occurrence, TaskRecord
from shipmate.workspace.disk.earlier_text import version_of

router = APIRouter(tags=["tasks"])
TaskText = Annotated[str, StringConstraints(max_length=SIZE_LIMIT)]
# What is shown of a text that has no file yet.
UNNAMED = "new"


class TaskChange(Shape):
    """The new text of a task, and the version it was written against."""

    text: TaskText
    version: Annotated[str, StringConstraints(max_length=64)] | None = None


class TaskDraft(Shape):
    """A text that may become a task."""

    text: TaskText


class TaskList(Answer):
    """The tasks, what comes next first."""

    tasks: list[TaskOverview]


class TaskDetail(Answer):
    """A task with its file and what became of its times, newest first."""

    task: TaskOverview
    text: str
    version: str
    occurrences: list[Occurrence]


class TaskSaved(Answer):
    """A task that was written, and its new version."""

    task: TaskOverview
    version: str


class TaskBegun(Answer):
    """Where a task that was begun by hand is done."""

    thread_id: str
    message_id: str


@router.get("/api/tasks", openapi_extra=tells(TaskList))
async def read_tasks(ship: TheShip) -> Response:
    """List the tasks with their next times."""
    return Json(TaskList(tasks=await asyncio.to_thread(list_tasks, ship.tasks, _journal(ship))))


@router.post("/api/tasks/check", openapi_extra=tells(TaskOverview))
async def check_task(ship: TheShip, body: TaskDraft) -> Response:
    """Return how a text would stand as a task: its next times, or what is wrong with it."""
    return Json(describe_task(_read(ship, UNNAMED, body.text), None, datetime.now(UTC)))


@router.get("/api/tasks/{task_id}", openapi_extra=tells(TaskDetail))
async def read_one_task(ship: TheShip, task_id: str) -> Response:
    """Return one task with its file, and what became of its times."""
    file = ship.tasks.get(task_id)
    record = _record(ship, task_id)
    known = list(reversed(record.known.values())) if record is not None else []
    view = describe_task(file, record, datetime.now(UTC))
    version = version_of(file.text.encode())
    return Json(TaskDetail(task=view, text=file.text, version=version, occurrences=known))


@router.put("/api/tasks/{task_id}", openapi_extra=tells(TaskSaved))
async def write_one_task(ship: TheShip, task_id: str, body: TaskChange) -> Response:
    """Make a task or replace its file; one that cannot be read is refused."""
    folder = ship.tasks
    path, name = folder.path(task_id), folder.name_of(task_id)
    file = _read(ship, task_id, body.text)
    file.found()
    version = write_document(ship.layout, path, name, body.text, body.version)
    view = describe_task(file, _record(ship, task_id), datetime.now(UTC))
    return Json(TaskSaved(task=view, version=version))


@router.delete("/api/tasks/{task_id}", status_code=204)
async def delete_task(ship: TheShip, task_id: str, version: Slot) -> Response:
    """Take a task away; its text stays among its revisions, and what it did in its thread."""
    folder = ship.tasks
    remove_document(ship.layout, folder.path(task_id), folder.name_of(task_id), version)
    return empty()


@router.post("/api/tasks/{task_id}/run", status_code=202, openapi_extra=tells(TaskBegun))
async def begin_task(ship: TheShip, task_id: str) -> Response:
    """Begin a task now, whatever the clock says."""
    task = ship.tasks.get(task_id).found()
    event = make_hand_event(task, datetime.now(UTC), ship.config.language)
    await ship.keeper.receive(event)
    return Json(TaskBegun(thread_id=event.thread_id, message_id=event.message_id), 202)


@router.post("/api/tasks/{task_id}/pause", openapi_extra=tells(TaskOverview))
async def pause_task(ship: TheShip, task_id: str) -> Response:
    """Pause a task: the clock does not begin it."""
    return _switch(ship, task_id, on=False)


@router.post("/api/tasks/{task_id}/resume", openapi_extra=tells(TaskOverview))
async def resume_task(ship: TheShip, task_id: str) -> Response:
    """Let a task go on."""
    return _switch(ship, task_id, on=True)


def _switch(ship: Ship, task_id: str, *, on: bool) -> Response:
    folder = ship.tasks
    folder.switch(task_id, on=on)
    return Json(describe_task(folder.get(task_id), _record(ship, task_id), datetime.now(UTC)))


def _read(ship: Ship, task_id: str, text: str) -> TaskFile:
    """Return a text as the file of a task would be read."""
    path = ship.tasks.path(task_id)
    try:
        return TaskFile(task_id, path, text, task=read_task(task_id, text, ship.config.timezone))
    except TaskError as error:
        return TaskFile(task_id, path, text, problem=error)


def _journal(ship: Ship) -> JournalOccurrences:
    return JournalOccurrences(ship.layout, ship.home.papers)


def _record(ship: Ship, task_id: str) -> TaskRecord | None:
    return _journal(ship).look().get(task_id)
