"""Run a command that a person typed behind a `!`: one call of `exec`, judged as the member's own are."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, ToolCall, Usage
from shipmate.models.rehearsal.language import language_of, load_words, say
from shipmate.models.rehearsal.offline import count_steps, derive_call_id, last_said
from shipmate.models.rehearsal.outcome import describe_outcomes, last_calls
from shipmate.values.event import TYPED

TOOL = "exec"


class TypedModel:
    """No model at all: it does what was typed, and says what came of it."""

    name = TYPED

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Make the call, or tell its outcome."""
        said = last_said(request)
        words = load_words(language_of(said))
        begins = count_steps(request) == 0
        can = said.startswith("!") and any(tool.name == TOOL for tool in request.tools)
        if begins and can:
            arguments = msgspec.json.encode({"command": said.strip().removeprefix("!").strip()}).decode()
            yield ToolCall(derive_call_id(request, 1), TOOL, arguments)
        elif begins:
            yield TextDelta(say(words["missing"], tool=TOOL))
        else:
            yield TextDelta(describe_outcomes(last_calls(request.messages), words))
        yield Finish("tool-calls" if begins and can else "stop", Usage(cost=0.0), self.name)
