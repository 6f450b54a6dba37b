"""Backups: archives with a time in their name, made by hand or by the keeper's clock, the oldest removed."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from shipmate.errors import ShipmateError
from shipmate.moving.archive.pack import pack
from shipmate.moving.archive.unpack import verify
from shipmate.moving.move_wording import say
from shipmate.schedule.when import When, read_when
from shipmate.values.message import timestamp
from shipmate.workspace.config import BackupSettings, Config
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

NAME = re.compile(r"shipmate-\d{8}T\d{6}Z\.tar\.gz")
# How late a backup may be before it counts as missed, and how often a failed one is tried again.
SLACK = timedelta(hours=1)
AGAIN = timedelta(minutes=10)
LOOK_SECONDS = 60.0
log = logging.getLogger(__name__)


class BackupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the last backup."""

    # The last that was made whole; empty when none was.
    made_at: str = ""
    file: str = ""
    # The last that was tried, and what stopped it.
    tried_at: str = ""
    problem: str = ""


def folder_of(layout: Layout, settings: BackupSettings) -> Path:
    """Return where the backups of a workspace lie."""
    return layout.root / Path(settings.folder).expanduser() if settings.folder else layout.backups


def list_backups(layout: Layout, settings: BackupSettings) -> list[Path]:
    """Return the backups there are, the newest first."""
    folder = folder_of(layout, settings)
    names = folder.iterdir() if folder.is_dir() else ()
    return sorted((path for path in names if NAME.fullmatch(path.name) and path.is_file()), reverse=True)


def make_backup(layout: Layout, settings: BackupSettings, now: datetime | None = None) -> Path:
    """Make a backup, read it back to its end, and remove those beyond the number that is kept."""
    at = (now or datetime.now(UTC)).astimezone(UTC)
    target = folder_of(layout, settings) / f"shipmate-{at:%Y%m%dT%H%M%SZ}.tar.gz"
    before = read_record(layout)
    try:
        with locked(DISK, layout.move_lock):
            pack(layout, target)
            verify(target)
    except ShipmateError as error:
        told = msgspec.structs.replace(before, tried_at=timestamp(at), problem=str(error))
        _keep_record(layout, told)
        raise
    for old in list_backups(layout, settings)[settings.keep :]:
        old.unlink(missing_ok=True)
    _keep_record(layout, BackupRecord(made_at=timestamp(at), file=target.name, tried_at=timestamp(at)))
    return target


def read_record(layout: Layout) -> BackupRecord:
    """Return what came of the last backup."""
    try:
        return msgspec.json.decode(layout.backup_record.read_bytes(), type=BackupRecord)
    except (OSError, ValueError, msgspec.MsgspecError):
        return BackupRecord()


def _keep_record(layout: Layout, record: BackupRecord) -> None:
    try:
        write_private(layout.backup_record, msgspec.json.encode(record))
    except OSError as error:
        log.warning("what came of the backup cannot be kept: %s", error.strerror)


def find_due(when: When, record: BackupRecord, now: datetime) -> datetime:
    """Return when the next backup is due; at once where there is none yet."""
    made = _read_moment(record.made_at)
    due = (when.after(made) if made else now) or now
    tried = _read_moment(record.tried_at) if record.problem else None
    return max(due, tried + AGAIN) if tried else due


def _read_moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def findings(layout: Layout, config: Config, now: datetime | None = None) -> list[Finding]:
    """Return how backups stand: made, missed or failed."""
    if not config.backup.when:
        return []
    try:
        when = read_when(config.backup.when, config.timezone)
    except ShipmateError as error:
        return [Finding("error", "backup", str(error), "mend backup.when in ship.json")]
    at, record = now or datetime.now(UTC), read_record(layout)
    fix = "let `shipmate serve` run, or make one with `shipmate backup`"
    if record.problem:
        return [Finding("error", "backup", f"the last one failed: {record.problem}", fix)]
    if not record.made_at:
        return [Finding("warn", "backup", "none was made yet", fix)]
    due = find_due(when, record, at)
    if due + SLACK < at:
        return [Finding("warn", "backup", f"the one due at {timestamp(due)} was missed", fix)]
    return [Finding("ok", "backup", f"the last one is {record.file}")]


Event = TypeVar("Event", contravariant=True)
Taken = TypeVar("Taken", covariant=True)


class _Timing(Protocol[Event, Taken]):
    """What the keeper has for its clock."""

    def begin(self) -> None: ...
    async def receive(self, event: Event) -> Taken: ...
    async def idle(self) -> None: ...
    async def close(self) -> None: ...


class BackupClock(_Timing[Event, Taken]):
    """The keeper's clock with backups beside the tasks."""

    def __init__(self, layout: Layout, settings: Callable[[], Config], tasks: _Timing[Event, Taken]) -> None:
        self._layout = layout
        self._settings = settings
        self._tasks = tasks
        self._job: asyncio.Task[None] | None = None
        self._rests = asyncio.Event()

    def begin(self) -> None:
        """Begin the tasks, and the backups where ship.json wants any."""
        self._tasks.begin()
        if self._settings().backup.when:
            self._job = asyncio.create_task(self._run())

    async def receive(self, event: Event) -> Taken:
        return await self._tasks.receive(event)

    async def idle(self) -> None:
        """Wait for the tasks, and for a backup that is due."""
        await self._tasks.idle()
        if self._job is not None:
            await self._rests.wait()

    async def close(self) -> None:
        """Stop; a backup that is being written is written to its end before the process goes."""
        if self._job is not None:
            self._job.cancel()
            await asyncio.gather(self._job, return_exceptions=True)
        await self._tasks.close()

    async def _run(self) -> None:
        while True:
            self._rests.clear()
            pause = await self._work()
            self._rests.set()
            await asyncio.sleep(pause)

    async def _work(self) -> float:
        """Make the backup that is due; return how long there is nothing to do."""
        config = self._settings()
        try:
            when = read_when(config.backup.when, config.timezone)
        except ShipmateError as error:
            log.warning("%s: %s", say("backup-failed"), error)
            return LOOK_SECONDS
        now = datetime.now(UTC)
        due = find_due(when, read_record(self._layout), now)
        if due <= now:
            try:
                await asyncio.to_thread(make_backup, self._layout, config.backup, now)
            except (ShipmateError, OSError) as error:
                log.warning("%s: %s", say("backup-failed"), error)
            return 1.0
        return min(LOOK_SECONDS, max(1.0, (due - now).total_seconds()))
