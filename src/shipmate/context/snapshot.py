"""Remember the size and hash of each section of a thread's prompts, so that turns can be compared.

The prompt itself is never written, except under `DEBUG=1`, where the sections that changed are kept as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b

import msgspec

from shipmate.context.request import Context, ToolDescription
from shipmate.context.trace import append_private, is_debug
from shipmate.values.message import UIMessage, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.layout import Layout

# About 300 turns; when a log is longer, its older half goes.
LOG_LIMIT = 256 * 1024
# How many threads' last prompts are held to find the exact byte where the next one departs.
HELD_THREADS = 64


class Print(msgspec.Struct, frozen=True, array_like=True):
    """The fingerprint of one section."""

    name: str
    start: int
    bytes: int
    tokens: int
    digest: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The prompt of one turn."""

    at: str
    run_id: str
    profile: str
    bytes: int
    stable_bytes: int
    sections: list[Print]
    # How many leading bytes were the same as in the turn before; None when that turn is not remembered.
    kept_bytes: int | None = None
    # Under DEBUG, the texts of sections that changed since the turn before.
    texts: dict[str, str] = {}
    # What of the request before this one does not begin with: "tools", "section NAME", "message ID", "files",
    # "model", "course"; empty when it begins with all of it, None when that request is not remembered.
    broken_by: str | None = None


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn's first request holds besides the prompt."""

    model: str
    course: int
    tools: Sequence[ToolDescription] = ()
    messages: Sequence[UIMessage] = ()
    # Before which message files are only named.
    files: int = 0


class _Held(msgspec.Struct, frozen=True, kw_only=True):
    """The last request of a thread: what it was made of, each in the order it stands there."""

    prompt: bytes
    prints: dict[str, str]
    model: str
    course: int
    tools: tuple[ToolDescription, ...]
    files: int
    messages: list[UIMessage]


class SnapshotLog:
    """The snapshots of the last turns of each thread."""

    def __init__(self, layout: Layout, environ: Mapping[str, str], mask: Callable[[str], str]) -> None:
        self._layout = layout
        self._keeps_texts = is_debug(environ)
        self._mask = mask
        self._held: dict[str, _Held] = {}

    def record(self, thread_id: str, run_id: str, context: Context, sent: Sent) -> Snapshot:
        """Add the prompt of one turn, and what of the request before it changed."""
        prompt = context.lasting.encode()
        held = self._held.pop(thread_id, None)
        prints = [
            Print(each.name, each.start, each.bytes, each.tokens, digest(each.text))
            for each in context.sections
            if each.included and not context.is_note(each)
        ]
        known = held.prints if held else {}
        now = _hold(prompt, prints, sent)
        snapshot = Snapshot(
            at=timestamp(),
            run_id=run_id,
            profile=context.profile,
            bytes=len(prompt),
            stable_bytes=context.stable_bytes,
            sections=prints,
            kept_bytes=count_common(held.prompt, prompt) if held else None,
            broken_by=find_break(held, now) if held else None,
            texts={
                each.name: self._mask(each.text)
                for each in context.sections
                if self._keeps_texts and each.included and known.get(each.name) != digest(each.text)
            },
        )
        self._held[thread_id] = now
        if len(self._held) > HELD_THREADS:
            self._held.pop(next(iter(self._held)))
        # Nothing depends on this log; a disk that refuses it refuses the thread's next row, too, loudly.
        with suppress(OSError):
            self._append(thread_id, msgspec.json.encode(snapshot) + b"\n")
        return snapshot

    def _append(self, thread_id: str, line: bytes) -> None:
        path = self._layout.context_log(thread_id)
        size = append_private(path, line)
        if size > LOG_LIMIT:
            lines = path.read_bytes().splitlines(keepends=True)
            write_private(path, b"".join(lines[len(lines) // 2 :]))


def _hold(prompt: bytes, prints: list[Print], sent: Sent) -> _Held:
    return _Held(
        prompt=prompt,
        prints={each.name: each.digest for each in prints},
        model=sent.model,
        course=sent.course,
        tools=tuple(sent.tools),
        files=sent.files,
        messages=list(sent.messages),
    )


def find_break(before: _Held, after: _Held) -> str:
    """Return the first thing of a request that the next one does not begin with."""
    if before.model != after.model:
        return "model"
    if before.tools != after.tools:
        return "tools"
    if before.prompt != after.prompt:
        names = dict.fromkeys([*before.prints, *after.prints])
        changed = (name for name in names if before.prints.get(name) != after.prints.get(name))
        return f"section {next(changed, '')}"
    if before.course != after.course:
        return "course"
    # A message is replaced when it changes: a list of the same ones is compared without looking into them.
    if before.messages != after.messages[: len(before.messages)]:
        for place, message in enumerate(before.messages):
            if place >= len(after.messages) or after.messages[place]["parts"] != message["parts"]:
                return f"message {message['id']}"
    return "files" if before.files != after.files else ""


def read_snapshots(layout: Layout, thread_id: ThreadId) -> list[Snapshot]:
    """Read a thread's snapshots, oldest first; a torn line is passed over."""
    try:
        lines = layout.context_log(str(thread_id)).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found: list[Snapshot] = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Snapshot))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return found


def digest(text: str) -> str:
    """Return a short fingerprint of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def count_common(before: bytes, after: bytes) -> int:
    """Count the leading bytes two prompts share."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[low:middle] == after[low:middle] else (low, middle - 1)
    return low
