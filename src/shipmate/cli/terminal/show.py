"""Write messages as Markdown that people read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from shipmate.approvals.question import fence, literal
from shipmate.cli.terminal.card import describe_call, shorten
from shipmate.cli.terminal.tongue import say
from shipmate.delivery.cleaning import remove_from
from shipmate.models.rehearsal.outcome import text_output
from shipmate.thread.pin import list_pins, read_pin, without_words
from shipmate.tools.steps import write_steps
from shipmate.values.message import JsonObject, UIMessage, is_tool, metadata_of, tool_name

HEADINGS = {"user": "You", "assistant": "Member", "system": "Note"}
OUTPUT_LENGTH = 4_000


def write_markdown(
    title: str, messages: Iterable[UIMessage], *, with_output: bool = True, marked: str | None = None
) -> str:
    """Write messages of a thread, an arrow before the one that is marked."""
    written = (
        write_message(each, with_output=with_output, is_marked=each["id"] == marked) for each in messages
    )
    blocks = [f"# {title}", *written]
    return "\n\n".join(block for block in blocks if block) + "\n"


def local_time(at: str) -> str:
    """Write a moment as the clock on the wall shows it; what is no moment stays as it is."""
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return at


def write_message(message: UIMessage, *, with_output: bool = True, is_marked: bool = False) -> str:
    """Write one message: who and when, then its parts; empty when it shows nothing."""
    body = [
        block
        for part in without_words(remove_from(message)["parts"])
        if (block := "\n\n".join(_write_part(part, message, with_output)))
    ]
    if not body:
        return ""
    at = local_time(str(metadata_of(message).get("timestamp", "")))
    who = HEADINGS.get(message["role"], message["role"])
    replaced = say("(replaced by a later answer)") if "replacedBy" in metadata_of(message) else ""
    return "\n\n".join(
        [f"## {'→ ' if is_marked else ''}{' · '.join(filter(None, (say(who), at, replaced)))}", *body]
    )


def _write_part(part: JsonObject, message: UIMessage, with_output: bool) -> Iterator[str]:
    kind = str(part.get("type", ""))
    if kind == "text" and part.get("text"):
        yield str(part["text"]).strip()
    elif kind == "reasoning" and part.get("text"):
        yield "\n".join(f"> {line}".rstrip() for line in str(part["text"]).strip().splitlines())
    elif is_tool(part):
        times = metadata_of(message).get("toolMs")
        milliseconds = times.get(part["toolCallId"]) if isinstance(times, dict) else None
        yield f"`{describe_call(part, tool_name(part), milliseconds).replace('`', 'ˋ')}`"
        if with_output and part.get("state") == "output-available":
            yield fence_output(text_output(part.get("output")))
    elif kind == "file":
        # By its name: where it is kept is nothing a person could open.
        yield f"file: {literal(shorten(str(part.get('filename') or part.get('mediaType') or 'file')))}"
    elif kind.startswith("data-"):
        yield _write_data(kind.removeprefix("data-"), part.get("data"))


def _write_data(name: str, data: object) -> str:
    if not isinstance(data, dict):
        return ""
    match name:
        case "error":
            return f"**{say('Error:')}** {say(str(data.get('message', '')))}"
        case "notice":
            return f"*{say(str(data.get('text', '')))}*"
        case "course":
            pins = list_pins(pin for each in data.get("pins") or () if (pin := read_pin(each)) is not None)
            words = f"*Course {data.get('course', '')} begins.* {data.get('summary') or ''}".strip()
            steps = _write_data("steps", data)
            return "\n\n".join([words, *(["*Pinned:*", pins] if pins else []), *([steps] if steps else [])])
        case "steps":
            return write_steps(each for each in data.get("steps") or () if isinstance(each, dict))
        case "pin":
            return f"*Pinned as {data.get('number')}:* {data.get('text')}"
        case "unpin":
            return f"*Pin {data.get('number')} is taken off:* {data.get('text')}"
        case _:
            return ""


def fence_output(text: str) -> str:
    """Put output into a code block; a very long one is cut."""
    if not text.strip():
        return ""
    shown = text.rstrip("\n")
    if len(shown) > OUTPUT_LENGTH:
        shown = f"{shown[:OUTPUT_LENGTH]}\n… {len(text) - OUTPUT_LENGTH:,} more characters"
    return fence(shown)
