"""Build the history a model is sent in order, and remember the part of it that no longer changes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from operator import is_
from typing import Any, Literal, cast

import msgspec

from shipmate.context.section import tell_time
from shipmate.models.neutral import (
    Block,
    CallBlock,
    CallOutcome,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.wording import WORDING
from shipmate.thread.pin import has_words
from shipmate.values.message import JsonObject, UIMessage, is_tool, tool_name
from shipmate.values.nesting import check_nesting
from shipmate.values.reveal import reveal_line
from shipmate.values.saying import fill
from shipmate.values.sidecar import Sidecar
from shipmate.values.tool_name import OWN_QUESTIONS

# What every provider accepts: OpenAI allows 40 characters, Anthropic these letters.
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# How many messages are remembered over all threads.
REMEMBERED = 20_000
NOTHING = Sidecar()
NAME_LENGTH = 60

# What a model wrote in place of an object; servers parse arguments, so they must be one.
NO_OBJECT = "INVALID_JSON"


def read_arguments(part: JsonObject) -> JsonObject:
    """Return a call's arguments, as text under a name of its own when they are no object."""
    arguments = part.get("input")
    if arguments is None:
        arguments = part.get("rawInput")
    if arguments is None:
        return {}
    found = _decode(arguments) if isinstance(arguments, str) else arguments
    if isinstance(found, dict):
        return cast(JsonObject, found)
    return {NO_OBJECT: arguments if isinstance(arguments, str) else _json(arguments)}


def settle_call(part: JsonObject) -> tuple[str, CallOutcome]:
    """Say what came of a call, in words where it has no result yet."""
    approval = part.get("approval")
    answer: JsonObject = approval if isinstance(approval, dict) else {}
    state = part.get("state")
    if state == "output-denied" or (state == "approval-responded" and answer.get("approved") is False):
        reason = answer.get("reason")
        return f"{WORDING['denied']} {reason}" if reason else WORDING["denied"], "denied"
    if state == "approval-requested":
        return WORDING["waiting"], "interrupted"
    if state == "output-error" or ("output" not in part and part.get("errorText")):
        return _words(part.get("errorText"), WORDING["failed"]), "failed"
    if "output" not in part or state in ("input-available", "approval-responded"):
        return WORDING["interrupted"], "failed"
    if part.get("preliminary") is True:
        pieces = (WORDING["interrupted"], WORDING["partial"], _words(part["output"], WORDING["empty"]))
        return "\n\n".join(pieces), "failed"
    return _words(part["output"], WORDING["empty"]), "success"


def read_file(part: JsonObject) -> FileBlock | TextBlock:
    """Return an attached file that carries its bytes, any other as the line that names it."""
    line = describe_file(part)
    head, comma, data = _url(part).partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64") and _is_base64(data):
        name = part.get("filename")
        return FileBlock(_media_type(part), data, name if isinstance(name, str) else "", line)
    return TextBlock(line)


def describe_file(part: JsonObject) -> str:
    """Name a file in one line of text."""
    url = _url(part)
    name = part.get("filename")
    words = [name if isinstance(name, str) and name else "unnamed", _media_type(part) or "unknown type"]
    place = part.get("path") if url.startswith("data:") else url
    if isinstance(place, str) and place:
        words.append(place)
    return f"[attached file: {', '.join(words)}]"


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


def _media_type(part: JsonObject) -> str:
    kind = part.get("mediaType")
    return kind.lower() if isinstance(kind, str) else ""


def _url(part: JsonObject) -> str:
    url = part.get("url")
    return url if isinstance(url, str) else ""


