"""What a provider wants back to recognise its reasoning: a file beside the thread while a turn is open."""

from __future__ import annotations

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk, exists, read_file, refusals, remove_file, replace_file
from shipmate.workspace.layout import Layout

_decoder = msgspec.json.Decoder(dict[str, list[JsonObject]])


class SignatureFiles:
    """The signatures of open turns by thread; only who works a thread writes its file."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk

    def read(self, thread_id: ThreadId) -> dict[str, list[JsonObject]]:
        """Return the signatures of a thread by message; one that cannot be read is as good as none."""
        path = self._layout.signatures(thread_id)
        with refusals(path, self._layout.root):
            try:
                return _decoder.decode(read_file(self._disk, path))
            except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
                return {}

    def write(self, thread_id: ThreadId, signatures: dict[str, list[JsonObject]]) -> None:
        """Put the signatures of a thread on disk; none means no file."""
        path = self._layout.signatures(thread_id)
        with refusals(path, self._layout.root):
            if signatures:
                replace_file(self._disk, path, msgspec.json.encode(signatures))
            elif exists(self._disk, path):
                remove_file(self._disk, path)
