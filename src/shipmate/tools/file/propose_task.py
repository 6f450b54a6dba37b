"""Propose a task: work that is done by the clock, once a person has seen the file and agreed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.target import check_target
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.values.saying import tell
from shipmate.workspace.layout import CAPTAIN

if TYPE_CHECKING:
    from shipmate.schedule.task import Task
    from shipmate.schedule.task_folder import TaskFolder

SHOWN = 3


class ProposeTaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    when: str
    prompt: str


class ProposeTask(Tool[ProposeTaskArguments]):
    """The tool that makes a task in the thread it is called in."""

    name = "propose_task"
    description = (
        "Schedule work; a person agrees first."
        " when: cron line, `every 2h`, `time:2026-12-24T18:00`, `heartbeat`."
    )
    arguments = ProposeTaskArguments
    # What it writes begins runs nobody asks for: it acts, whatever stands in it.
    labels = Labels(acts=True)

    async def picture(self, arguments: ProposeTaskArguments, context: ToolContext) -> Picture:
        # Every member has the tool and few ever propose anything: what it needs is loaded then.
        from shipmate.schedule.schedule_wording import say

        folder, task, text = _make(arguments, context)
        head = say("proposed", path=folder.name_of(task.id))
        pieces = [tell(each, context.member.config.language) for each in (head, text.rstrip(), _times(task))]
        return Picture(reveal("\n\n".join(pieces)), _target(folder, task))

    async def run(self, arguments: ProposeTaskArguments, context: ToolContext) -> ToolResult:
        from shipmate.schedule.schedule_wording import TaskError

        folder, task, text = _make(arguments, context)
        check_target(context, _target(folder, task))
        try:
            folder.add(task.id, text)
        except TaskError as error:
            raise ToolError(f"{error}. Nothing was written.") from error
        return ToolResult(output=f"Made: {folder.name_of(task.id)}. {_times(task)}")


def _make(arguments: ProposeTaskArguments, context: ToolContext) -> tuple[TaskFolder, Task, str]:
    """Return the task as it would be written; raise for one that could not be read back."""
    from shipmate.schedule.schedule_wording import TaskError
    from shipmate.schedule.task import read_task, write_task
    from shipmate.schedule.task_folder import TaskFolder

    zone = context.member.config.timezone
    folder = TaskFolder(context.layout, zone)
    text = write_task(
        title=" ".join(clean(arguments.title).split()),
        when=clean(arguments.when),
        prompt=clean(arguments.prompt),
        member="" if context.member.id == CAPTAIN else context.member.id,
        thread=context.thread_id,
    )
    try:
        return folder, read_task(folder.free_id(arguments.title), text, zone), text
    except TaskError as error:
        raise ToolError(f"{error}. Nothing was written.") from error


def _target(folder: TaskFolder, task: Task) -> JsonObject:
    return {"path": str(folder.path(task.id)), "state": "absent"}


def _times(task: Task) -> str:
    from shipmate.schedule.occasion import show
    from shipmate.schedule.schedule_wording import say

    found = task.when.upcoming(datetime.now(UTC), SHOWN)
    times = ", ".join(show(each, task.zone) for each in found)
    return say("proposed-times", times=times) if times else say("proposed-none")
