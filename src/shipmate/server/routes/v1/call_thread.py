"""Threads that no list shows: each begins with the history a program sent, and is removed after a week."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from shipmate.orchestrator.turn import message_id_of
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship
from shipmate.server.routes.v1.client_history import Answered, ClientHistory, Entry, Words
from shipmate.thread.service import Thread
from shipmate.values.message import JsonObject, UIMessage, data_part, new_id, timestamp
from shipmate.values.saying import fill, load_sayings
from shipmate.values.thread_id import ThreadId

PLATFORM = "api"
SCOPE = "call"
THREAD_HEADER = "x-shipmate-thread"
WORDS = Path(__file__).parent / "words"
# Which thread a call was made in, behind its own id, so that its result finds the way back.
RETURN = re.compile(r"(?P<call>.+)__(?P<scope>[ck]_[0-9a-f]+)", re.DOTALL)
AGE_SECONDS = 7 * 86_400
SWEEP_SECONDS = 3_600
SWEEP_COUNT = 500
_swept: WeakKeyDictionary[Ship, float] = WeakKeyDictionary()


class RequestMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the first row of such a thread says of the request it was made for."""

    # The thread that answers: this one, or the one the request named.
    thread: str
    # The messages of the request, so that only one that goes on with them finds its way back.
    count: int
    digest: str
    # The whole request, where it had a key.
    body: str = ""
    # An assistant's words may repeat what strangers wrote: what acts outward asks.
    tainted: bool = False


def digest_of(value: Any) -> str:
    """Return what tells one JSON value from another."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def new_call() -> ThreadId:
    """Return the id of a thread for one request."""
    return ThreadId(PLATFORM, SCOPE, new_id("c"))


def call_of(key: str) -> ThreadId:
    """Return the id of the thread that stands for a key."""
    return ThreadId(PLATFORM, SCOPE, f"k_{hashlib.sha256(key.encode()).hexdigest()[:32]}")


def say(language: str, name: str, **values: object) -> str:
    """Return a saying of /v1."""
    return fill(load_sayings(WORDS, language)[name], values)


def words_of(words: Words, language: str) -> str:
    """Return what the model reads of words: instructions are marked, whoever they claim to come from."""
    return say(language, "instructions", text=words.text) if words.is_instruction else words.text


def make_rows(thread_id: ThreadId, sent: ClientHistory, mark: RequestMark, language: str) -> list[UIMessage]:
    """Make the rows of a request's history; an answer whose results are new is left open."""
    entries: tuple[Entry, ...] = sent.before
    if isinstance(sent.new, Answered):
        entries = (*entries, sent.new)
    is_tainted = any(isinstance(each, Answered) for each in entries)
    data = msgspec.to_builtins(msgspec.structs.replace(mark, tainted=is_tainted))
    metadata: JsonObject = {
        "timestamp": timestamp(),
        "platform": PLATFORM,
        "threadId": str(thread_id),
        "course": 1,
    }
    rows: list[UIMessage] = [
        {
            "id": "request",
            "role": "system",
            "metadata": metadata,
            "parts": [data_part("request", data, "request")],
        }
    ]
    for number, entry in enumerate(entries, 1):
        is_open = entry is sent.new
        row = _row(f"request-{number}", entry, metadata, language, is_open=is_open)
        if row["parts"]:
            rows.append(row)
    return rows


def _row(row_id: str, entry: Entry, metadata: JsonObject, language: str, *, is_open: bool) -> UIMessage:
    if isinstance(entry, Words):
        parts: list[JsonObject] = [
            {"type": "file", "mediaType": each.media_type, "url": each.url} for each in entry.files
        ]
        if entry.text:
            parts.append({"type": "text", "text": words_of(entry, language)})
        return {
            "id": row_id,
            "role": "user",
            "metadata": {**metadata, "userId": viewer().speaker},
            "parts": parts,
        }
    run_id = new_id("run")
    theirs = {"clientCalls": {call.id: True for call in entry.calls}} if entry.calls else {}
    ending = {"runId": run_id} if is_open else {"outcome": "replied"}
    return {
        "id": message_id_of(run_id) if is_open else row_id,
        "role": "assistant",
        "metadata": {**metadata, **theirs, **ending},
        "parts": _answer_parts(entry, is_open=is_open),
    }


def _answer_parts(entry: Answered, *, is_open: bool) -> list[JsonObject]:
    parts: list[JsonObject] = [{"type": "text", "text": entry.text, "state": "done"}] if entry.text else []
    for call in entry.calls:
        part: JsonObject = {"type": f"tool-{call.name}", "toolCallId": call.id, "input": call.arguments}
        result = (
            {"state": "input-available"}
            if is_open
            else {
                "state": "output-available",
                "output": call.result,
            }
        )
        parts.append({**part, **result})
    return [{"type": "step-start"}, *parts] if parts else []


def read_mark(thread: Thread) -> RequestMark | None:
    """Return what a thread says of the request it was made for."""
    parts = thread.messages[0]["parts"] if thread.messages else []
    found = next((part.get("data") for part in parts if part.get("type") == "data-request"), None)
    try:
        return msgspec.convert(found, RequestMark)
    except msgspec.ValidationError:
        return None


def send_id(thread_id: ThreadId, call_id: str) -> str:
    """Return the id under which a program is told of a call."""
    return call_id if thread_id.is_listed else f"{call_id}__{thread_id.scope_id}"


def take_id(thread_id: ThreadId, told: str) -> str:
    """Return the id of a call in its thread."""
    found = RETURN.fullmatch(told)
    return found["call"] if found and found["scope"] == thread_id.scope_id else told


def callers(ids: Iterable[str]) -> list[ThreadId]:
    """Return the threads that calls of these ids were made in, as far as the ids say so."""
    found = [RETURN.fullmatch(each) for each in ids]
    scopes = dict.fromkeys(each["scope"] for each in found if each is not None)
    return [ThreadId(PLATFORM, SCOPE, scope) for scope in scopes]


async def sweep(ship: Ship) -> None:
    """Remove what is older than a week, once an hour; what still waits for a person stays."""
    now = time.monotonic()
    if now - _swept.get(ship, -SWEEP_SECONDS) < SWEEP_SECONDS:
        return
    _swept[ship] = now
    waiting = await ship.store.consents.waiting()
    old = await asyncio.to_thread(_find_old, ship, await ship.threads.ids())
    for thread_id in old[:SWEEP_COUNT]:
        if str(thread_id) not in waiting and ship.keeper.running(str(thread_id)) is None:
            await remove(ship, thread_id)
    if len(old) > SWEEP_COUNT:
        # The next request goes on with the rest.
        del _swept[ship]


async def remove(ship: Ship, thread_id: ThreadId) -> None:
    """Remove a thread with its marks and logs; approvals and the audit log keep what they say of it."""
    await ship.threads.remove(thread_id)
    await ship.store.threads.remove(str(thread_id))
    await ship.store.threads.refresh(str(thread_id))
    for path in ship.layout.thread_logs(str(thread_id)):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _find_old(ship: Ship, thread_ids: list[ThreadId]) -> list[ThreadId]:
    before = time.time() - AGE_SECONDS
    found: list[ThreadId] = []
    for thread_id in thread_ids:
        path = ship.layout.thread(thread_id)
        if not thread_id.is_listed and path.is_file() and path.stat().st_mtime < before:
            found.append(thread_id)
    return found
