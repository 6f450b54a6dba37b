"""Drive Claude Code: `claude -p` with its stream of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shipmate.crew.program.program import (
    Access,
    Launch,
    ProgramOpening,
    ProgramReader,
    explain_failure,
    field,
    name_tool,
    number,
    write_private,
)
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelNotice,
    ProgramCall,
    ProgramResult,
    ProgramSession,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    Usage,
)
from shipmate.values.message import JsonObject

PREFIX = "claude"
# Questions to somebody who sits before it.
DIALOGUES = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
MODES = {"read": "default", "ask": "default", "edit": "acceptEdits", "all": "bypassPermissions"}


class ClaudeCode:
    """Anthropic's Claude Code."""

    kind = "claude-code"
    title = "Claude Code"
    command = "claude"
    oldest = (2, 1)
    package = "@anthropic-ai/claude-code"
    prefix = PREFIX
    logins = (".claude", ".claude.json")
    key = "ANTHROPIC_API_KEY"

    def takes_system(self, system: str | None, *, is_asked: bool, is_private: bool) -> bool:
        """Return True: it has a file for it."""
        return True

    def converses(self, access: Access) -> bool:
        """Return whether it is to ask."""
        return access == "ask"

    def line(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return how it is called."""
        words = ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
        words += ["--permission-mode", MODES[launch.access]]
        if launch.access == "ask":
            # What its own settings allow is not asked for; here our rules say what is.
            words += ["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]
            words += ["--setting-sources", "", "--disallowedTools", ",".join(DIALOGUES)]
        if launch.model:
            words += ["--model", launch.model]
        if launch.session:
            words += ["--resume", launch.session]
        if launch.system is not None:
            file = write_private(launch.temporary / "system.md", launch.system)
            words += ["--append-system-prompt-file", str(file)]
        # It retries a refused key for minutes, and refuses all rights to root where nothing confines it.
        return words, {"CLAUDE_CODE_MAX_RETRIES": "3", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"}

    def reader(self, opening: ProgramOpening | None) -> ProgramReader:
        """Return a reader for one run."""
        return ClaudeStream(opening)


class ClaudeStream:
    """What `--output-format stream-json` prints."""

    def __init__(self, opening: ProgramOpening | None = None) -> None:
        self._opening = opening
        # The questions it asked, by the calls they are about.
        self._asked: dict[str, tuple[str, Any]] = {}
        self._refused: set[str] = set()
        self._has_deltas = False
        self._has_text = False
        self._is_thinking = False

    def read(self, event: JsonObject) -> Iterator[ModelEvent]:
        """Return what one event means; those of helpers it sent out are its own affair."""
        if event.get("parent_tool_use_id"):
            return
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                yield ProgramSession(str(event.get("session_id")))
            case "system", "api_retry":
                wait = number(event, "retry_delay_ms") / 1000
                reason = f"{event.get('error')} ({event.get('error_status')})"
                yield ModelNotice(kind="retry", model=ClaudeCode.title, reason=reason, wait_seconds=wait)
            case "stream_event", _:
                yield from self._delta(field(event, "event") or {})
            case "assistant", _ if not event.get("is_api_error_message"):
                yield from self._blocks(field(event, "message", "content"))
            case "user", _:
                yield from self._results(field(event, "message", "content"))
            case "control_request", _ if field(event, "request", "subtype") == "can_use_tool":
                yield from self._question(str(event.get("request_id")), event["request"])
            case "result", _:
                yield from self._end(event)
            case _:
                pass

    def _delta(self, event: JsonObject) -> Iterator[ModelEvent]:
        text, thought = field(event, "delta", "text"), field(event, "delta", "thinking")
        if isinstance(text, str):
            self._has_deltas = self._has_text = True
            yield TextDelta(text)
        elif isinstance(thought, str):
            self._is_thinking = True
            yield ReasoningDelta(thought)
        elif event.get("type") == "content_block_stop" and self._is_thinking:
            self._is_thinking = False
            yield ReasoningEnd()

    def _blocks(self, content: Any) -> Iterator[ModelEvent]:
        for block in content if isinstance(content, list) else ():
            if field(block, "type") == "tool_use":
                name = name_tool(PREFIX, field(block, "name"))
                yield ProgramCall(str(field(block, "id")), name, field(block, "input"))
            elif field(block, "type") == "text":
                # Told piece by piece before, or only here.
                if not self._has_deltas:
                    self._has_text = True
                    yield TextDelta(str(field(block, "text") or ""))
                self._has_deltas = False

    def _results(self, content: Any) -> Iterator[ModelEvent]:
        for block in content if isinstance(content, list) else ():
            call_id = str(field(block, "tool_use_id"))
            if field(block, "type") != "tool_result" or call_id in self._refused:
                continue
            said = field(block, "content")
            if isinstance(said, list):
                said = "\n".join(str(field(each, "text") or f"[{field(each, 'type')}]") for each in said)
            yield ProgramResult(call_id, said or "", is_error=bool(field(block, "is_error")))

    def _question(self, request_id: str, request: JsonObject) -> Iterator[ModelEvent]:
        call_id, arguments = str(request.get("tool_use_id") or request_id), request.get("input")
        self._asked[call_id] = (request_id, arguments)
        written = msgspec.json.encode(arguments).decode()
        yield ToolCall(call_id, name_tool(PREFIX, request.get("tool_name")), written)

    def take(self) -> bytes:
        """Return the prompt as one message, once."""
        opening, self._opening = self._opening, None
        if opening is None:
            return b""
        content = [{"type": "text", "text": opening.prompt}]
        return _line({"type": "user", "message": {"role": "user", "content": content}})

    def answer(self, call_id: str, refusal: str | None) -> bytes:
        """Return the answer to a question of it."""
        request_id, arguments = self._asked.pop(call_id)
        if refusal is not None:
            self._refused.add(call_id)
        allowed = {"behavior": "allow", "updatedInput": arguments}
        said = allowed if refusal is None else {"behavior": "deny", "message": refusal}
        response = {"subtype": "success", "request_id": request_id, "response": said}
        return _line({"type": "control_response", "response": response})

    def _end(self, event: JsonObject) -> Iterator[ModelEvent]:
        said = event.get("result")
        if event.get("is_error"):
            errors = field(event, "errors")
            words = said or (" ".join(map(str, errors)) if isinstance(errors, list) else event.get("subtype"))
            raise explain_failure(ClaudeCode.title, str(words), event.get("api_error_status"))
        if isinstance(said, str) and said and not self._has_text:
            yield TextDelta(said)
        cost = event.get("total_cost_usd")
        usage = Usage(
            input_tokens=number(event, "usage", "input_tokens"),
            output_tokens=number(event, "usage", "output_tokens"),
            cache_read_tokens=number(event, "usage", "cache_read_input_tokens"),
            cache_write_tokens=number(event, "usage", "cache_creation_input_tokens"),
            cost=float(cost) if isinstance(cost, int | float) else None,
        )
        yield Finish("stop", usage)


def _line(value: JsonObject) -> bytes:
    return msgspec.json.encode(value) + b"\n"
