"""Project one message onto one client: tell it what it does not hold yet, and nothing twice."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from shipmate.delivery.cleaning import CleanChunks
from shipmate.orchestrator.reduce import MessageSnapshot, Reducer
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, UIMessage, is_settled, is_tool, metadata_of, tool_name


def retell_part(part: JsonObject, place: int, open_as: str | None = None) -> list[Chunk]:
    """Return the chunks of a part; a text that is still being written stays open under its id."""
    kind: str = part["type"]
    if kind in ("text", "reasoning"):
        # Clients keep the id of a reasoning part, so it must be the stored one.
        text_id = open_as or str(part.get("id", f"again-{place}"))
        start = [chunks.text(f"{kind}-start", text_id), chunks.text(f"{kind}-delta", text_id, part["text"])]
        return start if open_as else [*start, chunks.text(f"{kind}-end", text_id)]
    if kind == "step-start":
        return [chunks.start_step()]
    if kind == "file":
        return [chunks.file(part["url"], part["mediaType"])]
    if kind.startswith("data-"):
        return [chunks.data(kind.removeprefix("data-"), part["data"], part.get("id"))]
    return retell_call(part) if is_tool(part) else []


def retell_call(part: JsonObject) -> list[Chunk]:
    """Return the chunks of a call from its announcement to where it stands."""
    if part.get("state") == "input-streaming":
        return [chunks.tool_input_start(part["toolCallId"], tool_name(part))]
    told = [_announce(part), *_ask(part)]
    if part.get("state") == "approval-responded":
        # No chunk that both clients know says that a person decided; announced anew, the call no longer asks.
        told.append(_announce(part))
    return [*told, *_settle(part)]


def catch_up_call(held: JsonObject, part: JsonObject) -> list[Chunk]:
    """Return the chunks that bring a call a client holds to where it stands."""
    told: list[Chunk] = []
    if held.get("state") == "input-streaming" and part.get("state") != "input-streaming":
        told.append(_announce(part))
    if _approval_id(held) != _approval_id(part):
        told += _ask(part)
    if is_settled(part) and _result(held) != _result(part):
        told += _settle(part)
    return told


def _announce(part: JsonObject) -> Chunk:
    told = chunks.tool_input_available(part["toolCallId"], tool_name(part), part.get("input", {}))
    # Clients keep calls of tools they were not built with under a type of their own.
    return {**told, "dynamic": True} if part["type"] == "dynamic-tool" else told


def _ask(part: JsonObject) -> list[Chunk]:
    approval_id = _approval_id(part)
    return [] if approval_id is None else [chunks.tool_approval_request(part["toolCallId"], approval_id)]


def _settle(part: JsonObject) -> list[Chunk]:
    call_id = part["toolCallId"]
    match part.get("state"):
        case "output-available":
            return [chunks.tool_output(call_id, part["output"])]
        case "output-error":
            return [chunks.tool_output_error(call_id, part["errorText"])]
        case "output-denied":
            return [chunks.tool_output_denied(call_id)]
        case _:
            return []


def _approval_id(part: JsonObject) -> str | None:
    approval = part.get("approval")
    return approval.get("id") if isinstance(approval, dict) else None


def _result(part: JsonObject) -> tuple[object, ...]:
    return part.get("state"), part.get("output"), part.get("errorText")


ENDINGS = frozenset({"finish", "abort", "error"})
# A part, and the id it is open under while it is being written.
Open: TypeAlias = tuple[JsonObject, str | None]


class Projection:
    """One client's copy of one message: what it brought with it, and what it was told."""

    def __init__(self, message_id: str, held: UIMessage | None = None) -> None:
        self._words = CleanChunks()
        self._copy = Reducer(held or {"id": message_id, "role": "assistant", "parts": []})
        self._is_begun = False
        self.is_finished = False
        # Whether the copy is what the message is; no chunk takes back what a client holds too much.
        self.is_exact = True

    @property
    def is_begun(self) -> bool:
        return self._is_begun

    def meet(self, now: MessageSnapshot) -> list[Chunk]:
        """Return the chunks that bring the copy to where the message stands."""
        told = self._begin(now.message)
        missing, is_exact = difference(self._copy.snapshot(), now)
        self.is_exact = self.is_exact and is_exact
        if missing and missing[-1]["type"] == "start-step":
            # Clients show a step only with the next thing they are told.
            missing.append(chunks.message_metadata(metadata_of(now.message)))
        return [*told, *self._apply(missing)]

    def take(self, chunk: Chunk) -> list[Chunk]:
        """Return what to tell of a chunk that just happened."""
        self.is_finished = chunk["type"] in ENDINGS
        if chunk["type"] != "start" or not self._is_begun:
            told = [] if self._is_begun or chunk["type"] == "start" else [self._start()]
            self._is_begun = True
            return self._apply([*told, chunk])
        # A message that goes on is opened once.
        metadata = chunk.get("messageMetadata")
        return self._apply([chunks.message_metadata(metadata)] if metadata else [])

    def finish(self, now: MessageSnapshot) -> list[Chunk]:
        """Return what is left to tell of a message that nobody writes any more."""
        told = self.meet(now)
        return told if self.is_finished else [*told, *self.take(chunks.finish("stop"))]

    def _begin(self, message: UIMessage) -> list[Chunk]:
        metadata = metadata_of(message)
        if self._is_begun:
            is_known = metadata == metadata_of(self._copy.message)
            return [] if is_known else self._apply([chunks.message_metadata(metadata)])
        if not message["parts"] and not metadata:
            # Nothing is said yet; its own start opens it.
            return []
        self._is_begun = True
        return self._apply([chunks.start(message["id"], metadata)])

    def _start(self) -> Chunk:
        return chunks.start(self._copy.message["id"], {})

    def _apply(self, told: list[Chunk]) -> list[Chunk]:
        for chunk in told:
            self._copy.apply(chunk)
        return self._words.take(told)