def _words(value: Any, fallback: str) -> str:
    text = value if isinstance(value, str) else "" if value is None else _json(value)
    return text if text.strip() else fallback


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(check_nesting(text))
    except (msgspec.DecodeError, UnicodeError):
        return None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class ModelHistory:
    """What a model is sent, one side's turn after the other."""

    def __init__(self, model: str = "", zone: str | None = None) -> None:
        self.messages: list[ModelMessage] = []
        self._model = model
        self._zone = zone
        self._ids: dict[str, int] = {}

    def fork(self) -> ModelHistory:
        """Return a history that can grow without touching this one."""
        copy = ModelHistory(self._model, self._zone)
        copy.messages = self.messages.copy()
        copy._ids = self._ids.copy()
        if copy.messages:
            last = copy.messages[-1]
            copy.messages[-1] = ModelMessage(last.role, last.blocks.copy())
        return copy

    def add(self, message: UIMessage, sidecar: Sidecar = NOTHING, *, files: bool = True) -> None:
        """Add one message with what belongs to it; `files` lets the bytes of its files go along."""
        parts = [part for part in parts_of(message) if isinstance(part, dict)]
        match message.get("role"):
            case "assistant":
                self._add_assistant(parts, sidecar)
            case "system":
                self._add_summary(parts)
            case _:
                self._add_user(message, parts, sidecar, files=files)

    def _add_user(
        self, message: UIMessage, parts: list[JsonObject], sidecar: Sidecar, *, files: bool
    ) -> None:
        said: list[Block] = []
        for part in parts:
            if text := _text(part):
                said.append(TextBlock(text))
            elif part.get("type") == "file":
                said.append(read_file(part) if files else TextBlock(describe_file(part)))
        if said:
            context = sidecar.context.strip()
            beside = fill(WORDING["beside"], {"text": context}) if context else ""
            before = [self._stamp(message), _name_speaker(message), beside]
            note = "\n".join(line for line in before if line)
            self._extend("user", [*([TextBlock(note)] if note else []), *said])

    def _stamp(self, message: UIMessage) -> str:
        """Return when a message was sent, so that time passes in a history without any of it changing."""
        metadata: Any = message.get("metadata")
        at = metadata.get("timestamp") if isinstance(metadata, dict) else None
        if self._zone is None or not isinstance(at, str):
            return ""
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            return ""
        moment = tell_time(moment, self._zone)
        return f"[{moment:%A %Y-%m-%d %H:%M} UTC{moment.isoformat()[-6:]}]"

    def _add_summary(self, parts: list[JsonObject]) -> None:
        """Add what was pinned, whose words say so themselves; all other words sum up what came before."""
        pinned: list[str] = []
        summary: list[str] = []
        for before, part in pairwise([{}, *parts]):
            if text := _text(part):
                (pinned if has_words(before) else summary).append(text)
        if summary:
            summary = [WORDING["summary"], *summary, WORDING["summary-end"]]
        if words := "\n\n".join([*pinned, *summary]):
            self._extend("user", [TextBlock(words)])
        if summary and any(part.get("type") == "data-course" for part in parts):
            # What the person says next stands apart from it.
            self._extend("assistant", [TextBlock(WORDING["summary-read"])])

    def _add_assistant(self, parts: list[JsonObject], sidecar: Sidecar) -> None:
        thoughts, calls = self._read_signatures(sidecar)
        answer: list[Block] = []
        results: list[Block] = []
        step = stretch = 0
        for part in parts:
            if text := _text(part):
                answer.append(TextBlock(text))
            elif is_tool(part):
                if tool_name(part) in OWN_QUESTIONS:
                    continue
                self._add_call(part, calls, answer, results)
            elif part.get("type") == "reasoning":
                if signature := thoughts.get((step, stretch)):
                    answer.append(ReasoningBlock(str(part.get("text") or ""), signature))
                stretch += 1
            elif part.get("type") == "step-start":
                self._step(answer, results)
                answer, results = [], []
                step, stretch = step + 1, 0
            elif part.get("type") == RESUMED:
                self._step(answer, results)
                answer, results = [], []
                self._go_on()
        self._step(answer, results)

    def _read_signatures(
        self, sidecar: Sidecar
    ) -> tuple[Mapping[tuple[Any, Any], JsonObject], Mapping[str, JsonObject]]:
        """Return what the model that is asked signed itself: by stretch of reasoning, and by call."""
        own = [entry for entry in sidecar.signatures if entry.get("by") == self._model]
        thoughts = {(entry.get("step"), entry["stretch"]): entry for entry in own if "stretch" in entry}
        return thoughts, {str(entry["call"]): entry for entry in own if "call" in entry}

    def _go_on(self) -> None:
        """Say again what the model was told when its answer had broken off here."""
        if self.messages and self.messages[-1].role == "assistant":
            self._extend("user", [TextBlock(WORDING["continue"])])

    def _add_call(
        self, part: JsonObject, signed: Mapping[str, JsonObject], answer: list[Block], results: list[Block]
    ) -> None:
        if part.get("state") == "input-streaming":
            return
        raw = part["toolCallId"]
        call_id = self._unique(raw)
        name = tool_name(part)
        if not TOOL_NAME.fullmatch(name):
            name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"
        text, outcome = settle_call(part)
        answer.append(CallBlock(call_id, name, read_arguments(part), signed.get(str(raw), {})))
        results.append(ResultBlock(call_id, name, text, outcome))

    def _unique(self, raw: Any) -> str:
        """Keep a call's id where a provider takes it and no other call has it; else make one from it."""
        known = isinstance(raw, str) and CALL_ID.fullmatch(raw)
        wanted = raw if known else f"call_{hashlib.blake2b(repr(raw).encode(), digest_size=12).hexdigest()}"
        free = wanted
        while free in self._ids:
            self._ids[wanted] += 1
            free = f"{wanted[:32]}_{self._ids[wanted]}"
        self._ids[free] = 1
        return free

    def _step(self, answer: list[Block], results: list[Block]) -> None:
        self._extend("assistant", answer)
        self._extend("user", results)

    def _extend(self, role: Literal["user", "assistant"], blocks: list[Block]) -> None:
        """Add to the last turn when it is the same side's: some providers want turns."""
        if not blocks:
            return
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == role:
            last.blocks.extend(blocks)
        else:
            self.messages.append(ModelMessage(role, blocks))


