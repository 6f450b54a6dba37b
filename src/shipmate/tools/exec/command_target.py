"""Say what a command would act on: where it runs, which program it starts, and the files its words name."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from shipmate.tools.exec.command import plan_command
from shipmate.values.message import JsonObject

# Everything a shell could take for a name; a word that names nothing is left out, so too many do no harm.
NAMES = re.compile(r"[^\s'\"|&;<>()$`\\*?\[\]{}=]+")
# How much is read for one command; files beyond that are told apart by size and time of change.
DIGEST_LIMIT = 64 * 1024 * 1024
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def command_target(text: str, folder: Path, variables: Iterable[str]) -> JsonObject:
    """Describe what a command line acts on, as it stands now."""
    plan = plan_command(text, folder)
    root = folder.resolve()
    words = (plan.argv[0], *(plan.words or ()), *NAMES.findall(text))
    return {
        "folder": str(root),
        "program": str(Path(plan.argv[0]).resolve()),
        "variables": sorted(variables),
        "files": _Files(root).describe(words),
    }


class _Files:
    """What the words of a command name in the workspace."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._left = DIGEST_LIMIT

    def describe(self, words: Iterable[str]) -> JsonObject:
        """Describe each file or folder that a word names, by the name as it is written."""
        states = {word: self._state(word) for word in dict.fromkeys(words)}
        return {word: state for word, state in states.items() if state is not None}

    def _state(self, word: str) -> JsonObject | None:
        try:
            written = self._root / word
            real = written.resolve()
            # A link to what does not exist yet is a place to write to as well.
            if not real.is_relative_to(self._root) or not (written.is_symlink() or real.exists()):
                return None
        except (OSError, ValueError):
            return None
        return {"path": str(real.relative_to(self._root)), **self._content(real)}

    def _content(self, path: Path) -> JsonObject:
        try:
            handle = os.open(path, FLAGS)
        except OSError:
            return {"state": "closed" if path.exists() else "absent"}
        try:
            return self._read(handle)
        finally:
            os.close(handle)

    def _read(self, handle: int) -> JsonObject:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            return {"state": "folder"}
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._left:
            return {"state": "present", "size": status.st_size, "changed": status.st_ctime_ns}
        digest = hashlib.sha256()
        while piece := os.read(handle, 1 << 20):
            digest.update(piece)
            self._left -= len(piece)
        return {"state": "present", "sha256": digest.hexdigest()}
