"""Keep values that must stand in no thread: a reference takes their place, the value waits in a file."""

from __future__ import annotations

import re
import time
from pathlib import Path

from shipmate.errors import NotFoundError
from shipmate.values.message import new_id
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.layout import Layout

REFERENCE = re.compile(r"sealed:(seal_[A-Za-z0-9_-]{8,64})")
# As long as a question may wait for its answer.
KEPT_SECONDS = 7 * 24 * 3600


class SealedValues:
    """The values of calls that wait for a person, each in a file that only its owner can read."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.sealed

    def seal(self, value: str) -> str:
        """Keep a value; return what may be shown in its place. Values nobody came for are forgotten."""
        make_private(self._folder)
        self._sweep()
        name = new_id("seal")
        write_private(self._folder / name, value.encode("utf-8", "surrogatepass"))
        return f"sealed:{name}"

    def open(self, reference: str) -> str:
        """Return the value a reference stands for."""
        try:
            return self._place(reference).read_bytes().decode("utf-8", "surrogatepass")
        except OSError:
            raise NotFoundError("The value is not kept any more. Give it once more.") from None

    def forget(self, reference: str) -> None:
        """Remove the value a reference stands for."""
        self._place(reference).unlink(missing_ok=True)

    def _place(self, reference: str) -> Path:
        found = REFERENCE.fullmatch(reference)
        if found is None:
            raise NotFoundError("This is no value that was kept. Give it once more.")
        return self._folder / found[1]

    def _sweep(self) -> None:
        for path in self._folder.iterdir():
            if path.stat().st_mtime < time.time() - KEPT_SECONDS:
                path.unlink(missing_ok=True)
