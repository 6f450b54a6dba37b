"""Start a dialog from scripts: everything is read and checked before anything is created."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from shipmate.errors import PrimingError, StorageError, UserError
from shipmate.priming.convert import renew_residues, to_messages
from shipmate.priming.library import Library
from shipmate.priming.pinned import read_reminders, without_pins
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.record import Record, Script
from shipmate.priming.script.ui_key import describe, is_showable
from shipmate.store.port import Store
from shipmate.thread.pin import Pin, pin_parts
from shipmate.thread.service import ThreadService
from shipmate.values.message import JsonObject, UIMessage, is_settled, is_tool, metadata_of, timestamp
from shipmate.values.primed import HIDE_PRIMING, SOURCE_TAG
from shipmate.values.primed import hides_priming as hides_priming
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

log = logging.getLogger(__name__)
# A script up to this size is read within a few milliseconds, less than a hop to a worker may cost; a longer
# one is read beside the loop, so that other threads go on meanwhile.
INLINE_BYTES = 64 * 1024
NO_RESULT = "The script this call comes from holds no result for it. It was not run."
# Metadata that tells of the dialog a script was taken from and would mislead in a new one.
_FOREIGN = frozenset({"platform", "userId", "messageId", "runId", "correlationId"})
# Metadata that keeps from a model what stands in the thread, or what the workspace would tell it: a file may
# not.
_HIDING = frozenset({"replacedBy", "guides"})
_ROLES = frozenset({"system", "user", "assistant"})
_COUNTED = ("genseq", "callSiteGenseq", "calling_genseq")


class Priming(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The scripts a dialog starts from, and whether people are shown what was replayed."""

    script_refs: tuple[str, ...]
    show_in_ui: bool


class PrimedThread(msgspec.Struct, frozen=True, kw_only=True):
    """What was created, and what went wrong beside it."""

    thread_id: ThreadId
    messages: int
    problems: list[str]


async def create_dialog(
    library: Library,
    threads: ThreadService,
    store: Store,
    *,
    thread_id: ThreadId,
    member: str = CAPTAIN,
    priming: Priming | None = None,
    title: str = "",
    language: str = "en",
    settings: JsonObject | None = None,
) -> PrimedThread:
    """Create a dialog, primed or not; a failure leaves nothing behind."""
    refs = list(dict.fromkeys(map(ScriptRef.parse, priming.script_refs if priming else ())))
    if sum(map(library.weigh, refs)) <= INLINE_BYTES:
        rows = _prepare(library, refs, member, thread_id, language)
    else:
        rows = await asyncio.to_thread(_prepare, library, refs, member, thread_id, language)
    settings = settings or {}
    if priming is not None and refs:
        settings = settings | {
            "priming": {"scriptRefs": list(map(str, refs)), "showInUi": priming.show_in_ui},
            HIDE_PRIMING: not priming.show_in_ui,
        }
    async with threads.open(thread_id):
        if await threads.exists(thread_id):
            raise UserError(f"thread {thread_id} exists already; choose another id")
        await _store(threads, store, thread_id, rows, title=title, member=member, settings=settings)
    return PrimedThread(
        thread_id=thread_id, messages=len(rows), problems=_note_recents(library, member, refs)
    )


def _prepare(
    library: Library, refs: Sequence[ScriptRef], member: str, thread_id: ThreadId, language: str
) -> list[UIMessage]:
    return build_rows([library.load(ref, member) for ref in refs], thread_id, language)


async def _store(
    threads: ThreadService,
    store: Store,
    thread_id: ThreadId,
    rows: Sequence[UIMessage],
    *,
    title: str,
    member: str,
    settings: JsonObject,
) -> None:
    """Put the marks on disk, make the file, then list the thread; take the marks back when that fails."""
    name = str(thread_id)
    is_made = False
    try:
        await store.threads.create(name, title=title, member=member, settings=settings, is_new=not rows)
        await threads.create(thread_id, rows)
        is_made = True
    finally:
        if not is_made:
            await store.threads.remove(name)
    try:
        await store.threads.note(name, rows, member=member)
    except StorageError as error:
        # The thread stands; the list is made from the files again.
        log.warning("%s is missing from lists for now: %s", name, error)


def _note_recents(library: Library, member: str, refs: Sequence[ScriptRef]) -> list[str]:
    try:
        return Recents(library.layout).note(member, refs) if refs else []
    except OSError as error:
        # The dialog stands; a list of favourites is no reason to call it failed.
        return [f"the recent scripts of {member} could not be written: {error.strerror}"]


