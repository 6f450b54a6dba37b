"""Run the real `shipmate` in a workspace, without keys and without a network."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from tests.support.wait import LONG
from tests.support.warm import Order, get_warm

# A pipe holds 65,536 bytes.
PIPE_CHARACTERS = 16_000
SHIPMATE = str(Path(sys.executable).parent / "shipmate")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Make an environment in which only the rehearsal model can answer."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        # A port nobody listens on: no Ollama is found.
        "OLLAMA_HOST": "127.0.0.1:1",
        **more,
    }


def shipmate(folder: Path, *arguments: str, said: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    # How the interpreter starts, and input that no pipe holds, are for a process of its own.
    if any(name.startswith("PYTHON") for name in env) or len(said) > PIPE_CHARACTERS:
        return start_anew(folder, *arguments, said=said, **env)
    order = Order(str(folder), environment(folder, **env), list(arguments))
    read, write = os.pipe()
    with os.fdopen(read, "rb") as given, os.fdopen(write, "w", encoding="utf-8") as saying:
        saying.write(said)
        saying.close()
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            started = get_warm().start(order, [given.fileno(), output.fileno(), errors.fileno()])
            code = started.wait(LONG)
            output.seek(0)
            errors.seek(0)
            found = (output.read().decode(), errors.read().decode())
    return subprocess.CompletedProcess([SHIPMATE, *arguments], code, *found)


def start_anew(folder: Path, *arguments: str, said: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end in a process that nothing was done for before."""
    return subprocess.run(
        [SHIPMATE, *arguments],
        cwd=folder,
        env=environment(folder, **env),
        input=said,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def make_workspace(folder: Path) -> Path:
    """Make a folder a workspace."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Agent.md").write_text("# Ada\n\nYou are Ada.\n")
    return folder


class Terminal:
    """Drive a program in a terminal of its own, as a person would."""

    CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[ -/]*[0-~])|\r")

    def __init__(
        self, folder: Path, *arguments: str, columns: int = 100, program: str = SHIPMATE, **env: str
    ) -> None:
        self._handle, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [program, *arguments],
            cwd=folder,
            # This terminal does not tell where its cursor is, so nobody should wait for it to.
            env=environment(folder, PROMPT_TOOLKIT_NO_CPR="1", **env),
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
        )
        os.close(child)
        self.shown = ""
        # The same with what steers the screen.
        self.raw = b""
        self._mark = 0

    def type(self, text: str) -> None:
        """Press keys; `\\r` is Enter."""
        os.write(self._handle, text.encode())

    def expect(self, text: str, seconds: float = LONG) -> str:
        """Wait until the text is shown after what was expected before; give what came until then."""
        deadline = time.monotonic() + seconds
        while (at := self.shown.find(text, self._mark)) < 0:
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} was not shown; there is:\n{self.shown[self._mark :]}")
        before, self._mark = self.shown[self._mark : at], at + len(text)
        return before

    def repeat_until(self, keys: str, wanted: str, refusal: str) -> None:
        """Press keys again as long as they are refused, as a person does who was too early."""
        pattern = re.compile(f"{re.escape(wanted)}|{re.escape(refusal)}")
        while True:
            self.type(keys)
            deadline = time.monotonic() + LONG
            while (found := pattern.search(self.shown, self._mark)) is None:
                if not self._read(deadline - time.monotonic()):
                    raise AssertionError(f"{wanted!r} was not shown; there is:\n{self.shown[self._mark :]}")
            self._mark = found.end()
            if found[0] == wanted:
                return

    def finish(self, seconds: float = LONG) -> int:
        """Wait for the program to end; give its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(timeout=seconds)

    def close(self) -> None:
        """End the program if it still runs, and the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._handle)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._handle], [], [], max(0, seconds))
        try:
            data = os.read(self._handle, 65536) if ready else b""
        except OSError:
            # Linux reports a terminal whose program has ended this way.
            return False
        self.raw += data
        self.shown += self.CODES.sub("", data.decode("utf-8", "replace"))
        return bool(data)
