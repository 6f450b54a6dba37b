"""Copy the beginning of a thread into another one."""

from __future__ import annotations

from shipmate.values.message import JsonObject, UIMessage, is_settled, is_tool, metadata_of

LEFT_BEHIND = "this call was left behind when the thread was branched; it did not run here"


def copy_before(messages: list[UIMessage], message_id: str, thread_id: str) -> list[UIMessage]:
    """Copy the messages before one, as rows of a new thread; nothing in the copy waits or runs."""
    rows: list[UIMessage] = []
    for message in messages:
        if message["id"] == message_id:
            break
        rows.append(_copy(message, thread_id))
    return rows


def _copy(message: UIMessage, thread_id: str) -> UIMessage:
    metadata = {**metadata_of(message), "threadId": thread_id}
    parts = [_settle(part) for part in message["parts"]]
    return {"id": message["id"], "role": message["role"], "metadata": metadata, "parts": parts}


def _settle(part: JsonObject) -> JsonObject:
    if not is_tool(part) or is_settled(part):
        return part
    # Approvals belong to the thread they were asked in; a copy must not be answerable.
    kept = {key: value for key, value in part.items() if key not in ("approval", "output", "preliminary")}
    return {**kept, "state": "output-error", "input": part.get("input", {}), "errorText": LEFT_BEHIND}