def build_rows(scripts: Sequence[Script], thread_id: ThreadId, language: str = "en") -> list[UIMessage]:
    """Return the rows that replay scripts into course 1 of a new thread, one script after the other.

    Their reminders stand first, as pins.
    """
    records: list[Record] = []
    last = 0
    for script in scripts:
        renumbered, last = renumber(script.records, last)
        records += renumbered
    messages = to_messages(records)
    for message in messages:
        if message["role"] not in _ROLES:
            raise PrimingError(
                f"a message of role {message['role']!r} cannot be replayed; write user or assistant"
            )
    at = timestamp()
    ids = _Distinct("priming")
    calls = _Distinct("call")
    pinned = read_reminders((each for script in scripts for each in script.reminders), at)
    stamped = [_stamp(message, ids, calls, str(thread_id), at) for message in messages]
    notes = [_stamp(_pin_message(pin, language), ids, calls, str(thread_id), at) for pin in pinned]
    # Only reminders pin: a record that looks like the row of a pin is shown to nobody as one.
    return [*notes, *without_pins(renew_residues(stamped))]


def _pin_message(pin: Pin, language: str) -> UIMessage:
    return {"id": f"pin-{pin.number}", "role": "system", "parts": pin_parts(pin, language)}


def renumber(records: Sequence[Record], last: int) -> tuple[list[Record], int]:
    """Number generations on from `last`, in the order they first appear; give also the new last number."""
    numbers: dict[int, int] = {}
    for record in records:
        if record.genseq is not None and record.genseq not in numbers:
            numbers[record.genseq] = last + len(numbers) + 1
    return [_renumber(record, numbers) for record in records], last + len(numbers)


def _renumber(record: Record, numbers: dict[int, int]) -> Record:
    changed = {
        key: numbers.get(value, value) for key in _COUNTED if (value := record.fields.get(key)) is not None
    }
    return Record(record.type, {**record.fields, **changed}, record.extra, record.line)


class _Distinct:
    """Ids made distinct: each as it is the first time, with a number after it from then on."""

    def __init__(self, blank: str) -> None:
        self._blank = blank
        self._given: set[str] = set()
        self._counts: dict[str, int] = {}

    def take(self, wanted: Any) -> str:
        base = wanted if isinstance(wanted, str) and wanted.strip() else self._blank
        name = base
        while name in self._given:
            self._counts[base] = self._counts.get(base, 1) + 1
            name = f"{base}-{self._counts[base]}"
        self._given.add(name)
        return name


def _stamp(message: UIMessage, ids: _Distinct, calls: _Distinct, thread_id: str, at: str) -> UIMessage:
    left_out = _FOREIGN | _HIDING
    metadata = {key: value for key, value in metadata_of(message).items() if key not in left_out}
    renamed: dict[Any, str] = {}
    parts = [_settle(part, calls, renamed) for part in message["parts"]]
    if isinstance(spent := metadata.get("toolMs"), dict):
        metadata["toolMs"] = {renamed.get(call, call): value for call, value in spent.items()}
    metadata |= {"timestamp": at, "threadId": thread_id, "course": 1, "sourceTag": SOURCE_TAG}
    return {**message, "id": ids.take(message["id"]), "metadata": metadata, "parts": parts}


def _settle(part: JsonObject, calls: _Distinct, renamed: dict[Any, str]) -> JsonObject:
    """Return a part as it may stand in a new thread: no call waits there to be run or approved."""
    if part.get("type") == "data-course" and isinstance(part.get("data"), dict):
        return {**part, "data": {**part["data"], "course": 1}}
    if is_tool(part) and "state" not in part:
        # The records of the call and its result say how far it came; nobody has to say it again.
        part = {**part, "state": "input-available"}
    if not is_showable(part):
        return {"type": "data-notice", "data": {"text": describe(part)}}
    if not is_tool(part):
        return part
    known = part["toolCallId"]
    settled = {**part, "toolCallId": calls.take(known)}
    if isinstance(known, str):
        renamed[known] = settled["toolCallId"]
    if is_settled(part):
        return settled
    settled.pop("approval", None)
    settled.pop("preliminary", None)
    if "output" in part:
        return {**settled, "state": "output-available"}
    return {"input": {}, **settled, "state": "output-error", "errorText": part.get("errorText") or NO_RESULT}
