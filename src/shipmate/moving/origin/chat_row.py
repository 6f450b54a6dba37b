"""Read the rows of conversations as programs keep them: in OpenAI's shape, or in Anthropic's."""

from __future__ import annotations

from typing import Any

import msgspec

from shipmate.moving.talk_writer import TalkWriter, read_text
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import text_at


def thread_of_chat(channel: str, chat: str) -> str:
    """Return the thread that goes on with a chat; empty where its id does not tell its kind."""
    if channel == "telegram" and chat.lstrip("-").isdigit():
        return f"telegram:{'group' if chat.startswith('-') else 'dm'}:{chat}"
    if channel == "slack" and chat[:1] in ("D", "C", "G"):
        return f"slack:{'dm' if chat.startswith('D') else 'group'}:{chat}"
    return ""


def write_openai(talk: TalkWriter, rows: list[JsonObject]) -> None:
    """Write rows in OpenAI's shape: role, content, tool_calls, tool_call_id."""
    for row in rows:
        at, text = row.get("timestamp"), read_text(row.get("content"))
        match row.get("role"):
            case "user":
                talk.person(text, at)
            case "assistant":
                talk.answer(text, at)
                calls = row.get("tool_calls")
                for call in calls if isinstance(calls, list) else ():
                    talk.call(
                        text_at(call, "id"),
                        text_at(call, "function", "name"),
                        read_arguments(text_at(call, "function", "arguments")),
                        at,
                    )
            case "tool":
                talk.result(text_at(row, "tool_call_id"), text)
            case _:
                pass


def write_anthropic(
    talk: TalkWriter, role: Any, content: Any, at: Any, native: str, member: str = ""
) -> None:
    """Write one message in Anthropic's shape: a text, or blocks of text, calls and results."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": read_text(content)}]
    said: list[str] = []
    for block in blocks:
        match block.get("type") if isinstance(block, dict) else "":
            case "text" | "image":
                said.append(read_text([block]))
            case "tool_use":
                talk.answer("\n\n".join(filter(None, said)), at, native, member=member)
                said.clear()
                talk.call(
                    text_at(block, "id"),
                    text_at(block, "name"),
                    block.get("input"),
                    at,
                    native,
                    member=member,
                )
            case "tool_result":
                talk.result(
                    text_at(block, "tool_use_id"),
                    block.get("content"),
                    is_error=block.get("is_error") is True,
                )
            case _:
                pass
    words = "\n\n".join(filter(None, said))
    if role == "user":
        talk.person(words, at, native)
    else:
        talk.answer(words, at, native, member=member)


def read_arguments(text: str) -> Any:
    """Return what a call was given; the text itself when it is no JSON."""
    try:
        return msgspec.json.decode(text) if text else {}
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return text
