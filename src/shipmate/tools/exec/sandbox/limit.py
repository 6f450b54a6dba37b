"""The limits each command is kept within, and the ways this machine has to keep it there."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from shipmate.tools.exec.sandbox.removal import do_later

# The letters of different shells for the same limit.
PROCESS_LIMIT = "ulimit -u {count} 2>/dev/null || ulimit -p {count} 2>/dev/null || exit 125"
# How a shell makes way for what it was given.
SHELL, RUN = ["/bin/sh", "-c"], 'exec "$@"'
BLOCK_BYTES = 512
PROCESSES = Path("/proc")
# Taken for the number that run already where it cannot be counted.
MANY_PROCESSES = 2000
PROBE_SECONDS = 30
PROBE_PROCESSES = 16
# Starts twice as many processes as it may have, and no more than that.
PROBE = (
    f"i=0; while [ $i -lt {2 * PROBE_PROCESSES} ]; do"
    " sleep 1 >/dev/null 2>&1 & i=$((i+1)); done; echo unbounded"
)

# What of each controller is set, by the file's name; `pids` is the one that must be there.
FILES_1 = {
    "pids": {"pids.max": "processes"},
    "memory": {"memory.limit_in_bytes": "memory", "memory.memsw.limit_in_bytes": "memory"},
    "cpu": {"cpu.shares": "shares"},
}
FILES_2 = {"pids.max": "processes", "memory.max": "memory", "memory.swap.max": "swap", "cpu.weight": "weight"}
# Where the kernel counts how often each limit was met.
EVENTS = {
    "memory.max": ("memory.events", "oom_kill"),
    "memory.limit_in_bytes": ("memory.oom_control", "oom_kill"),
    "pids.max": ("pids.events", "max"),
}
PREFIX = "shipmate-"
END_SECONDS = 2.0
POLL_SECONDS = 0.001
# The kernel's mark of a thread that is ending and will not run the program's code again.
EXITING = 0x4


class ControlGroups:
    """Folders below which a group is made for each command: one for version 2, one a controller for 1."""

    def __init__(self, parents: Mapping[Path, Mapping[str, str]]) -> None:
        self._parents = parents

    def make(self, name: str, values: Mapping[str, int]) -> list[Path]:
        """Make the groups of one command and return the files through which a process joins them."""
        joins: list[Path] = []
        for parent, files in self._parents.items():
            group = parent / name
            group.mkdir(exist_ok=True)
            # Who moves its one thread need not wait, as for `cgroup.procs`, until nobody forks anywhere.
            join = group / "tasks"
            joins.append(join if join.exists() else group / "cgroup.procs")
            for file, value in files.items():
                # Not every kernel counts swap.
                with suppress(FileNotFoundError, PermissionError):
                    (group / file).write_text(str(values[value]))
        return joins

    def find_hit(self, name: str) -> str | None:
        """Return which limit the command of a group ran into."""
        for parent, files in self._parents.items():
            for limit, (file, event) in EVENTS.items():
                if limit in files and _count(parent / name / file, event):
                    return files[limit]
        return None

    def end(self, name: str) -> None:
        """End whatever still runs in a command's groups, and remove them."""
        groups = [group for parent in self._parents if (group := parent / name).is_dir()]
        for group in groups:
            with suppress(OSError):
                # Nobody can be made any more, so all that are there are all there are.
                (group / "pids.max").write_text("0")
        deadline = time.monotonic() + END_SECONDS
        while any(_kill_all(group) for group in groups) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        if busy := [group for group in groups if not _remove(group)]:
            # What has ended is counted until the kernel has cleared up after it, which may wait for the disk.
            do_later(partial(_remove_all, busy))

    def sweep(self) -> None:
        """End what processes that were killed have left behind."""
        for parent in self._parents:
            for group in parent.glob(f"{PREFIX}*"):
                owner = group.name.removeprefix(PREFIX).partition("-")[0]
                if owner.isdigit() and not Path("/proc", owner).exists():
                    self.end(group.name)


