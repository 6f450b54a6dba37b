"""Keep what models are sent. No turn waits for it, and trouble with it is no turn's."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec

from shipmate.context.kept.bound import has_thread, rewrite, sweep
from shipmate.context.kept.kept_file import (
    FLAGS,
    KeptPrompt,
    KeptSection,
    KeptStep,
    KeptThread,
    PieceLine,
    check_regular,
    digest_of,
    open_folder,
    read_kept,
    write_line,
)
from shipmate.context.request import Context, ToolDescription
from shipmate.errors import StorageError
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import MASK, Mask, is_named_secret

log = logging.getLogger(__name__)
# By when a request is surely on its way; its turn has nothing to do then but wait.
DELAY_SECONDS = 0.01
# How many threads' last requests are held, so that what they share with the next is not written again.
HELD_THREADS = 64
# How many texts are remembered to be pieces already.
HELD_TEXTS = 1024
SWEEP_SECONDS = 3600.0
# What one thread may take; when it is more, its older half goes.
THREAD_BYTES = 16_000_000
WORDS_LIMIT = 80
LEVEL = 6
RECENT = 8


class SentRequest(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one step asks of a model, as it went out."""

    thread_id: str
    run_id: str
    step: int
    model: str
    context: Context
    tools: Sequence[ToolDescription]
    # The messages as the model reads them; `describe` makes JSON of one.
    messages: Sequence[Any]
    describe: Callable[[Any], JsonObject]
    course: int = 1
    member: str = ""
    window: int | None = None
    asked: str = ""
    words: str = ""
    sampling: JsonObject = {}


class _Held(msgspec.Struct, eq=False):
    """What is known of a thread's file: its state, its pieces, and the messages of its last step."""

    state: tuple[int, int]
    digests: set[str]
    names: list[str]
    # The very messages those names are of, when this process wrote them.
    messages: list[Any] = []


