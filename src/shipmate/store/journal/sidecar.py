"""What belongs to messages and stands beside their rows: a file beside the thread until the course ends.

A line adds the context a message came with, or what the model signed in one step of it. A step that is taken
again after a crash is signed anew: its last line holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.sidecar import Sidecar
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk, append_to, exists, read_file, refusals, remove_file, stat_of
from shipmate.workspace.layout import Layout

# How many bytes of threads' files are held, so that a step does not read its thread's anew.
HELD = 8_000_000


class SidecarLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands beside a message: its context, or what was signed in one step."""

    id: str
    context: str = ""
    step: int = 0
    signatures: tuple[JsonObject, ...] = ()


_decoder = msgspec.json.Decoder(SidecarLine)
# A file's inode and size, and what it said then.
_Known: TypeAlias = tuple[tuple[int, int], Mapping[str, Sidecar]]


class SidecarFiles:
    """The sidecars of one workspace by thread; only who works a thread writes its file."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk
        self._held: OrderedDict[ThreadId, _Known] = OrderedDict()
        self._size = 0

    def read(self, thread_id: ThreadId) -> Mapping[str, Sidecar]:
        """Return what stands beside the messages of a thread's course, by message id."""
        path = self._layout.sidecar(thread_id)
        with refusals(path, self._layout.root):
            status = stat_of(self._disk, path)
            if status is None:
                return {}
            state = status.st_ino, status.st_size
            known = self._let_go(thread_id)
            if known is None or known[0] != state:
                known = state, join_sidecars(read_file(self._disk, path).splitlines())
        self._hold(thread_id, known)
        return known[1]

    def _hold(self, thread_id: ThreadId, known: _Known) -> None:
        self._held[thread_id] = known
        self._size += known[0][1]
        while self._size > HELD and len(self._held) > 1:
            self._size -= self._held.popitem(last=False)[1][0][1]

    def _let_go(self, thread_id: ThreadId) -> _Known | None:
        known = self._held.pop(thread_id, None)
        self._size -= known[0][1] if known is not None else 0
        return known

    def add_context(self, thread_id: ThreadId, message_id: str, context: str) -> None:
        """Put on disk what a message came with."""
        self._append(thread_id, SidecarLine(message_id, context=context))

    def add_signatures(
        self, thread_id: ThreadId, message_id: str, step: int, signatures: list[JsonObject]
    ) -> None:
        """Put on disk what a model signed in a step."""
        self._append(thread_id, SidecarLine(message_id, step=step, signatures=tuple(signatures)))

    def copy(self, source: ThreadId, target: ThreadId, message_ids: Collection[str]) -> None:
        """Put what stands beside some messages of a thread beside their copies in another."""
        path, place = self._layout.sidecar(source), self._layout.sidecar(target)
        with refusals(path, self._layout.root):
            if not exists(self._disk, path):
                return
            lines = [
                raw
                for raw in read_file(self._disk, path).splitlines(keepends=True)
                if raw.endswith(b"\n")
                and (line := decode_sidecar(raw)) is not None
                and line.id in message_ids
            ]
        with refusals(place, self._layout.root):
            if lines:
                append_to(self._disk, place, b"".join(lines))

    def drop(self, thread_id: ThreadId) -> None:
        """Forget all of it, because the course ended."""
        path = self._layout.sidecar(thread_id)
        with refusals(path, self._layout.root):
            self._let_go(thread_id)
            if exists(self._disk, path):
                remove_file(self._disk, path)

    def _append(self, thread_id: ThreadId, line: SidecarLine) -> None:
        path = self._layout.sidecar(thread_id)
        with refusals(path, self._layout.root):
            append_to(self._disk, path, msgspec.json.encode(line) + b"\n")


def join_sidecars(lines: Iterable[bytes]) -> Mapping[str, Sidecar]:
    """Return what lines say of messages, by message id."""
    contexts: dict[str, str] = {}
    steps: dict[str, dict[int, tuple[JsonObject, ...]]] = {}
    for raw in lines:
        line = decode_sidecar(raw)
        if line is None:
            continue
        signed = steps.setdefault(line.id, {})
        if line.context:
            contexts[line.id] = line.context
        else:
            signed[line.step] = line.signatures
    return {
        message_id: Sidecar(
            context=contexts.get(message_id, ""),
            signatures=tuple(entry for step in sorted(signed) for entry in signed[step]),
        )
        for message_id, signed in steps.items()
    }


def decode_sidecar(line: bytes) -> SidecarLine | None:
    """Read a line; one that cannot be read is as good as none: the model is asked without it."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