def find_groups() -> ControlGroups | None:
    """Return where this process may make groups that limit processes, None when nowhere."""
    lines = Path("/proc/self/cgroup").read_text().splitlines() if Path("/proc/self/cgroup").exists() else []
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    mounts = _mounts()
    parents: dict[Path, Mapping[str, str]] = {}
    for controller, files in FILES_1.items():
        path = next((path for names, path in own.items() if controller in names.split(",")), None)
        if path is not None and controller in mounts:
            parents[_place(mounts[controller], path)] = files
    if not any("pids.max" in files for files in parents.values()):
        unified = _unified(own.get(""), mounts)
        parents = {unified: FILES_2} if unified else {}
    usable = {parent: files for parent, files in parents.items() if os.access(parent, os.W_OK)}
    return ControlGroups(usable) if any("pids.max" in files for files in usable.values()) else None


def _unified(path: str | None, mounts: Mapping[str, tuple[str, Path]]) -> Path | None:
    """Return a folder of version 2 whose groups have limits: this process's own, or the one above."""
    if path is None or "" not in mounts:
        return None
    own = _place(mounts[""], path)
    with suppress(OSError):
        # Groups with limits never lie beside processes: alone in its group, this one moves into one below.
        if not _has_limits(own) and (own / "cgroup.procs").read_text().split() == [str(os.getpid())]:
            (own / "keeper").mkdir(exist_ok=True)
            (own / "keeper" / "cgroup.procs").write_text("0")
            (own / "cgroup.subtree_control").write_text("+pids +memory +cpu")
            return own
    return next((folder for folder in (own, own.parent) if _has_limits(folder)), None)


def _has_limits(folder: Path) -> bool:
    try:
        return {"pids", "memory"} <= set((folder / "cgroup.subtree_control").read_text().split())
    except OSError:
        return False


def _mounts() -> dict[str, tuple[str, Path]]:
    """Return the root and place of each mounted controller; version 2 has the empty name."""
    found: dict[str, tuple[str, Path]] = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            fields, _, rest = line.partition(" - ")
            kind, _, options = rest.split(" ", 2)
            root, place = fields.split(" ")[3:5]
            if kind == "cgroup2":
                found[""] = (root, Path(place))
            elif kind == "cgroup":
                found.update({name: (root, Path(place)) for name in options.split(",") if name in FILES_1})
    return found


def _place(mount: tuple[str, Path], path: str) -> Path:
    root, place = mount
    below = path.removeprefix(root) if root != "/" else path
    inside = place / below.strip("/")
    return inside if inside.is_dir() else place


def _kill_all(group: Path) -> bool:
    """Kill all of a group; False when none of them can do anything any more."""
    with suppress(OSError):
        (group / "cgroup.kill").write_text("1")
    threads = _threads(group)
    for process in threads:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return any(map(_is_alive, threads))


def _threads(group: Path) -> list[int]:
    for name in ("tasks", "cgroup.threads"):
        with suppress(OSError):
            # One of another namespace has no number here; none of ours is.
            return [int(number) for number in (group / name).read_text().split() if number != "0"]
    return []


