"""Answer programs that speak OpenAI's protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request
from msgspec import Meta
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.approvals.question import reveal, summarise
from shipmate.approvals.value import Approval
from shipmate.server.guard.error import invalid
from shipmate.server.port import Ship
from shipmate.server.shape import Json, takes
from shipmate.server.site import OWNER, TheShip, TheSite
from shipmate.server.stream.stream import Streamed, Wire
from shipmate.server.stream.watch import OwnRuns
from shipmate.values.chunk import Chunk
from shipmate.values.event import Attachment, Outcome, TextEvent
from shipmate.values.message import JsonObject, new_id, timestamp
from shipmate.values.nesting import check_nesting
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

PLATFORM = "api"
DONE = b"data: [DONE]\n\n"
REASONS = {"replied": "stop", "suspended": "stop", "stopped": "stop", "steered": "stop", "failed": "error"}
# Nothing is shown here, so nothing can be approved here: programs print what they like of an answer.
WAITING = (
    "This needs a person's approval, which cannot be given here: {what}. "
    "Look at it whole on the page or with `shipmate approvals`, answer there, then say anything."
)
WHAT_LIMIT = 200


class CompletionBody(msgspec.Struct):
    """A completion request; settings we do not know are ignored, for the workspace decides them."""

    messages: Annotated[list[JsonObject], Meta(extra_json_schema={"minItems": 1})]
    model: str = ""
    stream: bool = False
    user: str | None = None


def read_completion(raw: bytes) -> CompletionBody:
    """Decode a completion request."""
    try:
        return msgspec.json.decode(check_nesting(raw), type=CompletionBody)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is not a completion request: {error}"[:300]) from error


def thread_for(body: CompletionBody, header: str | None) -> ThreadId:
    """Choose the thread: named by a header, by the user, or a new one."""
    if header:
        return ThreadId.parse(header)
    if body.user:
        return ThreadId(PLATFORM, "user", body.user)
    return ThreadId(PLATFORM, "call", new_id("c"))


def event_for(body: CompletionBody, thread_id: ThreadId, member: str) -> TextEvent:
    """Take the last user message; the stored thread already holds the others."""
    said = next((message for message in reversed(body.messages) if message.get("role") == "user"), None)
    if said is None:
        raise invalid("messages: there is no user message.")
    text, files = _content(said.get("content"))
    if not text.strip() and not files:
        raise invalid("messages: the last user message is empty.")
    return TextEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=OWNER,
        message_id=new_id("api"),
        timestamp=timestamp(),
        member=member,
        text=text,
        attachments=files,
    )


def _content(content: Any) -> tuple[str, tuple[Attachment, ...]]:
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        raise invalid("messages: content must be a text or a list of parts.")
    parts = [part for part in content if isinstance(part, dict)]
    texts = [
        part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)
    ]
    files = [_image(part) for part in parts if part.get("type") == "image_url"]
    return "\n\n".join(texts), tuple(files)


def _image(part: JsonObject) -> Attachment:
    holder = part.get("image_url")
    url = holder.get("url") if isinstance(holder, dict) else None
    if not isinstance(url, str) or not url.startswith("data:"):
        raise invalid("messages: an image must be a data: address.")
    return Attachment(url=url, media_type=url.removeprefix("data:").partition(";")[0])


def completion(run: Outcome, model: str, usage: JsonObject, waiting: Sequence[Approval] = ()) -> JsonObject:
    """Make the whole answer; `waiting` is what a person must look at elsewhere."""
    words = run.text or run.error or ""
    if run.status == "suspended":
        asked = "; ".join(f"`{each.tool}`: {summarise(each)}" for each in waiting)
        words = f"{words}\n\n{WAITING.format(what=asked or 'a call')}".strip()
    return {
        **_head(run.run_id, model, "chat.completion"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": words},
                "finish_reason": REASONS[run.status],
            }
        ],
        "usage": usage,
    }


def encoder(model: str) -> Callable[[Chunk], bytes]:
    """Return what turns our chunks into OpenAI's; parts it has no words for are left out."""
    answer_id = new_id("chatcmpl")
    calls: dict[str, str] = {}

    def encode(chunk: Chunk) -> bytes:
        if chunk["type"] == "tool-input-available":
            calls[chunk["toolCallId"]] = _name_call(chunk)
        delta = _delta(chunk, calls)
        if delta is None:
            return b""
        reason = "stop" if chunk["type"] in ("finish", "abort", "error") else None
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        body = {**_head(answer_id, model, "chat.completion.chunk"), "choices": [choice]}
        return b"data: " + msgspec.json.encode(body) + b"\n\n"

    return encode


