"""Try a command before anybody is asked: its changes go aside and are kept until the answer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import stat
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.exec.preview.effect import Effect, Effects, TooMuchError, refuse
from shipmate.tools.exec.preview.replica import Replica
from shipmate.tools.exec.preview.upper import open_left, read_upper
from shipmate.tools.exec.sandbox.removal import do_later
from shipmate.tools.exec.sandbox.room import name_folder
from shipmate.tools.file.change.changeset import MARK, PLAN, Change, Changeset, discard, hold
from shipmate.tools.file.change.rewind import Rewinds
from shipmate.tools.file.change.state import State, read_file
from shipmate.tools.file.diff import unified
from shipmate.tools.file.protection import find_rights
from shipmate.tools.output import point_at
from shipmate.tools.text import shorten
from shipmate.tools.tool import Picture, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.values.saying import fill, load_sayings
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

RESULT = "result.json"
ASIDE, UPPER, WORK, COPY = "aside", "upper", "work", "copy"
# A trial nobody answered goes when a question would have, at the latest after this time.
LONGEST_SECONDS = 8 * 24 * 3600

FOLDER = Path(__file__).parent / "words"
OUTPUT_LIMIT = 4_000
# A longer file is shown by its size and digest.
TEXT_LIMIT = 1_000_000
# Of what goes away, a long text is named without being shown.
REMOVED_LIMIT = 4_000
# More than a person reads; such a command is asked about by its words.
PICTURE_LIMIT = 1_000_000
# Modes that say nothing a person would want to know.
USUAL_MODES = {"file": (0o644, 0o664), "folder": (0o755, 0o775)}


def load_words(language: str) -> dict[str, str]:
    """Return this room's sayings in a language."""
    return load_sayings(FOLDER, language)


def say(language: str, key: str, **values: object) -> str:
    """Return a saying with its places filled."""
    return fill(load_words(language)[key], values)


class Painter:
    """Writes the picture of one trial."""

    def __init__(self, root: Path, language: str) -> None:
        self._root = root
        self._language = language

    def paint(self, command: str, note: str, printed: str, pointer: str, effects: Sequence[Effect]) -> str:
        """Return all that a person is shown; raise TooMuchError when it is more than can be."""
        done = [effect for effect in effects if not effect.refusal]
        output = shorten(printed, OUTPUT_LIMIT, pointer) if printed else ""
        pieces = [
            command,
            self._say("tried", note=note),
            f"{self._say('printed')}\n{output}" if output else self._say("silent"),
            "\n".join([self._say("effects", **count(done)), *map(self._line, done)]),
            self.name_refused(effects),
            *(self._diff(effect) for effect in done),
        ]
        text = reveal("\n\n".join(piece for piece in pieces if piece))
        if len(text) > PICTURE_LIMIT:
            raise TooMuchError(f"its effects take more than {PICTURE_LIMIT:,} characters to show")
        return text

    def name_refused(self, effects: Sequence[Effect]) -> str:
        """Name what will not be done; empty when all will."""
        refused = [effect for effect in effects if effect.refusal]
        lines = [
            self._say("refusal", path=effect.path, why=self._say(f"why-{effect.refusal}"))
            for effect in refused
        ]
        return reveal("\n".join([self._say("refused"), *lines])) if lines else ""

    def _line(self, effect: Effect) -> str:
        return self._say(sort_of(effect), path=effect.path, what=self._what(effect))

    def _what(self, effect: Effect) -> str:
        before, after = effect.before, effect.after
        shown = before if after.kind == "absent" else after
        words = self._describe(shown, effect)
        if before.kind == after.kind:
            if before.mode == after.mode:
                return words
            change = self._say("mode", before=f"{before.mode:o}", after=f"{after.mode:o}")
            is_all = before.digest == after.digest
            return change if is_all else f"{words}, {change}"
        is_usual = after.mode in USUAL_MODES.get(after.kind, (after.mode,))
        return words if is_usual else f"{words}, {after.mode:o}"

    def _describe(self, state: State, effect: Effect) -> str:
        if state.kind == "folder":
            return self._say("folder")
        if state.kind == "link":
            return self._say("link", target=state.digest)
        if self._new_text(effect) is None:
            return self._say("binary", size=f"{state.size:,}", digest=state.digest)
        return self._say("bytes", size=f"{state.size:,}")

    def _diff(self, effect: Effect) -> str:
        before, after = effect.before, effect.after
        if before.digest == after.digest or "file" not in (before.kind, after.kind):
            return ""
        if after.kind == "absent" and before.size > REMOVED_LIMIT:
            return ""
        old, new = self._old_text(effect), self._new_text(effect)
        return unified(effect.path, old, new).rstrip("\n") if old is not None and new is not None else ""

    def _old_text(self, effect: Effect) -> str | None:
        if effect.before.kind != "file":
            return ""
        data = read_file(self._root, effect.path, TEXT_LIMIT)
        return None if data is None else _decode(data)

    def _new_text(self, effect: Effect) -> str | None:
        if effect.after.kind != "file":
            return ""
        if effect.source is None or effect.after.size > TEXT_LIMIT:
            return None
        with open_left(effect.source) as handle, open(handle, "rb", closefd=False) as file:
            return _decode(file.read(TEXT_LIMIT))

    def _say(self, key: str, **values: object) -> str:
        return say(self._language, key, **values)


