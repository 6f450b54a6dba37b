"""Take old tool output out of what a model is shown; the thread keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from shipmate.thread.service import Thread
from shipmate.values.message import JsonObject, UIMessage, estimate_tokens, is_settled, json_text, tool_parts
from shipmate.values.saying import fill, read_sayings
from shipmate.workspace.layout import Layout

WORDS = read_sayings(Path(__file__).with_name("prompt.md"))
# The last outputs are what the model is working with.
KEPT_CALLS = 3
# What is shorter than this many tokens saves nothing worth the line in its place.
SMALL = 100


def choose_calls(
    messages: Sequence[UIMessage], cleared: frozenset[str], tokens: int
) -> tuple[list[str], int]:
    """Choose the oldest calls whose outputs together free so many tokens, or all there are but the last ones.

    Return them with what they free.
    """
    found = [(part["toolCallId"], size) for part, size in _outputs(messages)]
    chosen: list[str] = []
    freed = 0
    for call_id, size in found[: max(0, len(found) - KEPT_CALLS)]:
        if freed >= tokens:
            break
        if call_id not in cleared and size >= SMALL:
            chosen.append(call_id)
            freed += size
    return chosen, freed


def _outputs(messages: Sequence[UIMessage]) -> Iterator[tuple[JsonObject, int]]:
    for message in messages:
        for part in tool_parts(message):
            if "output" in part and is_settled(part):
                yield part, estimate_tokens(json_text(part["output"]))


class Clearing:
    """What models are shown of threads whose old outputs left the context."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        # Messages once made are handed out again: what is remembered of a history goes by identity.
        self._shown: WeakKeyDictionary[
            Thread, tuple[frozenset[str], dict[str, tuple[UIMessage, UIMessage]]]
        ] = WeakKeyDictionary()

    def show(self, thread: Thread, messages: list[UIMessage]) -> list[UIMessage]:
        """Return messages in which each cleared output is one line that names the log of its call."""
        if not thread.cleared:
            return messages
        cleared, known = self._shown.get(thread, (thread.cleared, {}))
        if cleared != thread.cleared:
            known = {}
        shown: list[UIMessage] = []
        for message in messages:
            made = known.get(message["id"])
            if made is None or made[0] is not message:
                made = known[message["id"]] = (message, self._clear(thread, message))
            shown.append(made[1])
        self._shown[thread] = (thread.cleared, known)
        return shown

    def _clear(self, thread: Thread, message: UIMessage) -> UIMessage:
        if not any(part["toolCallId"] in thread.cleared for part in tool_parts(message)):
            return message
        return {**message, "parts": [self._clear_part(thread, part) for part in message["parts"]]}

    def _clear_part(self, thread: Thread, part: JsonObject) -> JsonObject:
        if part.get("toolCallId") not in thread.cleared or "output" not in part:
            return part
        log = self._layout.call_log(str(thread.id), part["toolCallId"]).relative_to(self._layout.root)
        size = len(json_text(part["output"]))
        return {**part, "output": fill(WORDS["cleared"], {"count": f"{size:,}", "path": log.as_posix()})}
