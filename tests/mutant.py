"""Mutants of the source that tests must notice, each a line that something rests on.

`python -m tests.mutant` tries all of them, or those that are named: a copy of the package is changed, and the
tests that hold the line are run on the copy. The simulation has its own for what durability rests on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/shipmate"


class Mutant(NamedTuple):
    """One change of one file, and the tests that must fail with it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant(
        "rows-not-synced",
        "workspace/disk/disk.py",
        "if waits:\n                disk.fdatasync(handle)",
        "pass",
        "workspace/disk/test_disk.py",
    ),
    Mutant(
        "loose-rows-not-synced",
        "workspace/disk/disk.py",
        "if is_loose:\n                disk.fdatasync(handle)",
        "pass",
        "thread/test_log.py",
    ),
    Mutant(
        "names-not-synced",
        "workspace/disk/disk.py",
        "with opened(disk, folder, os.O_RDONLY) as handle:\n        disk.fsync(handle)",
        "pass",
        "workspace/disk/test_disk.py",
    ),
    Mutant(
        "files-not-synced",
        "workspace/disk/disk.py",
        "write_all(disk, handle, data)\n            disk.fsync(handle)",
        "write_all(disk, handle, data)",
        "workspace/disk/test_disk.py",
    ),
    Mutant(
        "rows-of-threads-do-not-wait",
        "workspace/disk/disk.py",
        "waits: bool = True,",
        "waits: bool = False,",
        "workspace/disk/test_disk.py",
    ),
    Mutant(
        "progress-resets-nothing",
        "store/journal/inbox_line.py",
        "kept.row.attempts + 1 if kept.progress == progress else 1",
        "kept.row.attempts + 1",
        "store/journal/test_inbox.py",
    ),
    Mutant(
        "attempts-not-counted",
        "store/journal/inbox_line.py",
        "kept.row.attempts + 1 if kept.progress == progress else 1",
        "1",
        "store/journal/test_inbox.py",
    ),
    Mutant(
        "errors-do-not-taint",
        "orchestrator/taint.py",
        '("output" in part or "errorText" in part)',
        '"output" in part',
        "orchestrator/test_taint.py",
    ),
    Mutant(
        "mcp-headers-shown",
        "workspace/secret/public.txt",
        "mcp.servers.*.timeoutSeconds\n",
        "mcp.servers.*.timeoutSeconds\nmcp.servers.*.headers.*\n",
        "workspace/secret/test_setting.py",
    ),
    Mutant(
        "known-callers-unlimited",
        "server/guard/security.py",
        '        if wait := self._requests.wait(f"user {asking.uid}" if asking.uid else caller):\n'
        "            raise busy(wait)\n        scope[",
        "        scope[",
        "server/guard/test_security.py",
    ),
    Mutant(
        "failures-unlimited",
        "server/guard/security.py",
        "if wait := self._failures.wait(caller):\n                raise busy(wait)\n            raise",
        "raise",
        "server/guard/test_security.py",
    ),
    Mutant(
        "slow-readers-kept",
        "server/stream/stream.py",
        "if self._is_gone or len(events) > BACKLOG:",
        "if self._is_gone:",
        "server/stream/test_stream.py",
    ),
    Mutant(
        "slow-processes-kept",
        "orchestrator/keeper/listener.py",
        "if self._backlog > BACKLOG:",
        "if False:",
        "orchestrator/keeper/test_listener.py",
    ),
)


def is_noticed(mutant: Mutant) -> bool:
    """Run the tests of a mutant on a changed copy of the package; return whether they fail."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "shipmate"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "page"))
        path = copy / mutant.file
        path.write_text(change(path.read_text("utf-8"), mutant), "utf-8")
        tested = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{mutant.tests}"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            check=False,
        )
    # 1 is a test that failed; anything else says that nothing was tested.
    assert tested.returncode in (0, 1), tested.stdout.decode()
    return tested.returncode == 1


def change(text: str, mutant: Mutant) -> str:
    """Return a source with the mutant in it."""
    assert text.count(mutant.old) == 1, (
        f"{mutant.name}: {mutant.file} has changed; look what became of its line"
    )
    return text.replace(mutant.old, mutant.new)


def main() -> int:
    """Try all mutants, or those that are named; return 1 when one survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutant", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*(mutant.name for mutant in MUTANTS), []])
    names = parser.parse_args().names
    survivors = 0
    for mutant in MUTANTS:
        if not names or mutant.name in names:
            noticed = is_noticed(mutant)
            survivors += not noticed
            print(f"{mutant.name:28} {'caught' if noticed else 'SURVIVED'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