def sort_of(effect: Effect) -> str:
    """Return what happens to a path: added, changed or removed."""
    if effect.after.kind == "absent":
        return "removed"
    return "added" if effect.before.kind == "absent" else "changed"


def count(effects: Sequence[Effect]) -> dict[str, int]:
    """Count what is added, changed and removed."""
    sorts = [sort_of(effect) for effect in effects]
    return {sort: sorts.count(sort) for sort in ("added", "changed", "removed")}


def _decode(data: bytes) -> str | None:
    """Decode a text; None for what is none."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


class Aside(msgspec.Struct, frozen=True):
    """Where the changes of a trial go: an overlay's two folders, or a copy of the workspace."""

    upper: Path | None = None
    work: Path | None = None
    copy: Path | None = None


Run = Callable[[Aside], Awaitable[tuple[str, str]]]


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a trial beside its changes: the result a yes gives."""

    output: str
    counts: dict[str, int]


class Trials:
    """Tried commands of one workspace, each in a folder of its own until it is answered."""

    def __init__(self, layout: Layout, language: str = "en") -> None:
        self._layout = layout
        self._language = language

    async def run(
        self, command: str, context: ToolContext, start: Run, *, can_overlay: bool, place: Path | None = None
    ) -> Picture:
        """Try a command; the picture holds its result already when it has no effect.

        `start` runs it with its changes going aside, below `place` where an overlay works there, and returns
        how it ended and what it printed. Raises TooMuchError when it cannot be tried, or did more than can be
        shown.
        """
        folder = self._layout.trial(name_trial(context))
        aside_folder = place / name_folder() if place and can_overlay else folder / ASIDE
        try:
            aside, read = await asyncio.to_thread(
                self._prepare, folder, aside_folder, can_overlay=can_overlay
            )
            note, printed = await start(aside)
            return await asyncio.to_thread(self._settle, command, context, read, note, printed)
        except BaseException:
            await asyncio.to_thread(discard, folder)
            raise
        finally:
            if place is not None:
                do_later(partial(discard, aside_folder))

    def picture(self, expected: JsonObject) -> Picture:
        """Return the target of a kept trial, if what it would change still stands as it was shown."""
        changes = self._read(expected)
        if changes.changed_since():
            raise TargetChangedError
        return Picture(None, {"trial": expected["trial"], "changes": changes.digest})

    def apply(self, context: ToolContext) -> ToolResult:
        """Put the changes of an approved trial in place, all or none, and return its result."""
        expected = context.expected or {}
        with hold(self._layout):
            changes = self._read(expected)
            if changes.digest != expected.get("changes"):
                raise TargetChangedError
            kept = _read_kept(changes.folder)
            if project := _find_closed(context, changes.changes):
                raise ToolError(
                    f"{context.member.id} may only read in project {project} by now. Nothing was done."
                )
            if changed := changes.changed_since():
                raise TargetChangedError(f"changed since it was shown: {', '.join(changed)}")
            changes.secure()
            # Rewinding is a convenience: a full disk must not keep the changes from being made.
            with contextlib.suppress(OSError):
                Rewinds(self._layout).keep(context, "exec", changes.changes)
            left = changes.apply()
        notes = [say(self._language, "applied", **kept.counts)]
        if left:
            notes.append(say(self._language, "left-alone", paths=", ".join(left)))
        return ToolResult(output="\n".join([kept.output, *(f"[{note}]" for note in notes)]))

    def explain(self, error: ToolError) -> str:
        """Say why a command is asked about by its words."""
        return say(self._language, "too-much", why=str(error))

    def discard(self, target: JsonObject) -> None:
        """Forget a trial that was refused, or whose question is closed."""
        trial_id = target.get("trial")
        if isinstance(trial_id, str):
            with hold(self._layout):
                folder = self._layout.trial(trial_id)
                if not (folder / MARK).exists():
                    discard(folder)

    def sweep(self) -> None:
        """Forget trials so old that no question about them can be open."""
        for folder in self._layout.trials.glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > LONGEST_SECONDS and not (folder / MARK).exists():
                    discard(folder)

    def _prepare(
        self, folder: Path, aside: Path, *, can_overlay: bool
    ) -> tuple[Aside, Callable[[], Effects]]:
        """Make the place changes go to; return it, and how to read from it what was changed."""
        discard(folder)
        make_private(folder)
        make_private(aside)
        root = self._layout.root
        if not can_overlay:
            replica = Replica(root, aside / COPY)
            replica.make()
            return Aside(copy=replica.folder), replica.read
        upper, work = aside / UPPER, aside / WORK
        # The top of an overlay has the mode of its upper layer.
        upper.mkdir(mode=0o700)
        upper.chmod(stat.S_IMODE(root.stat().st_mode))
        work.mkdir(mode=0o700)
        return Aside(upper=upper, work=work), partial(read_upper, upper, root)

    def _settle(
        self, command: str, context: ToolContext, read: Callable[[], Effects], note: str, printed: str
    ) -> Picture:
        """Return the result of what had no effect; keep the effects of the rest, and show them."""
        found = refuse(read().found, self._layout.root, forbids=context.forbids)
        painter = Painter(self._layout.root, self._language)
        output = f"{printed}\n[{note}]" if printed else f"[{note}]"
        if refused := painter.name_refused(found):
            output += f"\n{refused}"
        done = [effect for effect in found if not effect.refusal]
        folder = self._layout.trial(name_trial(context))
        if not done:
            discard(folder)
            return Picture(None, result=ToolResult(output=output))
        text = painter.paint(command, note, printed, point_at(context), found)
        changes = self._keep(folder, done, output)
        discard(folder / ASIDE)
        return Picture(text, {"trial": folder.name, "changes": changes.digest})

    def _keep(self, folder: Path, effects: Sequence[Effect], output: str) -> Changeset:
        changes = Changeset(self._layout.root, folder)
        changes.changes = [_stage(changes, effect) for effect in effects]
        (folder / RESULT).write_bytes(msgspec.json.encode(Kept(output=output, counts=count(effects))))
        # Nobody waits for the disk before there is a yes: what a power cut takes until then is tried again.
        changes.write(is_final=False)
        return changes

    def _read(self, expected: JsonObject) -> Changeset:
        folder = self._layout.trial(str(expected.get("trial", "")))
        if not (folder / PLAN).is_file():
            # A trial is kept as long as its question; one that is gone is tried again.
            raise TargetChangedError
        with _or_anew():
            return Changeset.read(self._layout.root, folder)


def _find_closed(context: ToolContext, changes: Iterable[Change]) -> str | None:
    """Return a project that closed to the member after the command was tried."""
    rights = find_rights(context.layout)
    found = (rights.find_closed(context.member.id, [change.path.split("/")]) for change in changes)
    return next(filter(None, found), None)


def name_trial(context: ToolContext) -> str:
    """Name the trial of a call; the same call has the same one after a crash."""
    named = "\n".join((context.thread_id, context.run_id, context.call_id))
    return f"trl_{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _read_kept(folder: Path) -> Kept:
    with _or_anew():
        return msgspec.json.decode((folder / RESULT).read_bytes(), type=Kept)


@contextlib.contextmanager
def _or_anew() -> Generator[None]:
    """Let a trial be made again of which a power cut left no more than pieces."""
    try:
        yield
    except (OSError, msgspec.DecodeError) as error:
        raise TargetChangedError from error


def _stage(changes: Changeset, effect: Effect) -> Change:
    before, after = effect.before, effect.after
    if after.kind == "link":
        content, _ = changes.stage_link(after.digest)
        return Change(effect.path, before, after, content)
    if effect.source is None or (before.kind == "file" and before.digest == after.digest):
        return Change(effect.path, before, after)
    with open_left(effect.source) as handle:
        content, staged = changes.stage(handle, after.mode)
    if staged.digest != after.digest:
        raise ToolError("what the command left was changed while it was read")
    return Change(effect.path, before, after, content)
