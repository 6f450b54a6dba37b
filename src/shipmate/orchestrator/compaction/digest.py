"""Let a model sum up a conversation, and take nothing from it that was not checked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec

from shipmate.errors import ModelError, ShipmateError
from shipmate.models.failure import in_short
from shipmate.models.port import Finish, Model, ModelRequest, TextDelta
from shipmate.orchestrator.compaction.clearing import WORDS
from shipmate.orchestrator.compaction.cutting import write_transcript
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.run_wording import say
from shipmate.store.port import Ledger, StepUsage
from shipmate.thread.service import Thread
from shipmate.tools.text import shorten
from shipmate.values.message import UIMessage, estimate_tokens, json_text, text_of, timestamp, tool_parts
from shipmate.values.saying import fill

SECONDS = 180.0
HEADINGS = ("## Goal", "## Done", "## Open", "## Facts")
# The turns whose words are kept as they were written.
LAST_TURNS = 3
# What of the last answer is kept: its end, where questions stand.
ANSWER_END = 1_500
FACT_LENGTH = 200
NO_PATHS = frozenset(("and/or", "yes/no", "he/she", "n/a", "w/o", "i/o", "on/off", "true/false"))
FACT_COUNT = 80
ENDINGS = "py|md|jsonl?|tsx?|jsx?|txt|csv|toml|ya?ml|html?|css|sql|sh|pdf|docx?|xlsx?|pptx?|png|jpe?g|log|rs"
# Looked for one by one, so that no text, however long, takes more than its length.
TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;|]+")
FACT = re.compile(
    r"https?://.+"
    r"|[\w.@+~-]*(?:/[\w.@+~-]+)+/?"  # a path
    rf"|[\w.-]+\.(?:{ENDINGS})"  # a file
    r"|[a-z]{2,8}_[0-9a-f]{6,}|[A-Z][A-Z0-9]+-\d+|#\d+"  # ids as we, and trackers, write them
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,40}"
)


class DigestError(ShipmateError):
    """The conversation could not be summed up, so it stays as it was."""


async def ask_aside(model: Model, system: str, request: str) -> tuple[str, Finish]:
    """Ask a model something beside the conversation; whatever is no whole answer raises a `DigestError`."""
    words: UIMessage = {"id": "digest", "role": "user", "parts": [{"type": "text", "text": request}]}
    said: list[str] = []
    finish: Finish | None = None
    try:
        async with asyncio.timeout(SECONDS):
            async for event in model.stream(ModelRequest(system=system, messages=[words])):
                if isinstance(event, TextDelta):
                    said.append(event.text)
                elif isinstance(event, Finish):
                    finish = event
    except TimeoutError:
        raise DigestError(say("digest-late", seconds=f"{SECONDS:.0f}")) from None
    except ModelError as error:
        raise DigestError(in_short(error)) from error
    text = "".join(said).strip()
    if not text:
        raise DigestError(say("digest-empty"))
    if finish is None or finish.reason != "stop":
        raise DigestError(say("digest-cut"))
    return text, finish


async def record_aside(
    ledger: Ledger, thread: Thread, equipment: Equipment, finish: Finish, model: str, run_id: str
) -> None:
    """Record what a question beside the conversation used."""
    await ledger.add_usage(
        StepUsage(
            at=timestamp(),
            thread_id=str(thread.id),
            member=equipment.member.id,
            run_id=run_id,
            step=0,
            model=finish.model or model,
            estimated_tokens=0,
            milliseconds=0,
            **msgspec.structs.asdict(finish.usage),
        )
    )


async def ask_digest(
    model: Model, messages: Sequence[UIMessage], *, focus: str, tokens: int
) -> tuple[str, Finish]:
    """Ask a model for the summary of a conversation; it reads so many tokens of it."""
    wanted = fill(WORDS["focus"], {"focus": focus}) + "\n\n" if focus else ""
    asked = fill(WORDS["request"], {"focus": wanted, "transcript": write_transcript(messages, tokens)})
    text, finish = await ask_aside(model, WORDS["system"], asked)
    if not all(heading.lower() in text.lower() for heading in HEADINGS):
        # A refusal, or an answer to the conversation.
        raise DigestError(say("digest-none"))
    return text, finish


def complete_digest(text: str, messages: Sequence[UIMessage], language: str, tokens: int) -> str:
    """Add to a summary what it must not lose: each path and id, and the last words."""
    words = quote_last(messages, language, tokens)
    missing = [fact for fact in find_facts(messages) if fact not in text and fact not in words]
    pieces = [text]
    if missing:
        room = max(50, tokens // 2)
        listed: list[str] = []
        for fact in missing[:FACT_COUNT]:
            room -= estimate_tokens(fact) + 1
            if room < 0:
                break
            listed.append(f"- {fact}")
        pieces.append("\n".join([f"## {say('digest-facts').tell(language)}", "", *listed]))
    return "\n\n".join([*pieces, words] if words else pieces)


def quote_last(messages: Sequence[UIMessage], language: str, tokens: int) -> str:
    """Quote what the person wrote in the last turns, and the end of the last answer."""
    said = [text for each in messages if each["role"] == "user" and (text := text_of(each).strip())]
    room = tokens * 3
    quoted: list[str] = []
    for text in reversed(said[-LAST_TURNS:]):
        quoted.append(text if len(text) <= room else shorten(text, max(200, room), WORDS["shortened"]))
        room = max(0, room - len(quoted[-1]))
    pieces = [f"## {say('digest-words').tell(language)}", *reversed(quoted)] if quoted else []
    answers = [text for each in messages if each["role"] == "assistant" and (text := text_of(each).strip())]
    if answers:
        pieces += [f"## {say('digest-answer').tell(language)}", answers[-1][-ANSWER_END:]]
    return "\n\n".join(pieces)


def find_facts(messages: Sequence[UIMessage]) -> list[str]:
    """List the paths, addresses and ids that a conversation names, the latest first; outputs do not count."""
    found: dict[str, None] = {}
    for message in reversed(messages):
        asked = (json_text(part.get("input")) for part in tool_parts(message))
        waiting = (str((part.get("approval") or {}).get("id") or "") for part in tool_parts(message))
        for text in (text_of(message), *asked, *waiting):
            for match in TOKEN.finditer(text):
                fact = match[0].rstrip(".:!?。，：！？")
                if len(fact) <= FACT_LENGTH and FACT.fullmatch(fact) and fact.lower() not in NO_PATHS:
                    found.setdefault(fact)
    return list(found)
