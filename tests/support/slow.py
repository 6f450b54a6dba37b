"""A workspace with a command that says when it begins and goes on when it is told to, and processes of it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from shipmate.store.journal.inbox_line import Accept, Line
from shipmate.workspace.layout import Layout
from tests.support.terminal import SHIPMATE, environment
from tests.support.wait import LONG

# Says that it begins, waits until it is let go on, and leaves a line that can be counted.
SLOW = 'echo "$1" > begun; read word < go; echo "$1" >> effects.log; echo "did $1"\n'
LINES: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class Workshop:
    """One workspace with the slow command."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.layout = Layout(folder)
        self.folder = folder
        (folder / "Agent.md").write_text("# Ada\n\nYou are Ada.\n")
        self.permit(mode="yolo")
        (folder / "slow.sh").write_text(SLOW)
        for name in ("begun", "go"):
            os.mkfifo(folder / name)
        # Open on both ends, so that neither a test nor a command waits for the other to open it.
        self._begun = os.open(folder / "begun", os.O_RDWR)
        self._go = os.open(folder / "go", os.O_RDWR)
        self._read = b""
        self._started: list[subprocess.Popen[str]] = []

    def permit(self, **permissions: Any) -> None:
        """Set what tools may do."""
        (self.folder / "ship.json").write_text(json.dumps({"permissions": permissions}))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `shipmate` with arguments."""
        process = subprocess.Popen(
            [SHIPMATE, *arguments],
            cwd=self.folder,
            env=environment(self.folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._started.append(process)
        return process

    def ask(self, words: str, thread: str = "shared") -> subprocess.Popen[str]:
        """Start `shipmate ask` in the shared thread."""
        return self.start("ask", "--thread", thread, words)

    def serve(self) -> tuple[subprocess.Popen[str], str]:
        """Start `shipmate serve`; return it and its address."""
        process = self.start("serve", "--port", "0", "--no-open")
        assert process.stdout is not None
        return process, process.stdout.readline().split()[-1]

    @property
    def token(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.layout.token.read_text().strip()}"}

    def begun(self) -> str:
        """Wait until the slow command begins; return the word it was given."""
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._begun], [], [], LONG)
            assert ready, "the command did not begin"
            self._read += os.read(self._begun, 100)
        word, _, self._read = self._read.partition(b"\n")
        return word.decode()

    def let_go_on(self) -> None:
        """Let one slow command go on."""
        os.write(self._go, b"go\n")

    def accepted(self) -> int:
        """Count the events that the inbox has taken."""
        lines = self.layout.inbox.read_bytes().splitlines() if self.layout.inbox.exists() else []
        return sum(isinstance(LINES.decode(line), Accept) for line in lines)

    def until_accepted(self, count: int) -> None:
        """Wait until so many events were taken."""
        until(lambda: self.accepted() >= count)

    def effects(self) -> list[str]:
        """List what was done."""
        path = self.folder / "effects.log"
        return path.read_text().split() if path.exists() else []

    def keeper(self) -> int:
        """Return the process that keeps."""
        return int(self.layout.keeper_lock.read_text() or 0)

    def close(self) -> None:
        """End what still runs."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        os.close(self._begun)
        os.close(self._go)


def until(holds: Callable[[], bool], seconds: float = LONG) -> None:
    """Wait until something holds of which no event tells."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
