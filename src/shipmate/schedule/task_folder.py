"""The files of all tasks, read once per change and watched cheaply however many they are."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from shipmate.errors import NotFoundError, UserError
from shipmate.schedule.schedule_wording import TaskError, refuse, say
from shipmate.schedule.task import SIZE_LIMIT, TASK_ID, Task, check_id, make_slug, read_task, switch
from shipmate.store.journal.grant import TICK_NANOSECONDS
from shipmate.workspace.disk.disk import (
    DISK,
    Disk,
    create_file,
    names_in,
    read_from,
    refusals,
    remove_file,
    replace_file,
    stat_of,
)
from shipmate.workspace.disk.disk import opened as opened_file
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

SUFFIX = ".md"
Stamp: TypeAlias = tuple[int, int, int]
# So ShipMyAgent calls the file of a task that has a folder.
INNER = "task.md"
# How many files are looked at at once when nothing says that any changed.
AT_ONCE = 100


class TaskFile(msgspec.Struct, frozen=True):
    """One file as it was read: the task, or why there is none."""

    id: str
    path: Path
    text: str = ""
    modified: datetime = datetime.fromtimestamp(0, UTC)
    task: Task | None = None
    problem: TaskError | None = None

    def found(self) -> Task:
        """Return the task; raise what is wrong with its file."""
        if self.task is None:
            raise self.problem or _missing(self.id)
        return self.task


class TaskFolder:
    """The tasks of one workspace; several processes may write them, and people with an editor."""

    def __init__(self, layout: Layout, zone: str = "", disk: Disk = DISK) -> None:
        self._layout = layout
        self._zone = zone
        self._disk = disk
        # What `list` read of each file, without its text.
        self._glanced: dict[str, tuple[Stamp, TaskFile]] = {}
        self._paths: dict[str, Path] = {}
        self._stamps: dict[str, Stamp] = {}
        self._folder_time = -1
        # Whose turn it is to be looked at.
        self._round: deque[str] = deque()

    def list(self) -> list[TaskFile]:
        """Read every task, in the order of their ids; one that cannot be read says why."""
        found = self._find()
        self._glanced = {task_id: each for task_id, each in self._glanced.items() if task_id in found}
        return [file for task_id in sorted(found) if (file := self._glance(task_id, found[task_id]))]

    def _glance(self, task_id: str, path: Path) -> TaskFile | None:
        """Return a file as it was read last, while it has not changed; None when it is gone meanwhile."""
        stamp = self._stamp(path)
        known = self._glanced.get(task_id)
        if stamp is None:
            return None
        if known is not None and known[0] == stamp:
            return known[1]
        try:
            file = replace(self.get(task_id), text="")
        except NotFoundError:
            return None
        self._glanced[task_id] = (stamp, file)
        return file

    def targets(self, source: str) -> Sequence[str]:
        """Return where else the answer to a task goes, by what its file says now."""
        try:
            return self.get(source.partition(":")[2]).found().deliver
        except UserError:
            return ()

    def get(self, task_id: str) -> TaskFile:
        """Read one task; raise when there is none."""
        path = self.path(task_id)
        try:
            # A pipe that stands there would let everybody wait for a writer.
            with opened_file(self._disk, path, os.O_RDONLY | os.O_NONBLOCK) as handle:
                status = self._disk.fstat(handle)
                data = read_from(self._disk, handle) if status.st_size <= SIZE_LIMIT else b""
        except FileNotFoundError:
            raise _missing(task_id) from None
        except OSError as error:
            # One file that cannot be read disturbs no other.
            return TaskFile(task_id, path, problem=refuse("unreadable", why=error.strerror or str(error)))
        modified = datetime.fromtimestamp(status.st_mtime, UTC)
        text = data.decode(errors="replace")
        try:
            if status.st_size > SIZE_LIMIT:
                raise refuse("too-large")
            return TaskFile(task_id, path, text, modified, read_task(task_id, _decode(data), self._zone))
        except TaskError as error:
            return TaskFile(task_id, path, text, modified, problem=error)

    def path(self, task_id: str) -> Path:
        """Return where a task lies, or would."""
        plain = self._layout.tasks / f"{check_id(task_id)}{SUFFIX}"
        inner = self._layout.tasks / task_id / INNER
        has_inner = stat_of(self._disk, plain) is None and stat_of(self._disk, inner) is not None
        return inner if has_inner else plain

    def name_of(self, task_id: str) -> str:
        """Return how a task's file is named to people."""
        return self._layout.name_of(self.path(task_id))

    def add(self, task_id: str, text: str) -> Task:
        """Put a new task on disk, once it can be read."""
        task = read_task(check_id(task_id), text, self._zone)
        path = self.path(task_id)
        try:
            with refusals(path, self._layout.root):
                create_file(self._disk, path, text.encode())
        except FileExistsError:
            raise refuse("has-task", id=task_id) from None
        return task

    def switch(self, task_id: str, *, on: bool) -> Task:
        """Pause a task or let it go on; raise when its file cannot be read."""
        known = self.get(task_id)
        known.found()
        text = switch(known.text, on=on)
        task = read_task(task_id, text, self._zone)
        with refusals(known.path, self._layout.root):
            if text != known.text:
                replace_file(self._disk, known.path, text.encode())
        return task

    def remove(self, task_id: str) -> None:
        """Take a task's file away."""
        path = self.path(task_id)
        with refusals(path, self._layout.root):
            if not remove_file(self._disk, path):
                raise _missing(task_id)

    def free_id(self, title: str) -> str:
        """Return an id made from a title that no task has."""
        slug, number = make_slug(title), 1
        while stat_of(self._disk, self.path(slug if number == 1 else f"{slug}-{number}")) is not None:
            number += 1
        return slug if number == 1 else f"{slug}-{number}"

    def changes(self) -> set[str]:
        """Return the ids of tasks that came, went, or were written since the last call.

        A new name or a replaced file shows at once, by the time of the folder. What an editor writes in place
        shows when its turn comes: a few are looked at each time.
        """
        status = stat_of(self._disk, self._layout.tasks)
        changed = status.st_mtime_ns if status is not None else 0
        found: set[str] = set()
        if changed != self._folder_time:
            is_settled = time.time_ns() - changed > TICK_NANOSECONDS
            self._folder_time = changed if is_settled else -1
            before, self._paths = set(self._paths), self._find()
            found = before ^ set(self._paths)
            self._round = deque(self._paths)
        for task_id in found:
            self.is_changed(task_id)
        for _ in range(min(AT_ONCE, len(self._round))):
            self._round.rotate(-1)
            if self._round[-1] not in found and self.is_changed(self._round[-1]):
                found.add(self._round[-1])
        return found

    def is_changed(self, task_id: str) -> bool:
        """Return whether a file is another than when this was asked last; one that is gone is."""
        path = self._paths.get(task_id)
        stamp = self._stamp(path) if path is not None else None
        if stamp == self._stamps.get(task_id):
            return False
        if stamp is None:
            self._stamps.pop(task_id, None)
        else:
            self._stamps[task_id] = stamp
        return True

    def _stamp(self, path: Path) -> Stamp | None:
        status = stat_of(self._disk, path)
        return None if status is None else (status.st_ino, status.st_mtime_ns, status.st_size)

    def findings(self) -> list[Finding]:
        """Name the tasks that cannot be read."""
        files = self.list()
        broken = [
            Finding("error", self._layout.name_of(each.path), each.problem.args[0], "the other tasks go on")
            for each in files
            if each.problem is not None
        ]
        known = {file.path.name for file in files}
        names = names_in(self._disk, self._layout.tasks)
        strays = [each for each in names if each.endswith(SUFFIX) and each not in known and each[0] != "."]
        named = [
            Finding(
                "warn",
                self._layout.name_of(self._layout.tasks / name),
                "is no task, and is not used",
                "give it a name of letters, digits, - and _ that ends in .md",
            )
            for name in strays
        ]
        if not files and not named:
            return []
        return [Finding("ok", "tasks", f"{len(files) - len(broken)} can be read"), *broken, *named]

    def _find(self) -> dict[str, Path]:
        """Return the files by their ids: each name that is an id, and each folder that has a task in it."""
        paths: dict[str, Path] = {}
        for name in names_in(self._disk, self._layout.tasks):
            if name.endswith(SUFFIX) and TASK_ID.fullmatch(name.removesuffix(SUFFIX)):
                paths[name.removesuffix(SUFFIX)] = self._layout.tasks / name
            elif TASK_ID.fullmatch(name) and name not in paths:
                inner = self._layout.tasks / name / INNER
                if stat_of(self._disk, inner) is not None:
                    paths[name] = inner
        return paths


def _missing(task_id: str) -> NotFoundError:
    return NotFoundError(say("no-task", id=task_id))


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise refuse("not-text") from None
