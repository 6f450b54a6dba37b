"""Read messages as the pieces a rehearsal compares: words, calls, what came of them, files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from shipmate.values.message import JsonObject, UIMessage, is_settled, is_tool, tool_name

PieceKind = Literal["words", "thought", "call", "result", "error", "denial", "file", "other"]
KINDS: tuple[PieceKind, ...] = ("words", "thought", "call", "result", "error", "denial", "file", "other")
# What the program keeps for itself in a message; no member says it.
_OWN = frozenset(
    f"data-{name}"
    for name in (
        "cleared",
        "course",
        "error",
        "image",
        "notice",
        "pin",
        "priming",
        "replaced",
        "reply",
        "request",
        "resumed",
        "unpin",
    )
)
_URL_LIMIT = 300


class AnswerPiece(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing a member said or did; ids and times do not count."""

    kind: PieceKind
    # The tool of a call and of what came of it, the file's name, the type of any other part.
    name: str = ""
    text: str = ""
    # The arguments of a call, what it returned, or a part whole.
    value: Any = None
    call_id: str = ""


def read_pieces(messages: Iterable[UIMessage]) -> list[AnswerPiece]:
    """Return the pieces of some messages in their order; only what members say is read."""
    return [
        piece
        for message in messages
        if message["role"] == "assistant"
        for part in message["parts"]
        for piece in read_part(part)
    ]


def read_part(part: JsonObject) -> Iterator[AnswerPiece]:
    """Yield what one part says: a call is followed by what came of it."""
    kind = part.get("type")
    if is_tool(part):
        yield from _read_call(part)
    elif kind in ("text", "reasoning"):
        # A blank text is what a model leaves between two calls; nobody reads it.
        if text := str(part.get("text", "")).strip():
            yield AnswerPiece(kind="words" if kind == "text" else "thought", text=text)
    elif kind == "file":
        yield _read_file(part)
    elif kind != "step-start" and not _is_own(part):
        rest = {key: value for key, value in part.items() if key not in ("type", "id")}
        yield AnswerPiece(kind="other", name=str(kind), value=rest)


def _is_own(part: JsonObject) -> bool:
    """Return whether the program keeps a part for itself; a notice with a kind says how an answer ended."""
    data = part.get("data")
    is_telling = part.get("type") == "data-notice" and isinstance(data, dict) and "kind" in data
    return part.get("type") in _OWN and not is_telling


def _read_call(part: JsonObject) -> Iterator[AnswerPiece]:
    name, call_id = tool_name(part), str(part["toolCallId"])
    yield AnswerPiece(kind="call", name=name, value=part.get("input"), call_id=call_id)
    outcome = read_outcome(part)
    if outcome is not None:
        yield msgspec.structs.replace(outcome, name=name, call_id=call_id)


def read_outcome(part: JsonObject) -> AnswerPiece | None:
    """Return what came of a call; None while nothing did."""
    approval = part.get("approval")
    answer: JsonObject = approval if isinstance(approval, dict) else {}
    state = part.get("state")
    if state == "output-denied" or (state == "approval-responded" and answer.get("approved") is False):
        return AnswerPiece(kind="denial", text=str(answer.get("reason") or ""))
    if state == "output-error" or ("output" not in part and part.get("errorText")):
        return AnswerPiece(kind="error", text=str(part.get("errorText") or ""))
    if "output" not in part or (state is not None and not is_settled(part)):
        return None
    output = part["output"]
    is_text = isinstance(output, str)
    return AnswerPiece(kind="result", text=output if is_text else "", value=None if is_text else output)


def _read_file(part: JsonObject) -> AnswerPiece:
    url = str(part.get("url", ""))
    # A kept file has another address each time, and bytes are told by their digest.
    if url.startswith("/api/files/"):
        url = ""
    elif len(url) > _URL_LIMIT:
        url = f"sha256:{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()}"
    value = {"mediaType": part.get("mediaType"), "url": url}
    return AnswerPiece(kind="file", name=str(part.get("filename") or ""), value=value)