class RequestLog:
    """The requests of one workspace's threads; only the process that works a thread keeps any."""

    def __init__(self, layout: Layout, settings: ContextSettings, mask: Mask) -> None:
        self._layout = layout
        self._settings = settings
        self._mask = mask
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._texts: OrderedDict[Any, tuple[Any, bytes]] = OrderedDict()
        self._known_secrets = mask.count
        self._waiting: list[SentRequest] = []
        self._timer: asyncio.TimerHandle | None = None
        # One thread, so that steps are written in their order and none waits for another's disk.
        self._worker: ThreadPoolExecutor | None = None
        self._swept = float("-inf")
        self._is_refused = False

    @property
    def is_on(self) -> bool:
        """Return whether requests are kept."""
        return self._settings.keep

    def keep(self, sent: SentRequest) -> None:
        """Keep a request, a little later."""
        self._waiting.append(sent)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._begin)

    async def flush(self) -> None:
        """Wait until what was asked to be kept is in its file."""
        if (work := self._begin()) is not None:
            await asyncio.wrap_future(work)

    async def close(self) -> None:
        """Keep what waits, and end."""
        await self.flush()
        if self._worker is not None:
            self._worker.shutdown(wait=False)
            self._worker = None

    def _begin(self) -> Future[None] | None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        if self._worker is None:
            if not waiting:
                return None
            self._worker = ThreadPoolExecutor(1, "kept")
        return self._worker.submit(self._write_all, waiting)

    def _write_all(self, waiting: Sequence[SentRequest]) -> None:
        for sent in waiting:
            try:
                self.write(sent)
            except (OSError, StorageError) as error:
                # Said once: a full disk refuses the thread's own rows soon, and loudly.
                if not self._is_refused:
                    log.warning("what models are sent is not kept: %s", error)
                self._is_refused = True
            except Exception:
                # A fault of ours in a log on which nothing depends must not end the thread that writes it.
                log.exception("a request was not kept")

    def write(self, sent: SentRequest) -> None:
        """Append a request to its thread's file, and what of it is new."""
        path = self._layout.kept_requests(sent.thread_id)
        if not has_thread(self._layout, path.name):
            # Deleted for good since it was sent.
            return
        make_private(path.parent)
        folder = open_folder(path.parent)
        try:
            if time.monotonic() - self._swept > SWEEP_SECONDS:
                self._swept = time.monotonic()
                sweep(self._layout, self._settings, folder)
            handle = os.open(path.name, os.O_RDWR | os.O_APPEND | os.O_CREAT | FLAGS, 0o600, dir_fd=folder)
            try:
                check_regular(handle)
                # Another process that keeps this very file is about to end, or has taken over.
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                size = self._append(handle, sent)
                if size > min(THREAD_BYTES, self._settings.keep_megabytes * 1_000_000 // 4):
                    self._held.pop(sent.thread_id, None)
                    rewrite(self._layout, sent.thread_id, folder, size // 2)
            finally:
                os.close(handle)
        finally:
            os.close(folder)

    def _append(self, handle: int, sent: SentRequest) -> int:
        status = os.fstat(handle)
        held, lines = self._prepare(sent, (status.st_ino, status.st_size))
        data = b"".join(lines)
        if status.st_size and os.pread(handle, 1, status.st_size - 1) != b"\n":
            # Whoever wrote last was killed in the midst of a line, which counts for nothing.
            data = b"\n" + data
        if os.write(handle, data) != len(data):
            os.ftruncate(handle, status.st_size)
            raise OSError(0, "the disk is full")
        self._note(sent.thread_id, held, (status.st_ino, status.st_size + len(data)))
        return held.state[1]

    def read(self, thread_id: str) -> KeptThread:
        """Return what is kept of a thread."""
        return read_kept(self._layout, thread_id)

    def _prepare(self, sent: SentRequest, state: tuple[int, int]) -> tuple[_Held, list[bytes]]:
        """Return what is known of a thread's requests once this one is kept, and the lines that say it."""
        held = self._held.pop(sent.thread_id, None)
        if held is None or held.state != state:
            # It is not as this process left it.
            kept = self.read(sent.thread_id)
            held = _Held(state, kept.digests, kept.history(-1) if kept.steps else [])
        new: dict[str, bytes] = {}
        step = self._describe(sent, held, new)
        held.digests.update(new)
        return held, [*map(write_line, map(PieceLine, new, new.values())), write_line(step)]

    def _note(self, thread_id: str, held: _Held, state: tuple[int, int]) -> None:
        # Only now: what the disk refused is not known any more.
        held.state = state
        self._held[thread_id] = held
        if len(self._held) > HELD_THREADS:
            self._held.popitem(last=False)

    def _describe(self, sent: SentRequest, held: _Held, new: dict[str, bytes]) -> KeptStep:
        """Return the step, and put its pieces with the new ones."""
        if self._mask.count != self._known_secrets:
            self._known_secrets = self._mask.count
            # What was masked before may show one of the new.
            self._texts.clear()
            self._held.clear()
            held.messages.clear()
        same = _count_same(held.messages, sent.messages)
        # Both lists may be long, and only their ends change.
        before = held.names[same:]
        del held.names[same:], held.messages[same:]
        for message in sent.messages[same:]:
            described = sent.describe(message)
            held.names.append(_pack(msgspec.json.encode(_cover_message(described, self._mask)), held, new))
            # The bytes of files are not held on to.
            held.messages.append(None if _has_file(described) else message)
            if len(held.names) % RECENT == 0:
                # Where a long thread is read for the first time, others go first.
                time.sleep(0)
        added = held.names[same:]
        shared = next(
            (place for place, pair in enumerate(zip(before, added, strict=False)) if pair[0] != pair[1]),
            min(len(before), len(added)),
        )
        tools = [self._add(id(tool), tool, _describe_tool(tool), held, new) for tool in sent.tools]
        return KeptStep(
            at=timestamp(),
            run_id=sent.run_id,
            step=sent.step,
            model=sent.model,
            prompt=self._add_prompt(sent.context, held, new),
            tools=_pack(msgspec.json.encode(tools), held, new),
            same=same + shared,
            messages=added[shared:],
            course=sent.course,
            member=sent.member,
            window=sent.window,
            ratio=sent.context.ratio,
            asked=sent.asked,
            words=self._mask(sent.words[: WORDS_LIMIT * 8])[:WORDS_LIMIT],
            sampling=cover(sent.sampling, self._mask),
        )

    def _add_prompt(self, context: Context, held: _Held, new: dict[str, bytes]) -> str:
        prompt = context.lasting.encode()
        end = 0
        sections: list[KeptSection] = []
        # In the order of the prompt. What stands with the words of the turn is in its message.
        for section in sorted(context.sections, key=lambda each: (not each.included, each.start)):
            if context.is_note(section):
                continue
            lead = piece = ""
            if section.included:
                lead, end = prompt[end : section.start].decode(), section.start + section.bytes
                piece = self._add(section.text, section.text, section.text, held, new)
            sections.append(
                KeptSection(
                    name=section.name,
                    title=section.title,
                    source=section.source,
                    stability=section.stability,
                    reason=section.reason,
                    lead=lead,
                    piece=piece,
                    is_cut=section.is_cut,
                )
            )
        kept = KeptPrompt(profile=context.profile, stable_bytes=context.stable_bytes, sections=sections)
        raw = msgspec.json.encode(kept)
        return self._add(raw, raw, kept, held, new)

    def _add(self, key: Any, source: Any, value: Any, held: _Held, new: dict[str, bytes]) -> str:
        """Return the digest of what most requests have again and is masked once; `source` stays alive."""
        found = self._texts.pop(key, None)
        if found is None:
            masked = (
                _cover_prompt(value, self._mask)
                if isinstance(value, KeptPrompt)
                else cover(value, self._mask)
            )
            found = (
                source,
                masked.encode("utf-8", "surrogatepass")
                if isinstance(masked, str)
                else msgspec.json.encode(masked),
            )
        self._texts[key] = found
        if len(self._texts) > HELD_TEXTS:
            self._texts.popitem(last=False)
        return _pack(found[1], held, new)


def _pack(data: bytes, held: _Held, new: dict[str, bytes]) -> str:
    """Return the digest of a piece, which is compressed when the file has it not yet."""
    digest = digest_of(data)
    if digest not in held.digests and digest not in new:
        new[digest] = zlib.compress(data, LEVEL)
    return digest


def _count_same(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Count the leading messages that are the very same ones."""
    # All but the last ones are, mostly.
    count = max(0, min(len(before), len(after)) - RECENT)
    if before[:count] != after[:count]:
        count = 0
    while count < min(len(before), len(after)) and before[count] is after[count]:
        count += 1
    return count


def _has_file(message: JsonObject) -> bool:
    return any(block["type"] == "file" for block in message["blocks"])


def _cover_message(described: JsonObject, mask: Mask) -> JsonObject:
    """Mask what a message says; its role, `user`, is no secret even where an address names such a user."""
    covered = cover(described, mask)
    blocks = [
        {**block, "type": plain["type"]}
        for block, plain in zip(covered["blocks"], described["blocks"], strict=True)
    ]
    return {**covered, "role": described["role"], "blocks": blocks}


def _cover_prompt(kept: KeptPrompt, mask: Mask) -> JsonObject:
    covered = cover(msgspec.to_builtins(kept), mask)
    # Its sections are called as we call them, `user` for one.
    named = [
        {**section, "name": plain.name}
        for section, plain in zip(covered["sections"], kept.sections, strict=True)
    ]
    return {**covered, "sections": named}


def _describe_tool(tool: ToolDescription) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "schema": tool.schema}


def cover(value: Any, mask: Callable[[str], str]) -> Any:
    """Mask every text of a JSON value before it is encoded: escaping could hide a secret from the mask."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, int | float) and (masked := mask(str(value))) != str(value):
        # A secret of digits is one as a number too.
        return masked
    if isinstance(value, dict):
        return {
            mask(key): MASK if is_named_secret(key, inner) else cover(inner, mask)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [cover(inner, mask) for inner in value]
    return value
