"""Remove what a rehearsal made on disk when it is over, be it by a kill."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

# Begins when whoever started it lets go of the pipe; that a kill does too.
REMOVE = 'cat >/dev/null; chmod -R u+rwX -- "$1"* 2>/dev/null; rm -rf -- "$1"*'
REMOVAL_SECONDS = 60


class Remover:
    """A process that outlives this one to remove all whose path begins as given."""

    def __init__(self, beginning: Path) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", REMOVE, "sh", str(beginning)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # What is sent to our group, such as Ctrl-C, must not keep it from its work.
            start_new_session=True,
        )

    def finish(self) -> None:
        """Let it begin, and wait until it is done."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(REMOVAL_SECONDS)
