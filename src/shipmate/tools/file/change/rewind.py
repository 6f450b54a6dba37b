"""Keep what files held before a run changed them, and put it back while nobody has changed them since."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from shipmate.errors import NotFoundError, RewindError, ToolError
from shipmate.tools.file.change.changeset import Change, Changeset, discard, hold
from shipmate.tools.file.change.replace import NEW_FILE_MODE
from shipmate.tools.file.change.state import ABSENT, CHUNK, State, look, look_at, open_at
from shipmate.tools.file.confine import Place
from shipmate.tools.tool import ToolContext
from shipmate.values.message import timestamp
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

RECORD = "record.json"
OLD = "old"
# A larger file is not kept, so a run that changed one cannot be rewound.
FILE_LIMIT = 20_000_000
TOTAL_LIMIT = 500_000_000
DAYS = 30
RUNS_LISTED = 5


class ChangeRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one call changed; `content` of a change names the copy of what was there before."""

    at: str
    thread_id: str
    run_id: str
    tool: str
    changes: list[Change]
    # A rewinding takes the place of all that the run had changed before.
    replaces: bool = False
    # Whether with it the files are as they were before the run; rewinding once more takes that back.
    is_rewound: bool = False


class RunFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file that a run changed: what rewinding does to it, and what stands in the way."""

    path: str
    change: Literal["added", "changed", "removed"]
    obstacle: Literal["", "changed-since", "not-kept"] = ""


class RunChanges(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The files a run changed."""

    run_id: str
    thread_id: str
    at: str
    # What changed them, in order: tools, or `rewind`.
    tools: list[str]
    files: list[RunFile]
    # Whether they were put back, so that rewinding makes the run's changes again.
    is_rewound: bool
    can_rewind: bool


