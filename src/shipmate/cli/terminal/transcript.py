"""Turn the chunks of a run into what a terminal shows: finished pieces, and a live rest that changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from shipmate.approvals.question import literal
from shipmate.cli.terminal.card import clean, describe_call, shorten
from shipmate.cli.terminal.tongue import say
from shipmate.tools.steps import write_steps
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, UIMessage, is_settled, metadata_of, tool_name, tool_parts

ItemKind = Literal["said", "text", "thought", "card", "notice", "error", "question"]
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
SETTLING = ("tool-output-available", "tool-output-error", "tool-output-denied", "tool-input-error")
# What may come between a call's result and the note of how long it took.
BESIDE = (*SETTLING, "message-metadata", "file")


class Item(msgspec.Struct, frozen=True):
    """One finished piece of output; `text` of a question is the approval's id."""

    kind: ItemKind
    text: str


class Blocks:
    """Markdown collected until a block is whole, so that it can be rendered once and stays."""

    def __init__(self) -> None:
        self.rest = ""
        self._fence = ""

    def push(self, delta: str) -> list[str]:
        """Add text; give the blocks that are whole now."""
        self.rest += delta
        whole: list[str] = []
        block: list[str] = []
        *lines, last = self.rest.split("\n")
        for line in lines:
            self._note_fence(line)
            if line.strip() or self._fence or not block:
                block.append(line)
            else:
                whole.append("\n".join(block))
                block = []
        # Lines of the open block are read again next time; a fence they opened must not count twice.
        self._fence = ""
        self.rest = "\n".join([*block, last])
        return [text for text in whole if text.strip()]

    def flush(self) -> list[str]:
        """Return what is left when the text ends."""
        text, self.rest = self.rest, ""
        return [text] if text.strip() else []

    def _note_fence(self, line: str) -> None:
        mark = FENCE.match(line)
        if mark is None:
            return
        if not self._fence:
            self._fence = mark[1]
        elif mark[1].startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""