# Stands where an answer broke off and the model was asked to go on from there.
RESUMED = "data-resumed"


class _Stretch:
    """The settled beginning of one thread and the history made of it."""

    def __init__(self, model: str, zone: str | None) -> None:
        self.history = ModelHistory(model, zone)
        self.messages: list[UIMessage] = []
        # Those that have one, and where messages hold files.
        self._sidecars: dict[str, Sidecar] = {}
        self._ids: set[str] = set()
        self.files: list[int] = []
        self._parts: list[list[Any]] = []
        self._sizes: list[int] = []

    def begins(self, messages: Sequence[UIMessage], sidecars: Mapping[str, Sidecar], end: int) -> bool:
        """Return whether `messages` still begin with what is kept here."""
        return (
            len(self.messages) <= end
            and all(map(is_, self.messages, messages))
            and self._sizes == list(map(len, self._parts))
            and {key: sidecars[key] for key in self._ids & sidecars.keys()} == self._sidecars
        )

    def grow(self, messages: Sequence[UIMessage], sidecars: Mapping[str, Sidecar]) -> None:
        """Keep further messages."""
        for message in messages:
            message_id = message.get("id", "")
            self.history.add(message, sidecars.get(message_id, NOTHING))
            self._ids.add(message_id)
            if message_id in sidecars:
                self._sidecars[message_id] = sidecars[message_id]
            self.files += [len(self.messages)] * count_files(message)
            self.messages.append(message)
            self._parts.append(parts_of(message))
            self._sizes.append(len(self._parts[-1]))


class HistoryMemory:
    """The settled beginnings of threads, the least used forgotten first."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[int, str, str | None], _Stretch] = OrderedDict()

    def recall(
        self,
        messages: Sequence[UIMessage],
        sidecars: Mapping[str, Sidecar],
        model: str,
        zone: str | None,
        end: int,
    ) -> tuple[ModelHistory, list[int]]:
        """Return the history of the first `end` messages, and which of them hold files, one for each.

        It is grown from what is remembered of them.
        """
        if end <= 0:
            return ModelHistory(model, zone), []
        # The stretch keeps its messages alive, so this id cannot come to mean another one.
        key = id(messages[0]), model, zone
        stretch = self._kept.pop(key, None)
        if stretch is None or not stretch.begins(messages, sidecars, end):
            stretch = _Stretch(model, zone)
        stretch.grow(messages[len(stretch.messages) : end], sidecars)
        self._kept[key] = stretch
        self._forget()
        return stretch.history, stretch.files

    def _forget(self) -> None:
        total = sum(len(stretch.messages) for stretch in self._kept.values())
        while total > self._limit and len(self._kept) > 1:
            total -= len(self._kept.popitem(last=False)[1].messages)


def count_files(message: UIMessage) -> int:
    """Count the files of a message that carry their bytes."""
    return sum(
        isinstance(part, dict) and part.get("type") == "file" and str(part.get("url")).startswith("data:")
        for part in parts_of(message)
    )


def parts_of(message: UIMessage) -> list[Any]:
    """Return a message's parts, none when it has something else in their place."""
    parts: Any = message.get("parts")
    return parts if isinstance(parts, list) else []


def _name_speaker(message: UIMessage) -> str:
    """Return who said something in a group; a name is whatever its bearer chose, so it stands in quotes."""
    metadata: Any = message.get("metadata")
    name = metadata.get("speaker") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        return ""
    return fill(WORDING["speaker"], {"name": json.dumps(reveal_line(name, NAME_LENGTH), ensure_ascii=False)})


def _text(part: JsonObject) -> str | None:
    """Return a text part's words; blank ones count as none, because providers refuse them."""
    if part.get("type") != "text":
        return None
    text = part.get("text")
    return text if isinstance(text, str) and text and not text.isspace() else None