def difference(held: MessageSnapshot, now: MessageSnapshot) -> tuple[list[Chunk], bool]:
    """Return the chunks that make `now` of `held`, and whether they can.

    Calls and named data are known by their ids, and told again where they changed. Texts, files and steps are
    known by their order alone: what is held of them must be the beginning of what there is.
    """
    calls = {part["toolCallId"]: part for part in held.message["parts"] if is_tool(part)}
    named = {(part["type"], part["id"]): part for part in held.message["parts"] if _is_named(part)}
    ordered = deque(each for each in _with_ids(held) if not is_tool(each[0]) and not _is_named(each[0]))
    told: list[Chunk] = []
    is_exact = True
    for place, (part, open_as) in enumerate(_with_ids(now)):
        if is_tool(part) and (call := calls.pop(part["toolCallId"], None)) is not None:
            told += catch_up_call(call, part)
        elif _is_named(part) and (known := named.pop((part["type"], part["id"]), None)) is not None:
            told += [] if known["data"] == part["data"] else retell_part(part, place)
        elif ordered and not is_tool(part) and not _is_named(part):
            more = _continue(ordered.popleft(), (part, open_as))
            is_exact = is_exact and more is not None
            told += more or []
        else:
            told += retell_part(part, place, open_as)
    return told, is_exact and not (calls or named or ordered)


def _continue(held: Open, now: Open) -> list[Chunk] | None:
    """Return the chunks that make one part of another, or None when no chunk can."""
    (old, held_as), (part, open_as) = held, now
    kind: str = part["type"]
    if old["type"] != kind:
        return None
    if kind not in ("text", "reasoning"):
        return [] if {**old, **part} == old else None
    added = str(part["text"]).removeprefix(str(old.get("text", "")))
    is_beginning = str(part["text"]).startswith(str(old.get("text", "")))
    # Only a text that is open, here and there under one id, can grow.
    if not is_beginning or (added and held_as is None) or (open_as is not None and open_as != held_as):
        return None
    told = [chunks.text(f"{kind}-delta", held_as, added)] if added and held_as else []
    if held_as is not None and open_as is None:
        told.append(chunks.text(f"{kind}-end", held_as))
    return told


def _is_named(part: JsonObject) -> bool:
    return part["type"].startswith("data-") and "id" in part


def _with_ids(snapshot: MessageSnapshot) -> list[Open]:
    ids = {place: key.partition(" ")[2] for key, place in snapshot.open.items()}
    return [(part, ids.get(place)) for place, part in enumerate(snapshot.message["parts"])]
