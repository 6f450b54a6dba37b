"""Tell what happens in a thread as the updates of ACP, and read what an editor sends."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

from shipmate.approvals.question import describe, offer_scopes
from shipmate.approvals.value import Approval
from shipmate.cli.door.door_wording import tell
from shipmate.cli.terminal.card import describe_arguments
from shipmate.errors import UserError
from shipmate.models.rehearsal.outcome import text_output
from shipmate.values.chunk import Chunk
from shipmate.values.event import Attachment
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.upload import Uploads, keep_upload

# The editor shows a call whole, however long it is.
WHOLE = 10_000_000
KINDS = {
    "read": "read",
    "write": "edit",
    "edit": "edit",
    "glob": "search",
    "grep": "search",
    "exec": "execute",
    "web_fetch": "fetch",
    "web_search": "fetch",
}


class UpdateTeller:
    """What an editor is told of one thread, made by following its chunks."""

    def __init__(self, root: Path, name_file: Callable[[str], tuple[str, str]]) -> None:
        self._root = root
        self._name_file = name_file
        # The tools of the calls that were told, by the ids of the calls.
        self._calls: dict[str, str] = {}
        # What was told last, so that two texts do not run into one.
        self._last = ""

    def take(self, chunk: Chunk) -> list[JsonObject]:
        """Return the updates that tell a chunk."""
        kind = str(chunk["type"])
        match kind:
            case "text-start" | "reasoning-start":
                self._last = f"{self._last} again" if self._last == kind.partition("-")[0] else self._last
                return []
            case "text-delta" | "reasoning-delta":
                return self._tell_words(kind.partition("-")[0], str(chunk["delta"]))
            case "file":
                name, address = self._name_file(str(chunk["url"]))
                self._last = kind
                return [_chunk("agent_message", {"type": "resource_link", "name": name, "uri": address})]
            case "data-notice":
                return self._tell_line("reasoning", str(chunk["data"].get("text", "")))
            case "data-error":
                return self._tell_line("text", str(chunk["data"].get("message", "")))
            case _ if kind.startswith("tool-") and "toolCallId" in chunk:
                return self._tell_call(kind, chunk)
            case _:
                return []

    def say(self, words: str) -> list[JsonObject]:
        """Return the updates that tell words of a person."""
        self._last = "user"
        return [_chunk("user_message", {"type": "text", "text": words})] if words else []

    def _tell_words(self, kind: str, words: str) -> list[JsonObject]:
        if self._last == f"{kind} again":
            words = f"\n\n{words}"
        self._last = kind
        name = "agent_message" if kind == "text" else "agent_thought"
        return [_chunk(name, {"type": "text", "text": words})] if words else []

    def _tell_line(self, kind: str, words: str) -> list[JsonObject]:
        self._last = f"{kind} again" if self._last.startswith(kind) else self._last
        told = self._tell_words(kind, words)
        self._last = f"{kind} again"
        return told

    def _tell_call(self, kind: str, chunk: Chunk) -> list[JsonObject]:
        call_id = str(chunk["toolCallId"])
        name = str(chunk.get("toolName") or self._calls.get(call_id, "tool"))
        is_new = call_id not in self._calls
        self._calls[call_id] = name
        self._last = "tool"
        told: JsonObject = {"sessionUpdate": "tool_call" if is_new else "tool_call_update"}
        told |= {"toolCallId": call_id, "status": _status(kind)}
        if is_new or "input" in chunk:
            told |= describe_tool(name, chunk.get("input"), self._root)
        if (words := _outcome(kind, chunk)) is not None:
            told["content"] = [content(words)]
        return [told]


def describe_tool(name: str, given: object, root: Path) -> JsonObject:
    """Write a call as an editor lists it: a title, its kind, and the file it is about."""
    title = f"{reveal(name)} {describe_arguments(given)}".strip()
    told: JsonObject = {"title": title, "kind": KINDS.get(name, "other")}
    if isinstance(given, dict):
        arguments: JsonObject = given
        told["rawInput"] = arguments
        if isinstance(path := arguments.get("path"), str) and name in KINDS:
            told["locations"] = [{"path": str(root / path)}]
    return told


def content(words: str) -> JsonObject:
    """Write words as the content of a call."""
    return {"type": "content", "content": {"type": "text", "text": words}}


def make_question(approval: Approval, language: str, root: Path) -> tuple[JsonObject, list[JsonObject]]:
    """Return the call a person is asked about, whole, and the answers that would hold."""
    call: JsonObject = {"toolCallId": approval.call_id, "status": "pending"}
    call |= describe_tool(approval.tool, approval.input, root)
    call["content"] = [content(describe(approval, language, WHOLE))]
    options: list[JsonObject] = []
    if approval.preview is not None:
        # What cannot be shown can be refused and nothing more.
        options.append(_option("allow_once", tell(language, "allow")))
        if covers := offer_scopes(approval, language, reveal).get("always"):
            options.append(_option("allow_always", tell(language, "always", covers=covers)))
    return call, [*options, _option("reject_once", tell(language, "reject"))]


def _option(kind: str, name: str) -> JsonObject:
    return {"optionId": kind, "kind": kind, "name": name}


def _chunk(name: str, block: JsonObject) -> JsonObject:
    return {"sessionUpdate": f"{name}_chunk", "content": block}


def _status(kind: str) -> str:
    match kind:
        case "tool-output-available":
            return "completed"
        case "tool-output-error" | "tool-output-denied" | "tool-input-error":
            return "failed"
        case "tool-input-available":
            return "in_progress"
        case _:
            return "pending"


def _outcome(kind: str, chunk: Chunk) -> str | None:
    if kind == "tool-output-available":
        return reveal(text_output(chunk["output"]))
    return reveal(str(chunk["errorText"])) if "errorText" in chunk else None


def read_prompt(blocks: object, uploads: Uploads, root: Path) -> tuple[str, tuple[Attachment, ...]]:
    """Read what an editor sends as words and files; raises UserError when it is none of what is offered."""
    words: list[str] = []
    files: list[Attachment] = []
    for block in blocks if isinstance(blocks, list) else []:
        match block:
            case {"type": "text", "text": str(text)}:
                words.append(text)
            case {"type": "resource_link", "uri": str(uri)}:
                words.append(_name_place(uri, root))
            case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
                words.append(_name_place(uri, root))
                files += _keep(uploads, text.encode("utf-8", "replace"), uri)
            case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)}}:
                files += _keep(uploads, _decode(data), uri)
            case {"type": "image", "data": str(data)}:
                files += _keep(uploads, _decode(data), str(block.get("uri") or "image"))
            case _:
                raise UserError("a prompt is made of text, images, resources and links to them")
    text = "".join(words)
    if not text.strip() and not files:
        raise UserError("nothing was asked")
    return text, tuple(files)


def _name_place(uri: str, root: Path) -> str:
    """Write an address as members know it: a file of the workspace by its path from there."""
    parsed = urlparse(uri)
    if parsed.scheme != "file":
        return f"<{uri}>"
    path = Path(unquote(parsed.path))
    return f"`{path.relative_to(root) if path.is_relative_to(root) else path}`"


def _keep(uploads: Uploads, data: bytes, name: str) -> list[Attachment]:
    if not data:
        return []
    kept = keep_upload(uploads, data, unquote(urlparse(name).path) or name)
    return [Attachment(url=kept.url, media_type=kept.media_type, filename=kept.filename)]


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError("the data of a file is no Base64") from error