class Transcript:
    """What a terminal shows of one thread, made by following its chunks."""

    def __init__(self, name_file: Callable[[str], str] = str) -> None:
        self._name_file = name_file
        self._blocks = Blocks()
        self._thinking = False
        self._calls: dict[str, JsonObject] = {}
        # Calls that were open when a run ended: the next keeper may go on with them.
        self._left: dict[str, JsonObject] = {}
        self._times: dict[str, int] = {}
        self._error = ""
        # The last notice that was told before its row was read.
        self._passing = ""

    def apply(self, chunk: Chunk) -> list[Item]:
        """Take a chunk over; give what is finished by it."""
        kind = str(chunk["type"])
        items = self._settle() if kind not in BESIDE else []
        match kind:
            case "text-delta":
                items += [Item("text", block) for block in self._blocks.push(clean(chunk["delta"]))]
            case "reasoning-delta":
                self._thinking = True
                items += [Item("thought", block) for block in self._blocks.push(clean(chunk["delta"]))]
            case "text-end" | "reasoning-end" | "finish" | "abort":
                items += self._flush()
            case "message-metadata":
                items += self._take_times(chunk)
            case "tool-approval-request":
                items.append(Item("question", str(chunk["approvalId"])))
                self._open_call(chunk["toolCallId"])["state"] = "approval-requested"
            case "file":
                items.append(Item("notice", f"file: {literal(shorten(self._name_file(str(chunk['url']))))}"))
            case _ if kind.startswith("tool-"):
                self._take_call(chunk)
            case "data-error" | "data-notice" | "error":
                items += [*self._flush(), *self._take_words(chunk)]
            case "data-steps":
                steps = (chunk.get("data") or {}).get("steps") or ()
                items += [*self._flush(), Item("notice", clean(write_steps(steps)))]
            case _:
                pass
        return items

    def live(self) -> list[str]:
        """Return the lines that still change: running calls, and text whose block is not whole."""
        cards = [describe_call(part, part["name"]) for part in self._calls.values() if not _is_waiting(part)]
        return [*cards, *(self._blocks.rest.split("\n") if self._blocks.rest.strip() else [])]

    @property
    def is_thinking(self) -> bool:
        """Return whether the live text is thinking."""
        return self._thinking

    def end(self) -> list[Item]:
        """Close what is still open when a run ends."""
        items = [*self._flush(), *self._settle()]
        self._error = ""
        self._left |= {call_id: part for call_id, part in self._calls.items() if not _is_waiting(part)}
        self._calls = {call_id: part for call_id, part in self._calls.items() if _is_waiting(part)}
        return items

    def remember(self, messages: Iterable[UIMessage]) -> None:
        """Take over the calls of stored messages that wait for a person; a later run will end them."""
        for message in messages:
            for part in tool_parts(message):
                if _is_waiting(part):
                    self._calls[part["toolCallId"]] = {**part, "name": tool_name(part)}

    @property
    def is_waiting(self) -> bool:
        """Return whether a call that was shown still waits for a person."""
        return any(map(_is_waiting, self._calls.values()))

    def catch_up(self, messages: Iterable[UIMessage]) -> list[Item]:
        """Return the cards of waiting calls that have ended in stored messages: no stream tells of those."""
        for message in messages:
            for part in tool_parts(message):
                known = self._calls.get(part["toolCallId"])
                if known is not None and _is_waiting(known) and is_settled(part):
                    self._calls[part["toolCallId"]] = {**part, "name": tool_name(part)}
                    self._times |= metadata_of(message).get("toolMs") or {}
        return self._settle()

    def _flush(self) -> list[Item]:
        kind: ItemKind = "thought" if self._thinking else "text"
        self._thinking = False
        return [Item(kind, block) for block in self._blocks.flush()]

    def _take_call(self, chunk: Chunk) -> None:
        part = self._open_call(chunk["toolCallId"])
        part["name"] = chunk.get("toolName", part["name"])
        if "input" in chunk:
            part |= {"input": chunk["input"], "state": "input-available"}
        if chunk["type"] in SETTLING:
            outcome = str(chunk["type"]).removeprefix("tool-").replace("input-error", "output-error")
            part |= {"state": outcome, "errorText": chunk.get("errorText", "")}

    def _open_call(self, call_id: str) -> JsonObject:
        """Return a call that goes on, also one that the end of a run had left open."""
        if call_id not in self._calls:
            unknown: JsonObject = {"name": "tool", "state": "input-streaming"}
            self._calls[call_id] = self._left.pop(call_id, unknown)
        return self._calls[call_id]

    def _take_words(self, chunk: Chunk) -> list[Item]:
        """Read a notice or an error; an error comes as data and as the stream's own, and is shown once."""
        data: JsonObject = chunk["data"] if isinstance(chunk.get("data"), dict) else {}
        if chunk["type"] == "data-notice":
            return self._take_notice(str(data.get("text", "")), is_passing=bool(chunk.get("transient")))
        words = clean(say(str(chunk.get("errorText") or data.get("message", ""))))
        told, self._error = self._error, words
        return [Item("error", words)] if words != told else []

    def _take_notice(self, text: str, *, is_passing: bool) -> list[Item]:
        """Show a notice; one that was told in passing and is kept in the thread too is shown once."""
        is_told = not is_passing and text == self._passing
        self._passing = text if is_passing else ""
        return [] if is_told else [Item("notice", clean(say(text)))]

    def _take_times(self, chunk: Chunk) -> list[Item]:
        times = (chunk.get("messageMetadata") or {}).get("toolMs")
        if not isinstance(times, dict):
            return []
        self._times |= {call_id: spent for call_id, spent in times.items() if isinstance(spent, int)}
        return self._settle(*times)

    def _settle(self, *only: str) -> list[Item]:
        """Return the cards of calls that have ended: those named, or all."""
        ended = [key for key, part in self._calls.items() if str(part["state"]).startswith("output-")]
        found: list[Item] = []
        for call_id in ended:
            if not only or call_id in only:
                part = self._calls.pop(call_id)
                found.append(Item("card", describe_call(part, part["name"], self._times.pop(call_id, None))))
        return found


def _is_waiting(part: JsonObject) -> bool:
    return str(part["state"]).startswith("approval-")
