"""A model that needs no key and no network: it follows plain requests by calling the real tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import msgspec

from shipmate.errors import ModelStreamError
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolSpec,
    Usage,
)
from shipmate.models.rehearsal.intent import Intent, parse_request
from shipmate.models.rehearsal.language import language_of, load_words, say
from shipmate.models.rehearsal.offline import count_steps, derive_call_id
from shipmate.models.rehearsal.outcome import describe_outcomes, is_all_done, last_calls
from shipmate.values.message import JsonObject, UIMessage, estimate_tokens, text_of

# Deltas of a few words each, as a provider sends them.
PIECE = re.compile(r".{1,24}(?:\s+|$)|.{1,12}", re.DOTALL)
SLOW_SECONDS = 0.1
COUNT_LIMIT = 2_000
SUMMARY_LINE = 200
# What `echo` proposes when the tool for it is on offer.
SUGGESTED = ("read", "glob", "exec")

# The names a tool of each kind goes by, the usual one first.
TOOLS: dict[str, tuple[str, ...]] = {
    "read": ("read", "read_file"),
    "glob": ("glob", "list_files"),
    "grep": ("grep", "search_files"),
    "exec": ("exec", "exec_shell"),
    "write": ("write", "write_file"),
    "edit": ("edit", "edit_file"),
    "web_fetch": ("web_fetch",),
    "memory_upsert": ("memory_upsert",),
    "recall": ("memory_search", "memory_recall", "memory_read"),
    "show_image": ("show_image",),
    "send_file": ("send_file",),
    "jobs": ("job",),
}
# The names an argument of each role goes by.
NAMES: dict[str, tuple[str, ...]] = {
    "path": ("path", "file_path", "filePath", "file", "filename"),
    "pattern": ("pattern", "glob", "query", "regex"),
    "command": ("command", "cmd"),
    "content": ("content", "text", "fact", "body", "value"),
    "old": ("old", "old_text", "old_string", "oldText"),
    "new": ("new", "new_text", "new_string", "newText"),
    "url": ("url", "address"),
    "query": ("query", "pattern", "text", "topic"),
    "background": ("background",),
    "action": ("action",),
}
DEFAULTS: dict[str, dict[str, str]] = {"glob": {"pattern": "*"}, "jobs": {"action": "list"}}
BLANKS: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
SUBJECT_LENGTH = 40


class Fitted(msgspec.Struct, frozen=True):
    """A call ready to make."""

    intent: Intent
    tool: str
    arguments: str


def fit(intent: Intent, tools: Sequence[ToolSpec]) -> Fitted | None:
    """Make the call an intent asks for; None when no such tool is on offer."""
    if intent.kind == "call":
        named = _find((intent.slots["tool"],), tools)
        return Fitted(intent, named.name, intent.slots.get("arguments", "{}")) if named else None
    tool = _find(TOOLS[intent.kind], tools)
    if tool is None:
        return None
    arguments = _arguments({**DEFAULTS.get(intent.kind, {}), **intent.slots}, tool.schema)
    return Fitted(intent, tool.name, msgspec.json.encode(arguments).decode())


def tool_named(intent: Intent) -> str:
    """Return the usual name of the tool an intent needs."""
    return intent.slots["tool"] if intent.kind == "call" else TOOLS[intent.kind][0]


def _find(names: Sequence[str], tools: Sequence[ToolSpec]) -> ToolSpec | None:
    return next((tool for name in names for tool in tools if tool.name == name), None)


def _arguments(slots: dict[str, str], schema: JsonObject) -> JsonObject:
    properties: JsonObject = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    given: JsonObject = {}
    for role, value in slots.items():
        free = next((name for name in required if name not in given and _is_text(properties[name])), None)
        name = next((name for name in NAMES.get(role, ()) if name in properties and name not in given), free)
        if name is not None:
            given[name] = value if _is_text(properties[name]) or "enum" in properties[name] else True
    subject = next(iter(slots.values()), "")[:SUBJECT_LENGTH]
    return given | {name: _blank(properties[name], subject) for name in required if name not in given}


def _is_text(schema: JsonObject) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


def _blank(schema: JsonObject, subject: str) -> Any:
    """Make up a value for an argument the person did not mention."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    return BLANKS.get(str(schema.get("type")), subject)


