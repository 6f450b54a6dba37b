"""Run a command that a person typed behind a `!`: one call of `exec`, judged as the member's own are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, ToolCall, Usage
from shipmate.models.rehearsal.language import language_of, load_words, say
from shipmate.models.rehearsal.offline import derive_call_id, last_said, step_calls
from shipmate.models.rehearsal.outcome import describe_outcomes
from shipmate.values.event import TYPED
from shipmate.values.message import JsonObject, UIMessage, text_of

TOOL = "exec"


class TypedModel:
    """No model at all: it does what was typed, and says what came of it."""

    name = TYPED

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Make the call, or tell its outcome."""
        said = last_said(request)
        words = load_words(language_of(said))
        latest = next((each["role"] for each in reversed(request.messages) if each["role"] != "system"), "")
        begins = latest == "user"
        can = said.startswith("!") and any(tool.name == TOOL for tool in request.tools)
        if begins and can:
            arguments = msgspec.json.encode({"command": said.strip().removeprefix("!").strip()}).decode()
            yield ToolCall(derive_call_id(request, 1), TOOL, arguments)
        elif begins:
            yield TextDelta(say(words["missing"], tool=TOOL))
        else:
            yield TextDelta(describe_outcomes(_find_untold(request.messages), words))
        yield Finish("tool-calls" if begins and can else "stop", Usage(cost=0.0), self.name)


def _find_untold(messages: Sequence[UIMessage]) -> list[JsonObject]:
    """Return the last calls of which nothing was said: while one waited, others may have been made."""
    found = ([] if text_of(message) else step_calls(message) for message in reversed(messages))
    return next((steps[-1] for steps in found if steps), [])
