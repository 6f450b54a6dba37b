"""Find a way to confine commands on this machine, and prove that it confines."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from shipmate.errors import ToolError
from shipmate.tools.exec.sandbox import jail, placeholder
from shipmate.tools.exec.sandbox.bubblewrap import find_bubblewraps
from shipmate.tools.exec.sandbox.journal import Journal
from shipmate.tools.exec.sandbox.landlock import FIRST_VERSION, Landlock, watched
from shipmate.tools.exec.sandbox.limit import Limiter, Limits, find_limiter
from shipmate.tools.exec.sandbox.locked import LockedTree
from shipmate.tools.exec.sandbox.removal import remove_later
from shipmate.tools.exec.sandbox.repository import read_guarded
from shipmate.tools.exec.sandbox.room import (
    Overlay,
    Room,
    choose_aside,
    choose_place,
    make_room,
    sweep_rooms,
)
from shipmate.tools.exec.sandbox.seatbelt import find_seatbelts
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

# A machine with much to do takes its time; a confinement that is given up here is asked for no more.
PROBE_SECONDS = 30
# Given a file it may make, one it must not read and one it must not make; says `held` when all three hold.
PROBE = 'echo yes >"$1" || exit 1; cat "$2" && exit 2; (echo no >"$3"); echo held'


class Confinement(Protocol):
    """One way to confine commands."""

    @property
    def level(self) -> str: ...

    @property
    def limits(self) -> str:
        """Say what works differently for commands, empty when nothing does."""
        ...

    @property
    def kill_signal(self) -> signal.Signals:
        """Return the signal on which the started process ends at once, and all of the command with it."""
        ...

    def describe(self) -> str: ...

    def wrap(self, command: Sequence[str], room: Room) -> list[str]: ...


class Unconfined:
    """No confinement at all; still nothing outlives the command."""

    level = "none"
    limits = ""
    kill_signal = jail.END_SIGNAL if sys.platform == "linux" else signal.SIGKILL

    def describe(self) -> str:
        return "none: commands run unconfined, so every command asks first"

    def wrap(self, command: Sequence[str], room: Room) -> list[str]:
        return watched(command) if _is_linux() else list(command)


class Sandbox:
    """The strongest confinement that works here; it is tried once, when first asked for."""

    def __init__(
        self, layout: Layout, candidates: Sequence[Confinement] | None = None, limits: Limits | None = None
    ) -> None:
        self._layout = layout
        self._tree = LockedTree(layout.root)
        self._candidates = candidates
        self._limits = limits or Limits()
        # What was locked when each open room's command began.
        self._journal = Journal(layout, self._tree)

    @property
    def works(self) -> bool:
        """Return whether commands are confined and bounded; where they are not, every command must ask."""
        return self._confinement.level != "none" and self._limiter[1]

    @property
    def level(self) -> str:
        return self._confinement.level

    @property
    def kill_signal(self) -> signal.Signals:
        return self._confinement.kill_signal

    @property
    def can_overlay(self) -> bool:
        """Return whether a command can be tried with its writes going elsewhere."""
        return self._overlaying is not None

    @property
    def aside(self) -> Path | None:
        """Return where the writes of a trial go: a place on disk where nobody else looks for files."""
        return self._overlaying[1] if self._overlaying else None

    def describe(self) -> str:
        """Say in a few words what confines commands."""
        return self._confinement.describe()

    def open_room(
        self,
        *,
        network: bool = False,
        writes_repository: bool = False,
        shows_received: bool = True,
        closed: tuple[str, ...] = (),
        is_read_only: bool = False,
        shown: tuple[Path, ...] = (),
        shared: tuple[Path, ...] = (),
        overlay: Overlay | None = None,
        stand_in: Path | None = None,
    ) -> Room:
        """Make the room of one command; `close_room` must follow."""
        return make_room(
            self._place,
            network=network,
            writes_repository=writes_repository,
            shows_received=shows_received,
            closed=closed,
            is_read_only=is_read_only,
            shown=shown,
            shared=shared,
            overlay=overlay,
            stand_in=stand_in,
        )

    def wrap(self, command: Sequence[str], room: Room) -> list[str]:
        """Return the command line to start instead of a command."""
        self._prepare()
        confinement = self._confinement
        if room.overlay is not None:
            if self._overlaying is None:
                raise ToolError("No sandbox that can keep writes apart works here. Nothing ran.")
            confinement = self._overlaying[0]
        if confinement.level != "none" and not room.is_trial:
            # No command may make Shipmate's configuration.
            placeholder.hold(self._layout, room.name)
        wrapped = confinement.wrap(command, room)
        if not room.is_trial:
            # Each confinement offered here has just looked.
            if self._candidates is not None or confinement.level == "none":
                self._tree.look()
            if str(self._layout.root) in self._tree.closed:
                raise ToolError("The workspace's folder cannot be listed, so nothing in it can be protected.")
            is_open = room.writes_repository and confinement.level == "landlock"
            contents = read_guarded(self._layout.root / ".git") if is_open else None
            self._journal.begin(room.name, writes_repository=room.writes_repository, contents=contents)
        return self._limiter[0].wrap(wrapped, room.name)

    def end_room(self, room: Room, code: int | None = None) -> str | None:
        """End what is left of a command that ended with a code, and say which limit it ran into."""
        hit = self._limiter[0].end(room.name, code)
        return self._limits.explain(hit) if hit else None

    def close_room(self, room: Room) -> None:
        """End what is left of a command, and take its room away."""
        self._limiter[0].end(room.name, None)
        self._journal.end(room.name)
        placeholder.release(self._layout, room.name)
        remove_later(room.folder)

    def refuse_new(self, room: Room, call_id: str, made: Path | None = None) -> list[str]:
        """Take away what the room's command made and may not make; return a line for each."""
        return self._journal.refuse(room.name, call_id, made)

    def recover(self) -> list[str]:
        """Take away what commands of a process that was killed made and may not make."""
        lines = self._journal.recover()
        placeholder.recover(self._layout)
        return lines

    def findings(self) -> list[Finding]:
        """Tell `doctor` how commands are confined."""
        return [self._finding(), *self._missing()]

    def _finding(self) -> Finding:
        found = self._confinement
        if found.level == "none":
            fix = "Install bubblewrap, or the extra: pip install 'shipmate[sandbox]'." if _is_linux() else ""
            return Finding("warn", "sandbox", "no sandbox works here, so every command asks first", fix)
        if not self._limiter[1]:
            message = f"{found.describe()}: processes cannot be limited here, so every command asks first"
            fix = "Run Shipmate as an ordinary user, or let it write its control group."
            return Finding("warn", "sandbox", message, fix)
        described = f"{found.describe()}, limits by {self._limiter[0].describe()}"
        if found.limits:
            fix = "Allow user namespaces and install bubblewrap for a full sandbox."
            return Finding("warn", "sandbox", f"{described}: {found.limits}", fix)
        return Finding("ok", "sandbox", described)

    def _missing(self) -> list[Finding]:
        # Where no sandbox works nothing is tried at all.
        if self.can_overlay or not self.works or not _is_linux():
            return []
        message = "no bubblewrap here has --overlay, so preview mode tries commands in a copy"
        return [Finding("warn", "preview", message, "Install the extra: pip install 'shipmate[sandbox]'.")]

    @cached_property
    def _confinement(self) -> Confinement:
        self._prepare()
        return next((each for each in self._offered if holds(each, self._layout)), Unconfined())

    @cached_property
    def _overlaying(self) -> tuple[Confinement, Path] | None:
        """Return what can lay an overlay, and where what is written to it goes."""
        self._prepare()
        able = [each for each in self._offered if each.level == "bubblewrap"]
        # Not every file system can take the writes; that of the workspace is looked at last.
        for place in (*choose_aside(self._layout.root), self._layout.ship):
            for each in able:
                if overlays(each, self._layout, place):
                    sweep_rooms(place)
                    return each, place
        return None

    @cached_property
    def _offered(self) -> Sequence[Confinement]:
        if self._candidates is None:
            return list_confinements(self._layout, self._tree)
        return self._candidates

    @cached_property
    def _limiter(self) -> tuple[Limiter, bool]:
        return find_limiter(self._limits)

    @cached_property
    def _place(self) -> Path:
        """Return where rooms are made, cleared of what was left there."""
        place = choose_place(self._layout.root)
        sweep_rooms(place)
        return place

    def _prepare(self) -> None:
        """Make the folder that is opened to commands, so that it exists when the rest is covered."""
        make_private(self._layout.scratch)


