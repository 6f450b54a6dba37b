"""The room one command runs in: its own empty home, and what it may reach from there."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from pathlib import Path

import msgspec

# The process that made a room stands in its name, so that others can see whether it is still needed.
ROOM_PREFIX = "shipmate-"
# What of `.ship` commands may read, and what of that strangers may have written.
READABLE_OF_SHIP = ("memory", "uploads", "logs/calls")
RECEIVED_OF_SHIP = ("uploads", "logs/calls")


def asks_for_state(command: str) -> bool:
    """Return whether a command names `.ship`, where strangers' words lie; only then it is shown them."""
    return ".ship" in command.casefold()


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """Where the writes of a trial go instead of the workspace; both folders lie on one file system."""

    upper: Path
    work: Path


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What one command gets; it is made by `Sandbox.open_room` and ended by `Sandbox.close_room`."""

    # Fresh and empty. It lies in a folder of its own, outside the workspace, which goes with the command.
    home: Path
    network: bool = False
    # The command is git itself, run without a shell: it may write the repository, but no hook and no setting.
    writes_repository: bool = False
    # Whether it is shown what strangers sent and what members put aside, in `.ship`.
    shows_received: bool = True
    # Folders of the workspace that this command may only read.
    closed: tuple[str, ...] = ()
    # The whole workspace may only be read.
    is_read_only: bool = False
    # Places outside the workspace that this command may read, and those it may write, where they exist.
    shown: tuple[Path, ...] = ()
    shared: tuple[Path, ...] = ()
    overlay: Overlay | None = None
    # A copy that a trial changes in the workspace's place, where no overlay works.
    stand_in: Path | None = None

    @property
    def holds_program(self) -> bool:
        """Return whether a program of others runs here, which confines its own commands once more."""
        return bool(self.shown)

    @property
    def is_trial(self) -> bool:
        """Return whether the workspace itself must stay as it is."""
        return self.overlay is not None or self.stand_in is not None

    @property
    def folder(self) -> Path:
        """Return the folder that holds all that is made for this room."""
        return self.home.parent

    @property
    def readable_of_ship(self) -> tuple[str, ...]:
        """Return the folders of `.ship` to read."""
        return tuple(name for name in READABLE_OF_SHIP if self.shows_received or name not in RECEIVED_OF_SHIP)

    @property
    def writable_of_ship(self) -> tuple[str, ...]:
        """Return the folders of `.ship` to write."""
        return ("scratch",) if self.shows_received and not self.is_read_only else ()

    @property
    def temporary(self) -> Path:
        """Return the command's folder for temporary files."""
        return self.folder / "tmp"

    @property
    def name(self) -> str:
        """Return the name no other room has."""
        return self.folder.name


def choose_place(workspace: Path) -> Path:
    """Return where rooms are made: never where a tool could write before."""
    place = Path(tempfile.gettempdir()).resolve()
    if place.is_relative_to(workspace.resolve()):
        return Path("/var/tmp")  # noqa: S108 - rooms are private, their names cannot be guessed
    return place


def choose_aside(workspace: Path) -> list[Path]:
    """Return where the writes of a trial may go outside the workspace: on a disk, if they can be many."""
    place = Path("/var/tmp")  # noqa: S108 - as above
    is_outside = not place.is_relative_to(workspace.resolve())
    return [place] if is_outside and os.access(place, os.W_OK | os.X_OK) else []


def name_folder() -> str:
    """Return a name nobody guesses, by which a folder is removed when this process was killed."""
    return f"{ROOM_PREFIX}{os.getpid()}-{secrets.token_hex(8)}"


def make_room(
    place: Path,
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
    """Make the folders of a room below a place."""
    folder = place / name_folder()
    room = Room(
        home=folder / "home",
        network=network,
        writes_repository=writes_repository,
        shows_received=shows_received,
        closed=closed,
        is_read_only=is_read_only,
        shown=tuple(place for place in shown if place.exists()),
        shared=tuple(place for place in shared if place.exists()),
        overlay=overlay,
        stand_in=stand_in,
    )
    for each in (folder, room.home, room.temporary):
        each.mkdir(mode=0o700)
    return room


def sweep_rooms(place: Path) -> None:
    """Remove the rooms of processes that were killed."""
    for folder in place.glob(f"{ROOM_PREFIX}*-*"):
        owner = folder.name.removeprefix(ROOM_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdigit() and folder.lstat().st_uid == os.getuid() and not is_running(int(owner)):
                remove_folder(folder)


def is_running(process: int) -> bool:
    """Return whether a process is there, whoever owns it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remove_folder(folder: Path) -> None:
    """Remove a folder a command wrote in, closed folders included."""

    def open_up(_: object, path: str, error: object) -> None:
        # A command may have closed a folder; whoever owns it can open it again.
        for closed in (Path(path).parent, Path(path)):
            with contextlib.suppress(OSError):
                if not closed.is_symlink() and closed.is_dir() and closed.is_relative_to(folder):
                    closed.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)

    with contextlib.suppress(OSError):
        shutil.rmtree(folder, onerror=open_up)
