"""Talk to a program over ACP, the Agent Client Protocol: JSON-RPC, a line each way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shipmate.crew.program.program import ProgramOpening, explain_failure, field, name_tool, number
from shipmate.models.port import (
    Finish,
    FinishReason,
    ModelEvent,
    ProgramCall,
    ProgramResult,
    ProgramSession,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from shipmate.values.message import JsonObject

INITIALIZE, SESSION, MODE, PROMPT = 1, 2, 3, 4
VERSION = 1
NOT_FOUND = -32601
ENDINGS: dict[str, FinishReason] = {"max_tokens": "length", "refusal": "content-filter"}


class AcpStream:
    """One conversation: it is opened step by step, each step with the answer to the one before."""

    def __init__(
        self,
        opening: ProgramOpening,
        title: str,
        prefix: str,
        # What the session is to be like, where no option of the program says it.
        mode: str = "",
        meta: JsonObject | None = None,
    ) -> None:
        self._opening = opening
        self._session = opening.launch.session
        self._mode = mode
        self._meta = meta
        self._title = title
        self._prefix = prefix
        self._out = bytearray()
        self._is_prompted = False
        # The questions it asked, by the calls they are about, with the answers each can have.
        self._asked: dict[str, tuple[Any, dict[str, str]]] = {}
        self._refused: set[str] = set()
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        self._request(
            INITIALIZE, "initialize", {"protocolVersion": VERSION, "clientCapabilities": capabilities}
        )

    def take(self) -> bytes:
        """Return what is to be written to the program now."""
        out = bytes(self._out)
        self._out.clear()
        return out

    def read(self, event: JsonObject) -> Iterator[ModelEvent]:
        """Return what one line means."""
        params = event.get("params")
        match event.get("method"):
            case None:
                yield from self._step(event)
            case "session/update" if self._is_prompted:
                # What comes before is the conversation as it was, told once more.
                yield from self._update(field(params, "update") or {})
            case "session/request_permission":
                yield from self._question(event["id"], params or {})
            case method if "id" in event and method != "session/update":
                error = {"code": NOT_FOUND, "message": f"{method} is not offered"}
                self._send({"id": event["id"], "error": error})
            case _:
                pass

    def answer(self, call_id: str, refusal: str | None) -> bytes:
        """Return the answer to a question: this once, or not."""
        request_id, options = self._asked.pop(call_id)
        if refusal is not None:
            self._refused.add(call_id)
        option = options.get("allow_once" if refusal is None else "reject_once")
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        self._send({"id": request_id, "result": {"outcome": outcome}})
        return self.take()

    def _step(self, event: JsonObject) -> Iterator[ModelEvent]:
        if "error" in event:
            detail = field(event, "error", "data", "details") or field(event, "error", "data") or ""
            raise explain_failure(self._title, f"{field(event, 'error', 'message')} {detail}")
        result = event.get("result")
        match event.get("id"):
            case 1:
                place: JsonObject = {"cwd": str(self._opening.folder), "mcpServers": []}
                place |= {"_meta": self._meta} if self._meta else {}
                if self._session:
                    self._request(SESSION, "session/load", {"sessionId": self._session, **place})
                else:
                    self._request(SESSION, "session/new", place)
            case 2:
                self._session = self._session or str(field(result, "sessionId"))
                yield ProgramSession(self._session)
                if self._mode:
                    told = {"sessionId": self._session, "modeId": self._mode}
                    self._request(MODE, "session/set_mode", told)
                else:
                    self._prompt()
            case 3:
                self._prompt()
            case 4:
                usage = _count(result)
                yield Finish(ENDINGS.get(str(field(result, "stopReason")), "stop"), usage)
            case _:
                pass

    def _prompt(self) -> None:
        self._is_prompted = True
        words = [{"type": "text", "text": self._opening.prompt}]
        self._request(PROMPT, "session/prompt", {"sessionId": self._session, "prompt": words})

    def _update(self, update: JsonObject) -> Iterator[ModelEvent]:
        text, call_id = field(update, "content", "text"), str(update.get("toolCallId"))
        match update.get("sessionUpdate"):
            case "agent_message_chunk" if isinstance(text, str):
                yield TextDelta(text)
            case "agent_thought_chunk" if isinstance(text, str):
                yield ReasoningDelta(text)
            case "tool_call":
                yield ProgramCall(call_id, self._name(update), _describe(update))
                yield from self._result(call_id, update)
            case "tool_call_update":
                yield from self._result(call_id, update)
            case _:
                pass

    def _result(self, call_id: str, update: JsonObject) -> Iterator[ModelEvent]:
        if update.get("status") in ("completed", "failed") and call_id not in self._refused:
            said = "\n".join(_tell(each) for each in update.get("content") or ())
            yield ProgramResult(call_id, said, is_error=update["status"] == "failed")

    def _question(self, request_id: Any, params: JsonObject) -> Iterator[ModelEvent]:
        call = field(params, "toolCall") or {}
        call_id = str(call.get("toolCallId"))
        options = {
            str(field(each, "kind")): str(field(each, "optionId")) for each in params.get("options", ())
        }
        self._asked[call_id] = (request_id, options)
        yield ToolCall(call_id, self._name(call), msgspec.json.encode(_describe(call)).decode())

    def _name(self, call: JsonObject) -> str:
        return name_tool(self._prefix, call.get("kind") or "call")

    def _request(self, request_id: int, method: str, params: JsonObject) -> None:
        self._send({"id": request_id, "method": method, "params": params})

    def _send(self, message: JsonObject) -> None:
        self._out += msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"


def _count(result: Any) -> Usage:
    """Return what an answer used: as the protocol has it, or as Gemini CLI tells it."""
    own = ("_meta", "quota", "token_count")
    return Usage(
        input_tokens=number(result, "usage", "inputTokens") or number(result, *own, "input_tokens"),
        output_tokens=number(result, "usage", "outputTokens") or number(result, *own, "output_tokens"),
        cache_read_tokens=number(result, "usage", "cachedReadTokens"),
    )


def _describe(call: JsonObject) -> JsonObject:
    """Return all that is told of a call but its state."""
    return {key: value for key, value in call.items() if key not in ("sessionUpdate", "toolCallId", "status")}


def _tell(content: Any) -> str:
    if field(content, "type") == "diff":
        return f"{field(content, 'path')}\n{field(content, 'newText')}"
    return str(field(content, "content", "text") or "")