def _is_alive(thread: int) -> bool:
    """Return whether a thread can still act: one that is about to be cleared away cannot."""
    try:
        fields = Path(f"/proc/{thread}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    has_memory = fields[20] != "0"
    return fields[0] not in "ZX" and (has_memory or not int(fields[6]) & EXITING)


def _remove_all(groups: Sequence[Path]) -> None:
    deadline = time.monotonic() + END_SECONDS
    while not all(_remove(group) for group in groups) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _remove(group: Path) -> bool:
    """Remove a group; False while the kernel still counts somebody in it."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _count(file: Path, name: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return next((int(value) for key, value in (line.split() for line in lines) if key == name), 0)


def _half_of_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one command may take; time and output are bounded where it is run."""

    processes: int = 512
    memory: int = msgspec.field(default_factory=lambda: min(4 << 30, _half_of_memory()))
    file: int = 4 << 30
    # Seconds of one process.
    cpu: int = 3600

    def explain(self, name: str) -> str:
        """Say which limit ended a command."""
        return {
            "processes": f"at most {self.processes} processes",
            "memory": f"at most {self.memory >> 20} MB of memory",
            "file": f"at most {self.file >> 20} MB in one file",
            "cpu": f"at most {self.cpu} s of processor time in one process",
        }[name]


class Limiter:
    """Keeps commands within limits: by control groups where they can be made, else by limits on processes."""

    def __init__(self, limits: Limits, groups: ControlGroups | None) -> None:
        self.limits = limits
        self._groups = groups
        # Commands that have groups now.
        self._begun: set[str] = set()
        if groups:
            groups.sweep()

    def describe(self) -> str:
        return "control groups" if self._groups else "resource limits"

    def wrap(self, command: Sequence[str], name: str) -> list[str]:
        """Return the command line that runs a command within its limits; `end` must follow."""
        limits = self.limits
        lines = ["ulimit -c 0", f"ulimit -f {limits.file // BLOCK_BYTES}"]
        # Told first, so that it can be seen what ended it, and then killed.
        lines += [f"ulimit -St {limits.cpu}", f"ulimit -Ht {limits.cpu + 2}"]
        if self._groups:
            values = {
                "processes": limits.processes,
                "memory": limits.memory,
                "swap": 0,
                # All processes of a command together get as much as one other program.
                "shares": 1024,
                "weight": 100,
            }
            self._begun.add(name)
            joins = self._groups.make(name, values)
            lines += [f"echo 0 >{shlex.quote(str(join))} || exit 125" for join in joins]
        else:
            lines.append(f"ulimit -d {limits.memory >> 10}")
            lines.append(PROCESS_LIMIT.format(count=count_processes() + limits.processes))
        # A limit that is lower already stays.
        quiet = [line if "exit 125" in line else f"{line} 2>/dev/null" for line in lines]
        script, words = RUN, command
        if list(command[:2]) == SHELL and command[2].endswith(RUN) and command[3] == "sh":
            # What confines it begins with such a shell too; one is enough, and starts sooner.
            script, words = command[2], command[4:]
        return [*SHELL, "; ".join([*quiet, script]), "sh", *words]

    def end(self, name: str, code: int | None) -> str | None:
        """End what is left of a command, and return the limit it ran into, if it did."""
        hit = None
        if self._groups and name in self._begun:
            hit = self._groups.find_hit(name)
            self._groups.end(name)
            self._begun.discard(name)
        if hit is None:
            # What the kernel sends to who writes too much or computes too long.
            hit = {25: "file", 24: "cpu"}.get(_signal_of(code))
        return hit

    def holds(self) -> bool:
        """Start more processes than allowed and see whether that is stopped."""
        few = Limiter(msgspec.structs.replace(self.limits, processes=PROBE_PROCESSES), self._groups)
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        try:
            done = subprocess.run(
                few.wrap(["/bin/sh", "-c", PROBE], name),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        finally:
            few.end(name, None)
        return done.returncode != 125 and "unbounded" not in done.stdout


def find_limiter(limits: Limits) -> tuple[Limiter, bool]:
    """Return the best way to keep limits, and whether it can bound processes."""
    found = [Limiter(limits, groups) for groups in (find_groups(),) if groups] + [Limiter(limits, None)]
    for limiter in found:
        if limiter.holds():
            return limiter, True
    return found[-1], False


def count_processes() -> int:
    """Return how many processes and threads this user has: the limit counts those as well."""
    if not PROCESSES.is_dir():
        return MANY_PROCESSES
    count = 0
    user = os.getuid()
    for entry in os.scandir(PROCESSES):
        if entry.name.isdigit():
            # Ended meanwhile, or hidden from other users.
            with suppress(OSError):
                count += len(os.listdir(f"{entry.path}/task")) if entry.stat().st_uid == user else 0  # noqa: PTH208
    return count


def _signal_of(code: int | None) -> int:
    """Return the signal that ended a process, as itself or a shell reports it."""
    if code is None:
        return 0
    return -code if code < 0 else max(0, code - 128)