class Rewinds:
    """The before-images of one workspace, by run."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def keep(self, context: ToolContext, tool: str, changes: Iterable[Change]) -> None:
        """Copy what the files of a coming change hold now."""
        self._store(
            ChangeRecord(
                at=timestamp(),
                thread_id=context.thread_id,
                run_id=context.run_id,
                tool=tool,
                changes=list(changes),
            )
        )

    def of_thread(self, thread_id: str, limit: int = RUNS_LISTED) -> list[RunChanges]:
        """List the runs of a thread that changed files, the newest first."""
        folders = sorted(self._layout.rewinds.glob("*"), key=_age)
        found: list[RunChanges] = []
        for folder in folders:
            records = _read(folder)
            if records and records[-1].thread_id == thread_id:
                found.append(self._describe(records))
            if len(found) == limit:
                break
        return found

    def of_run(self, run_id: str) -> RunChanges:
        """Return the files a run changed."""
        return self._describe(self._records(run_id))

    def rewind(self, run_id: str) -> RunChanges:
        """Put back what a run's files held before it, all or none; rewinding again takes it back."""
        with hold(self._layout):
            records = self._records(run_id)
            found = self._describe(records)
            if obstacles := [file.path for file in found.files if file.obstacle]:
                named = ", ".join(obstacles)
                raise RewindError(
                    f"{named} changed since that run, or no copy was kept. Nothing was put back."
                )
            self._restore(run_id, records)
        return found

    def _restore(self, run_id: str, records: Sequence[ChangeRecord]) -> None:
        folder = self._layout.trial(f"rewind-{run_id}")
        discard(folder)
        changes = Changeset(self._layout.root, folder)
        changes.changes = [self._back(changes, run_id, net) for net in _net(records)]
        changes.changes = [change for change in changes.changes if not change.before.matches(change.after)]
        if not changes.changes:
            return
        changes.write()
        last = records[-1]
        record = ChangeRecord(
            at=timestamp(),
            thread_id=last.thread_id,
            run_id=run_id,
            tool="rewind",
            changes=changes.changes,
            replaces=True,
            is_rewound=not last.is_rewound,
        )
        kept = self._store(record, is_pending=True)
        try:
            changes.apply()
        except ToolError as error:
            discard(kept)
            discard(folder)
            raise RewindError(f"Nothing was put back: {error}") from error
        kept.rename(kept.with_name(kept.name.removeprefix(".")))

    def _back(self, changes: Changeset, run_id: str, net: Change) -> Change:
        """Turn a change round."""
        content = ""
        if net.before.kind == "file" and net.content:
            with (self._layout.rewind(run_id) / net.content).open("rb") as old:
                content, staged = changes.stage(old.fileno(), net.before.mode, keep_time=False)
            if staged.digest != net.before.digest:
                discard(changes.folder)
                raise RewindError(f"the copy kept of {net.path} is damaged. Nothing was put back.")
        elif net.before.kind == "link":
            content, _ = changes.stage_link(net.before.digest)
        return Change(net.path, self._now(net), net.before, content)

    def _describe(self, records: Sequence[ChangeRecord]) -> RunChanges:
        last = records[-1]
        files = [self._judge(net) for net in _net(records)]
        return RunChanges(
            run_id=last.run_id,
            thread_id=last.thread_id,
            at=last.at,
            tools=list(dict.fromkeys(record.tool for record in records)),
            files=files,
            is_rewound=last.is_rewound,
            can_rewind=bool(files) and not any(file.obstacle for file in files),
        )

    def _judge(self, net: Change) -> RunFile:
        gone, come = net.after.kind == "absent", net.before.kind == "absent"
        kind = "added" if come else "removed" if gone else "changed"
        now = self._now(net)
        if not (now.matches(net.after) or now.matches(net.before)):
            return RunFile(net.path, kind, "changed-since")
        is_kept = net.before.kind != "file" or bool(net.content) or net.before.digest == net.after.digest
        return RunFile(net.path, kind, "" if is_kept else "not-kept")

    def _now(self, net: Change) -> State:
        """Return how a path stands; below what is no folder any more there is nothing."""
        now = look(self._layout.root, net.path)
        is_gone = now.kind == "unreachable" and net.after.kind == "absent"
        return ABSENT if is_gone else now

    def _records(self, run_id: str) -> list[ChangeRecord]:
        records = _read(self._layout.rewind(run_id))
        if not records:
            raise NotFoundError(f"{run_id} changed no files, or they are no longer kept.")
        return records

    def _store(self, record: ChangeRecord, *, is_pending: bool = False) -> Path:
        """Copy before-images and write the record that names them; a pending one does not count yet."""
        run = self._layout.rewind(record.run_id)
        if not run.is_dir():
            self._sweep()
        number = sum(1 for _ in run.glob("*")) + 1 if run.is_dir() else 1
        folder = make_private(run / f"{'.' if is_pending else ''}{number:06}")
        make_private(folder / OLD)
        kept = [
            msgspec.structs.replace(change, content=self._copy(change, folder, f"{number:06}/{OLD}/{place}"))
            for place, change in enumerate(record.changes)
            if change.has_effect
        ]
        # The record comes last: without it what was copied counts for nothing.
        (folder / RECORD).write_bytes(msgspec.json.encode(msgspec.structs.replace(record, changes=kept)))
        return folder

    def _copy(self, change: Change, folder: Path, name: str) -> str:
        """Copy what a file holds; an empty name says that it could not be kept."""
        if change.before.kind != "file" or change.before.size > FILE_LIMIT:
            return ""
        try:
            copy = folder / OLD / Path(name).name
            with open_at(self._layout.root, change.path) as old, copy.open("xb") as new:
                while piece := os.read(old, CHUNK):
                    new.write(piece)
        except OSError:
            return ""
        return name

    def _sweep(self) -> None:
        """Forget the oldest runs past the limits of age and size."""
        room = TOTAL_LIMIT
        for folder in sorted(self._layout.rewinds.glob("*"), key=_age):
            room -= sum(path.stat().st_size for path in folder.glob(f"*/{OLD}/*"))
            if room < 0 or _age(folder) > DAYS * 24 * 3600:
                discard(folder)


def keep_before(context: ToolContext, tool: str, place: Place, data: bytes) -> None:
    """Keep what a file holds that a tool is about to replace with `data`."""
    before = look_at(place.folder, place.name)
    mode = before.mode & 0o777 if before.kind == "file" else NEW_FILE_MODE
    after = State("file", mode, len(data), hashlib.sha256(data).hexdigest())
    # Rewinding is a convenience: a full disk must not keep the tool from its work.
    with contextlib.suppress(OSError):
        Rewinds(context.layout).keep(context, tool, [Change(place.path, before, after)])


def _read(folder: Path) -> list[ChangeRecord]:
    """Read the records of a run that count, oldest first."""
    names = sorted(path for path in folder.glob(f"[0-9]*/{RECORD}"))
    records = [msgspec.json.decode(path.read_bytes(), type=ChangeRecord) for path in names]
    last = max((place for place, record in enumerate(records) if record.replaces), default=0)
    return records[last:]


def _net(records: Sequence[ChangeRecord]) -> list[Change]:
    """Sum up what a run changed, path by path."""
    net: dict[str, Change] = {}
    for record in records:
        for change in record.changes:
            known = net.get(change.path)
            if known is None or known.before.matches(change.before):
                # Equal to what it was before: an earlier record whose change never happened, or was undone.
                net[change.path] = change
            elif known.after.matches(change.before):
                net[change.path] = Change(change.path, known.before, change.after, known.content)
            else:
                # Somebody changed it in between: no state of it is this run's alone.
                net[change.path] = Change(change.path, known.before, State("unreachable"))
    return [change for change in net.values() if change.has_effect]


def _age(folder: Path) -> float:
    return time.time() - folder.stat().st_mtime