def list_confinements(layout: Layout, tree: LockedTree | None = None) -> list[Confinement]:
    """List what could confine commands here, strongest first."""
    if not _is_linux():
        return [*find_seatbelts(layout, tree)]
    landlocks = [Landlock(layout, tree)] if jail.landlock_version() >= FIRST_VERSION else []
    return [*find_bubblewraps(layout, tree), *landlocks]


def holds(confinement: Confinement, layout: Layout) -> bool:
    """Run a command confined and see whether it could do what it must and nothing more."""
    name = f"probe-{secrets.token_hex(6)}"
    allowed, hidden = layout.scratch / name, layout.ship / name
    with tempfile.TemporaryDirectory() as folder:
        outside = Path(folder) / name
        hidden.write_text("hidden")
        try:
            room = _probe_room(Path(folder))
            words = ["sh", "-c", PROBE, "sh", str(allowed), str(hidden), str(outside)]
            printed = _try(confinement, words, room)
            return printed == "held\n" and allowed.is_file() and not outside.exists()
        finally:
            hidden.unlink(missing_ok=True)
            allowed.unlink(missing_ok=True)


def overlays(confinement: Confinement, layout: Layout, place: Path) -> bool:
    """Run a command over an overlay and see whether its write went to a place and nowhere else."""
    name = f"probe-{secrets.token_hex(6)}"
    with tempfile.TemporaryDirectory(dir=place) as folder:
        overlay = Overlay(upper=Path(folder) / "upper", work=Path(folder) / "work")
        overlay.upper.mkdir()
        overlay.work.mkdir()
        with tempfile.TemporaryDirectory() as room_folder:
            room = _probe_room(Path(room_folder), overlay)
            words = ["sh", "-c", 'echo yes >"$1" && cat "$1"', "sh", str(layout.root / name)]
            printed = _try(confinement, words, room)
        went_there = (overlay.upper / name).is_file()
        went_through = (layout.root / name).exists()
        (layout.root / name).unlink(missing_ok=True)
        return printed == "yes\n" and went_there and not went_through


def _probe_room(folder: Path, overlay: Overlay | None = None) -> Room:
    room = Room(home=folder / "home", overlay=overlay)
    room.home.mkdir()
    room.temporary.mkdir()
    return room


def _try(confinement: Confinement, command: Sequence[str], room: Room) -> str:
    wrapped = confinement.wrap(command, room)
    try:
        done = subprocess.run(
            wrapped,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _is_linux() -> bool:
    return sys.platform == "linux"
