"""The limits each command is kept within, and the ways this machine has to keep it there."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from shipmate.tools.exec.sandbox.cgroup import PREFIX, ControlGroups, find_groups

# The letters of different shells for the same limit.
PROCESS_LIMIT = "ulimit -u {count} 2>/dev/null || ulimit -p {count} 2>/dev/null || exit 125"
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
        return ["/bin/sh", "-c", "; ".join([*quiet, 'exec "$@"']), "sh", *command]

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
