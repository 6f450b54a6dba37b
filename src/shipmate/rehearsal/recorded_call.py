"""The calls of a script with what came of them, for calls that are made again."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from shipmate.errors import ToolError
from shipmate.priming.rehearsal.answer_piece import AnswerPiece, read_outcome
from shipmate.tools.tool import ToolResult
from shipmate.values.message import JsonObject, UIMessage, is_tool, tool_name

# What the loop says of a call that a rule, a mode or a right kept from running.
REFUSED = "not allowed: "
NOT_RECORDED = "The script holds no result for this call. Nothing ran."
WHAT_LIMIT = 200
# Tells which calls are the same: the tool's own name, and its arguments however they were written.
Key: TypeAlias = Callable[[str, JsonObject], tuple[str, str]]


def plain_key(name: str, arguments: JsonObject) -> tuple[str, str]:
    """Return the key of a call as it was written."""
    return name, json.dumps(arguments, sort_keys=True)


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One call of a script, in which turn it stands, and what came of it."""

    turn: int
    name: str
    arguments: JsonObject
    outcome: AnswerPiece | None
    # What the call returned, as it stands in the thread.
    output: object = None
    files: tuple[JsonObject, ...] = ()

    @property
    def has_run(self) -> bool:
        """Return whether the call was let through when it was recorded."""
        if self.outcome is None or self.outcome.kind == "denial":
            return False
        return self.outcome.kind == "result" or not self.outcome.text.startswith(REFUSED)


class RecordedCalls:
    """The calls of a script; each answers one call that is made again, the earliest that fits first."""

    def __init__(self, turns: Sequence[Sequence[UIMessage]], key: Key = plain_key) -> None:
        self._calls = [call for number, answers in enumerate(turns) for call in read_calls(number, answers)]
        self.key = key
        self._free: dict[tuple[str, str], dict[int, deque[RecordedCall]]] | None = None
        # Which call answers which: whoever approves it and whoever runs it see the same.
        self._given: dict[str, RecordedCall | None] = {}
        self._turn = 0
        # One sentence for each call of this turn that nothing recorded answers.
        self.missed: list[str] = []

    @property
    def names(self) -> list[str]:
        """Return the names of the tools that were called."""
        return list(dict.fromkeys(call.name for call in self._calls))

    def begin(self, turn: int) -> None:
        """Go on to a turn: its calls answer first."""
        self._turn = turn
        self.missed = []
        self._given.clear()

    def decide(self, call_id: str, name: str, arguments: JsonObject) -> tuple[bool, str]:
        """Return whether a call that is asked about was let through then, and the words of a refusal."""
        found = self._find(call_id, name, arguments)
        if found is None or found.outcome is None:
            return False, NOT_RECORDED
        return found.has_run, found.outcome.text if found.outcome.kind == "denial" else ""

    def answer(self, call_id: str, name: str, arguments: JsonObject) -> ToolResult:
        """Return what the call returned when it was recorded; raise the error it gave."""
        found = self._find(call_id, name, arguments)
        if found is None or found.outcome is None:
            raise ToolError(NOT_RECORDED)
        if not found.has_run:
            self.missed.append(f"{tell_call(name, arguments)}: it was refused then, and runs now")
            raise ToolError("The script says that this call was refused. Nothing ran.")
        if found.outcome.kind == "error":
            raise ToolError(found.outcome.text)
        return ToolResult(output=found.output, files=found.files)

    def _find(self, call_id: str, name: str, arguments: JsonObject) -> RecordedCall | None:
        if call_id not in self._given:
            found = self._given[call_id] = self._take(self.key(name, arguments))
            if found is None:
                self.missed.append(f"{tell_call(name, arguments)}: the script has no such call left")
            elif found.outcome is None:
                self.missed.append(f"{tell_call(name, arguments)}: the script has no result for it")
        return self._given[call_id]

    def _take(self, key: tuple[str, str]) -> RecordedCall | None:
        """Return the first call of this turn that is the same, else of any turn, and hand it out once."""
        if self._free is None:
            self._free = _sort(self._calls, self.key)
        fitting = self._free.get(key, {})
        turn = (
            self._turn if fitting.get(self._turn) else next((n for n, left in fitting.items() if left), None)
        )
        return None if turn is None else fitting[turn].popleft()


def _sort(calls: Sequence[RecordedCall], key: Key) -> dict[tuple[str, str], dict[int, deque[RecordedCall]]]:
    """Return calls that are the same together, turn by turn."""
    found: dict[tuple[str, str], dict[int, deque[RecordedCall]]] = {}
    for call in calls:
        same = found.setdefault(key(call.name, call.arguments), {})
        same.setdefault(call.turn, deque()).append(call)
    return found


def read_calls(turn: int, answers: Sequence[UIMessage]) -> Iterator[RecordedCall]:
    """Yield the calls of some messages; the files behind a call are what it showed."""
    for message in answers:
        parts = message["parts"]
        for place, part in enumerate(parts):
            if is_tool(part):
                given = part.get("input")
                yield RecordedCall(
                    turn=turn,
                    name=tool_name(part),
                    arguments=given if isinstance(given, dict) else {},
                    outcome=read_outcome(part),
                    output=part.get("output"),
                    files=tuple(_files_behind(parts[place + 1 :])),
                )


def _files_behind(parts: Sequence[JsonObject]) -> Iterator[JsonObject]:
    for part in parts:
        if part.get("type") != "file":
            return
        yield part


def tell_call(name: str, arguments: JsonObject) -> str:
    """Name a call on one short line."""
    text = json.dumps(arguments, ensure_ascii=False)
    return f"{name} {text if len(text) <= WHAT_LIMIT else f'{text[:WHAT_LIMIT]}…'}"
