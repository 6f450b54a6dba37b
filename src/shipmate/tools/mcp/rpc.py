"""Write and read the messages of MCP, and name what can become of a call."""

from __future__ import annotations

from typing import Any

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.mcp.intake import Intake, count_values
from shipmate.tools.text import clean
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

# The version we ask for, and those we speak when a server answers with them.
VERSION = "2025-11-25"
VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", VERSION})
# The version without sessions, for servers that speak no other.
NEW_VERSION = "2026-07-28"
METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022
# Of what a server says in an error.
WORDS_LIMIT = 2_000
LINE_LIMIT = 400


class McpError(ToolError):
    """Trouble at an MCP server."""


class NotSentError(McpError):
    """The message never reached the server, so nothing ran."""


class RefusedError(McpError):
    """The server refused the message before it worked on it, so nothing ran."""

    def __init__(self, message: str, status: int = 0, code: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class LoginNeededError(RefusedError):
    """The server wants a login."""


class UnsureError(McpError):
    """The message was sent and no answer came: it may have run."""


class AnswerError(McpError):
    """The server answered that it will not or cannot."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


def request(number: int, method: str, params: JsonObject | None = None) -> JsonObject:
    """Make a message that wants an answer."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def notification(method: str, params: JsonObject | None = None) -> JsonObject:
    """Make a message that wants none."""
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def encode(message: JsonObject) -> bytes:
    """Write a message as one line, without its end."""
    return msgspec.json.encode(message)


def decode(data: bytes, intake: Intake) -> list[JsonObject]:
    """Read the messages of a text, none where it holds none; raises IntakeError when it holds too much."""
    intake.count()
    intake.check(count_values(data))
    try:
        found: Any = msgspec.json.decode(check_nesting(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    # Version 2025-03-26 lets a server answer with several at once.
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]


def answers(message: JsonObject, number: int) -> bool:
    """Return whether a message answers the request of a number."""
    given = message.get("id")
    # Python takes `true` for 1.
    return type(given) is int and given == number and "method" not in message


def result_of(message: JsonObject) -> JsonObject:
    """Return what a request gave; raises AnswerError for a refusal."""
    error = message.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        words = first_line(str(error.get("message") or "it gave no reason"))
        raise AnswerError(words, code if isinstance(code, int) else 0)
    result = message.get("result")
    if not isinstance(result, dict):
        raise AnswerError("its answer holds neither a result nor an error")
    return result


def first_line(text: str) -> str:
    """Return the first line of what a server said, free of control characters and not long.

    A word is cut off whole: half of a key would not be known for one, and shown.
    """
    lines = clean(text[:WORDS_LIMIT]).strip().splitlines()
    line = lines[0].rstrip(".") if lines else ""
    is_cut = len(line) > LINE_LIMIT or (len(lines) == 1 and len(text) > WORDS_LIMIT)
    return f"{line[:LINE_LIMIT].rpartition(' ')[0]} …".lstrip() if is_cut else line