class RehearsalModel:
    """A model that answers offline and always the same way, in the language it is spoken to."""

    name = "rehearsal"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        written = 0
        calls = False
        async for event in _Turn(request).answer():
            calls = calls or isinstance(event, ToolCall)
            written += _size(event)
            yield event
        usage = Usage(input_tokens=_count_input(request), output_tokens=written, cost=0.0)
        yield Finish("tool-calls" if calls else "stop", usage, self.name)


class _Turn:
    """One answer, worked out from what a request holds."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self.said = "\n\n".join(_spoken(request.messages))
        self.words = load_words(language_of(self.said))
        self.stages = parse_request(self.said)

    async def answer(self) -> AsyncIterator[ModelEvent]:
        taken = count_steps(self.request)
        if taken == 0:
            async for event in self._begin():
                yield event
            return
        calls = last_calls(self.request.messages)
        for piece in _pieces(describe_outcomes(calls, self.words)):
            yield piece
        rest = self.stages[taken:]
        if rest and is_all_done(calls):
            for event in self._act(rest[0], "next"):
                yield event
        elif rest:
            actions = self._join(self._action(intent) for stage in rest for intent in stage)
            for piece in _pieces("\n\n" + say(self.words["halted"], actions=actions)):
                yield piece

    def _has_broken_off(self) -> bool:
        last = self.request.messages[-1] if self.request.messages else None
        return last is not None and last["role"] == "assistant"

    async def _begin(self) -> AsyncIterator[ModelEvent]:
        """Answer the person's own words."""
        if not self.stages:
            for piece in _pieces(self._echo()):
                yield piece
            return
        first = self.stages[0]
        for intent in first:
            if intent.kind not in TOOLS and intent.kind != "call":
                async for event in self._speak(intent):
                    yield event
        for event in self._act([intent for intent in first if intent.kind in (*TOOLS, "call")], "doing"):
            yield event

    async def _speak(self, intent: Intent) -> AsyncIterator[ModelEvent]:
        """Answer what needs no tool."""
        if intent.kind == "count":
            async for event in self._count(intent):
                yield event
            return
        if intent.kind == "fail" and self._has_broken_off():
            # Asked to go on, it says nothing more.
            raise ModelStreamError(self.words["fail-reason"])
        topic = intent.slots.get("topic") or self.words["nothing"]
        if intent.kind == "think":
            for piece in PIECE.findall(say(self.words["think"], topic=topic)):
                yield ReasoningDelta(piece)
            yield ReasoningEnd()
        for piece in _pieces(self._saying(intent.kind, topic)):
            yield piece
        if intent.kind == "fail":
            raise ModelStreamError(self.words["fail-reason"])

    async def _count(self, intent: Intent) -> AsyncIterator[ModelEvent]:
        limit = min(int(intent.slots["number"]), COUNT_LIMIT)
        for number in range(1, limit + 1):
            # Without a pause the whole count would be one uninterruptible burst.
            await asyncio.sleep(SLOW_SECONDS if intent.slots.get("slowly") else 0)
            yield TextDelta(f"{number} ")
        yield TextDelta("\n\n" + say(self.words["count-end"], count=limit))

    def _saying(self, kind: str, topic: str) -> str:
        words, tools = self.words, self.request.tools
        match kind:
            case "think":
                return say(words["thought"], topic=topic)
            case "tools":
                names = ", ".join(f"`{tool.name}`" for tool in tools)
                return say(words["tools"], tools=names) if names else words["no-tools"]
            case "summary":
                points = "\n".join(f"- {line}" for line in self._asked())
                return say(words["summary"], points=points)
            case _:
                return say(words[kind], intro=words["intro"], key=words["key"], tries=self._tries())

    def _asked(self) -> list[str]:
        """List what the person asked for in this course."""
        said = [text_of(message) for message in self.request.messages if message["role"] == "user"]
        return [" ".join(text.split())[:SUMMARY_LINE] for text in said if text.strip()]

    def _tries(self) -> str:
        lines = [line.split(" | ", 1) for line in self.words["tries"].splitlines()]
        return "\n".join(f"- {text}" for kind, text in lines if kind == "any" or self._is_offered(kind))

    def _is_offered(self, kind: str) -> bool:
        return any(tool.name in TOOLS[kind] for tool in self.request.tools)

    def _echo(self) -> str:
        tries = dict(line.split(" | ", 1) for line in self.words["tries"].splitlines()[::-1])
        kinds = [kind for kind in SUGGESTED if self._is_offered(kind)]
        shown = [found[0] for kind in kinds if (found := re.search(r"`[^`]+`", tries[kind]))]
        said = " ".join(self.said.split())
        return say(
            self.words["echo"],
            said=said if len(said) <= SUMMARY_LINE else f"{said[:SUMMARY_LINE]}…",
            intro=self.words["intro"],
            key=self.words["key"],
            suggestions=", ".join(shown) or "`markdown`",
        )

    def _act(self, intents: Sequence[Intent], lead: str) -> Iterator[ModelEvent]:
        """Call the tools a stage asks for, and say which are not on offer."""
        fitted = [(intent, fit(intent, self.request.tools)) for intent in intents]
        calls = [call for _, call in fitted if call is not None]
        gap = "\n\n" if lead == "next" else ""
        for intent, call in fitted:
            if call is None:
                yield from _pieces(gap + say(self.words["missing"], tool=tool_named(intent)) + "\n\n")
        if calls:
            actions = self._join(self._action(call.intent) for call in calls)
            yield from _pieces(gap + say(self.words[lead], actions=actions))
        for number, call in enumerate(calls, 1):
            yield from _call(call, derive_call_id(self.request, number))

    def _action(self, intent: Intent) -> str:
        slots = intent.slots
        key = next((k for k in ("tool", "path", "command", "pattern", "url", "query") if k in slots), None)
        if intent.kind == "grep":
            key = "pattern"
        return say(self.words[f"action-{intent.kind}"], object=f"`{slots[key]}`" if key else "`*`")

    def _join(self, actions: Iterator[str]) -> str:
        first, *rest = actions
        # Only the first of several begins with a capital letter.
        return (
            self.words["comma"]
            .strip("“”")
            .join([first, *(action[:1].lower() + action[1:] for action in rest)])
        )


def _spoken(messages: Sequence[UIMessage]) -> list[str]:
    """Return what the person said last: more than one message when several were merged into this turn."""
    said: list[str] = []
    for message in reversed(messages):
        if message["role"] == "user":
            said.insert(0, text_of(message))
        elif said:
            break
    return said


def _pieces(text: str) -> Iterator[TextDelta]:
    return (TextDelta(piece) for piece in PIECE.findall(text))


def _call(call: Fitted, call_id: str) -> Iterator[ModelEvent]:
    for start in range(0, len(call.arguments), 16):
        yield ToolCallDelta(call_id, call.tool, call.arguments[start : start + 16])
    yield ToolCall(call_id, call.tool, call.arguments)


def _size(event: ModelEvent) -> int:
    match event:
        case TextDelta() | ReasoningDelta():
            return estimate_tokens(event.text)
        case ToolCall():
            return estimate_tokens(event.arguments)
        case _:
            return 0


def _count_input(request: ModelRequest) -> int:
    schemas = sum(len(msgspec.json.encode(tool)) for tool in request.tools) // 4
    return (
        estimate_tokens(request.system) + schemas + sum(estimate_tokens(text_of(m)) for m in request.messages)
    )