def _name_call(chunk: Chunk) -> str:
    given = reveal(" ".join(msgspec.json.encode(chunk.get("input")).decode().split()))
    cut = given if len(given) <= WHAT_LIMIT else f"{given[:WHAT_LIMIT]}…"
    return f"`{chunk['toolName']}`: {cut}"


def _delta(chunk: Chunk, calls: Mapping[str, str]) -> JsonObject | None:
    match chunk["type"]:
        case "start":
            return {"role": "assistant", "content": ""}
        case "text-delta":
            return {"content": chunk["delta"]}
        case "reasoning-delta":
            return {"reasoning_content": chunk["delta"]}
        case "tool-approval-request":
            what = calls.get(chunk["toolCallId"], "a call")
            return {"content": f"\n\n{WAITING.format(what=what)}"}
        case "data-notice":
            return {"content": f"\n\n{chunk['data']['text']}\n\n"}
        case "finish" | "abort":
            return {}
        case "error":
            return {"content": f"\n\n{chunk['errorText']}"}
        case _:
            return None


def _head(answer_id: str, model: str, kind: str) -> JsonObject:
    return {"id": answer_id, "object": kind, "created": int(time.time()), "model": model}


THREAD_HEADER = "x-shipmate-thread"
router = APIRouter(tags=["openai"])


@router.get("/v1/models")
async def read_models(ship: TheShip) -> Response:
    """List the members as models."""
    members = ship.crew.list()
    data = [{"id": member.id, "object": "model", "created": 0, "owned_by": "shipmate"} for member in members]
    return Json({"object": "list", "data": data})


@router.post("/v1/chat/completions", openapi_extra=takes(CompletionBody))
async def complete(request: Request, site: TheSite, ship: TheShip) -> Response:
    """Answer the last user message, at once or as a stream."""
    body = read_completion(await request.body())
    thread_id = thread_for(body, request.headers.get(THREAD_HEADER))
    known = set(ship.crew.ids())
    member = body.model if body.model in known else CAPTAIN
    event = event_for(body, thread_id, member)
    if not body.stream:
        receipt = await ship.keeper.receive(event)
        outcome = await receipt.outcome()
        usage = await _usage(ship, event.thread_id, outcome.run_id)
        waiting = await ship.approvals.pending(event.thread_id) if outcome.status == "suspended" else ()
        return Json(
            completion(outcome, member, usage, waiting),
            headers={THREAD_HEADER: str(thread_id)},
        )

    async def play(_: Scope, receive: Receive, send: Send) -> None:
        async with ship.keeper.watch(str(thread_id)) as queue:
            runs = OwnRuns(ship, thread_id, [await ship.keeper.receive(event)], queue)
            wire = Wire(receive, send, site.streams, encoder(member), DONE)
            try:
                await wire.open({THREAD_HEADER: str(thread_id)})
                await wire.follow(queue, runs.choose)
            finally:
                runs.cancel()

    return Streamed(play)


async def _usage(ship: Ship, thread_id: str, run_id: str) -> JsonObject:
    steps = [step for step in await ship.store.ledger.usage("", thread_id) if step.run_id == run_id]
    given = sum(step.input_tokens for step in steps)
    made = sum(step.output_tokens for step in steps)
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
