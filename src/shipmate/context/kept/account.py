"""Account for a request: rows of sections, tools and messages, whose tokens add up to the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from shipmate.context.kept.kept_file import (
    REQUEST_LIMIT,
    KeptPrompt,
    KeptSection,
    KeptStep,
    KeptThread,
)
from shipmate.context.request import Context, Section, ToolDescription
from shipmate.errors import StorageError
from shipmate.values.message import JsonObject, estimate_tokens

RowKind = Literal["section", "tool", "message"]
Weigh: TypeAlias = Callable[[str], tuple[int, int]]


class AccountRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing a model reads, with what it costs; `name` is a message's place for one of the history."""

    kind: RowKind
    name: str
    title: str
    text: str
    bytes: int
    tokens: int
    source: str = ""
    stability: str = ""
    reason: str = ""
    is_cut: bool = False
    # False when its piece is gone or damaged.
    is_known: bool = True


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What a model reads at one step; every number is the sum of its rows."""

    profile: str
    system: str
    rows: list[AccountRow]
    # Sections that are not in, with the reason.
    left_out: list[AccountRow] = []
    # The tokens at the beginning that stay the same from turn to turn.
    stable_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Return the estimate for all of it."""
        return sum(row.tokens for row in self.rows)

    @property
    def bytes(self) -> int:
        """Count what all of it takes."""
        return sum(row.bytes for row in self.rows)

    def of(self, kind: RowKind) -> list[AccountRow]:
        """Return the rows of one kind."""
        return [row for row in self.rows if row.kind == kind]


class KeptTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of which requests are kept: by the words it answered, and which attempt at that it was."""

    number: int
    run_id: str
    # The places of its steps.
    places: list[int]
    first: KeptStep
    attempt: int
    attempts: int
    # What of the request before it this one does not begin with; None when that one is not kept.
    broken_by: str | None


def list_turns(kept: KeptThread) -> list[KeptTurn]:
    """Return the turns of a thread, oldest first; steps of one run are one turn."""
    places: dict[str, list[int]] = {}
    for place, step in enumerate(kept.steps):
        places.setdefault(step.run_id, []).append(place)
    firsts = [kept.steps[some[0]] for some in places.values()]
    attempts = Counter(step.asked for step in firsts)
    seen: Counter[str] = Counter()
    turns: list[KeptTurn] = []
    for number, (step, some) in enumerate(zip(firsts, places.values(), strict=True), 1):
        seen[step.asked] += 1
        turns.append(
            KeptTurn(
                number=number,
                run_id=step.run_id,
                places=some,
                first=step,
                attempt=seen[step.asked] if step.asked else 1,
                attempts=attempts[step.asked] if step.asked else 1,
                broken_by=_find_break(kept, some[0]) if some[0] else None,
            )
        )
    return turns


def _find_break(kept: KeptThread, place: int) -> str:
    """Return the first thing of the request before that one does not begin with."""
    before, after = kept.steps[place - 1], kept.steps[place]
    if before.model != after.model:
        return "model"
    if before.tools != after.tools:
        return "tools"
    if before.prompt != after.prompt and (name := _find_changed(kept, before, after)):
        return f"section {name}"
    if before.course != after.course:
        return "course"
    told = before.same + len(before.messages)
    if after.same == told or (after.same == told - 1 and _grows(kept, place, after.same)):
        return ""
    return f"message {after.same + 1}"


def _find_changed(kept: KeptThread, before: KeptStep, after: KeptStep) -> str:
    old, new = (
        {each.name: each.piece for each in prompt.sections if each.piece} if prompt else {}
        for prompt in (read_prompt(kept, before), read_prompt(kept, after))
    )
    return next((name for name in {**old, **new} if old.get(name) != new.get(name)), "")


def _grows(kept: KeptThread, place: int, message: int) -> bool:
    """Return whether a message of the step before goes on in this one as it was."""
    history = kept.history(place)
    if message >= len(history):
        return False
    before, after = (
        _decode(kept, digest, JsonObject) for digest in (kept.history(place - 1)[message], history[message])
    )
    if not before or not after or before.get("role") != after.get("role"):
        return False
    blocks = before.get("blocks") or []
    return bool(blocks) and (after.get("blocks") or [])[: len(blocks)] == blocks


def read_prompt(kept: KeptThread, step: KeptStep) -> KeptPrompt | None:
    """Return the sections of a step."""
    return _decode(kept, step.prompt, KeptPrompt)


def read_tools(kept: KeptThread, step: KeptStep) -> list[str]:
    """Return the tools of a step, by their digests."""
    return _decode(kept, step.tools, list[str]) or []


def _decode(kept: KeptThread, digest: str, kind: type) -> Any:
    data = kept.piece(digest)
    try:
        return None if data is None else msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        return None


class _Reading:
    """The pieces of one request as they are read, within what one may hold."""

    def __init__(self, kept: KeptThread, ratio: float) -> None:
        self._kept = kept
        self._ratio = min(4.0, max(0.25, ratio))
        self._left = REQUEST_LIMIT

    def text(self, digest: str) -> str | None:
        data = self._kept.piece(digest)
        self._left -= len(data or b"")
        if self._left < 0:
            raise StorageError("this request unpacks to more than any that is ever sent. Remove its file.")
        return None if data is None else data.decode("utf-8", "replace")

    def weigh(self, text: str) -> tuple[int, int]:
        return weigh(text, self._ratio)


def read_account(kept: KeptThread, place: int) -> Account:
    """Return what a model read at a step, as it was sent but for secrets, files and signatures."""
    step = kept.steps[place]
    reading = _Reading(kept, step.ratio)
    prompt = read_prompt(kept, step)
    sections = prompt.sections if prompt else []
    rows = [_read_section(each, reading) for each in sections if each.piece]
    tools = [write_tool(_parse(reading.text(each)), reading.weigh) for each in read_tools(kept, step)]
    messages = [
        write_message(_parse(reading.text(each)), number, reading.weigh)
        for number, each in enumerate(kept.history(place), 1)
    ]
    system = "".join(each.lead + row.text for each, row in zip(_included(sections), rows, strict=True))
    return Account(
        profile=prompt.profile if prompt else "",
        system=system,
        rows=[*rows, *tools, *messages],
        left_out=[_leave_out(each) for each in sections if not each.piece],
        stable_tokens=_count_stable(rows, tools),
    )


def write_account(
    context: Context,
    tools: Sequence[ToolDescription],
    messages: Iterable[JsonObject],
) -> Account:
    """Return what a model would read at the next turn, as it is built now."""

    def weigh_here(text: str) -> tuple[int, int]:
        return weigh(text, context.ratio)

    ordered = sorted(context.sections, key=lambda each: each.start)
    rows = [
        _make_row(
            "section",
            each.name,
            each.title,
            each.text,
            weigh_here,
            source=each.source,
            stability=each.stability,
            reason=each.reason,
            is_cut=each.is_cut,
        )
        for each in ordered
        if each.included
    ]
    described = [
        write_tool({"name": each.name, "description": each.description, "schema": each.schema}, weigh_here)
        for each in tools
    ]
    history = [write_message(each, number, weigh_here) for number, each in enumerate(messages, 1)]
    return Account(
        profile=context.profile,
        system=context.system,
        rows=[*rows, *described, *history],
        left_out=[_leave_out(each) for each in context.sections if not each.included],
        stable_tokens=_count_stable(rows, described),
    )


def weigh(text: str, ratio: float) -> tuple[int, int]:
    """Return the bytes of a text and the estimate of its tokens, in the model's own count."""
    return len(text.encode("utf-8", "surrogatepass")), max(
        1 if text else 0, round(estimate_tokens(text) * ratio)
    )


def _make_row(
    kind: RowKind,
    name: str,
    title: str,
    text: str | None,
    weigh: Weigh,
    *,
    source: str = "",
    stability: str = "",
    reason: str = "",
    is_cut: bool = False,
) -> AccountRow:
    size, tokens = weigh(text or "")
    return AccountRow(
        kind=kind,
        name=name,
        title=title,
        text=text or "",
        bytes=size,
        tokens=tokens,
        source=source,
        stability=stability,
        reason=reason,
        is_cut=is_cut,
        is_known=text is not None,
    )


def _read_section(section: KeptSection, reading: _Reading) -> AccountRow:
    return _make_row(
        "section",
        section.name,
        section.title,
        reading.text(section.piece),
        reading.weigh,
        source=section.source,
        stability=section.stability,
        reason=section.reason,
        is_cut=section.is_cut,
    )


def _included(sections: Iterable[KeptSection]) -> list[KeptSection]:
    return [each for each in sections if each.piece]


def _leave_out(section: KeptSection | Section) -> AccountRow:
    row = _make_row("section", section.name, section.title, "", lambda _: (0, 0), source=section.source)
    return msgspec.structs.replace(row, stability=section.stability, reason=section.reason)


def _count_stable(sections: Sequence[AccountRow], tools: Sequence[AccountRow]) -> int:
    """Count the tokens in front of the first section that belongs to a turn; tools come behind all."""
    count = 0
    for row in sections:
        if row.stability == "volatile":
            return count
        count += row.tokens
    return count + sum(row.tokens for row in tools)


def _parse(text: str | None) -> JsonObject:
    try:
        found: Any = msgspec.json.decode(text) if text is not None else None
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def write_tool(tool: JsonObject, weigh: Weigh) -> AccountRow:
    """Return the row of a tool: what the model is told of it, as JSON."""
    text = msgspec.json.format(msgspec.json.encode(tool)).decode() if tool else None
    size, tokens = weigh(msgspec.json.encode(tool).decode() if tool else "")
    row = _make_row("tool", str(tool.get("name", "")), str(tool.get("name", "")), text, weigh)
    # On the wire there are no blanks between.
    return msgspec.structs.replace(row, bytes=size, tokens=tokens)


def write_message(message: JsonObject, number: int, weigh: Weigh) -> AccountRow:
    """Return the row of a message: its words, and what its calls took and gave."""
    blocks = message.get("blocks")
    found = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    text = "\n\n".join(map(_write_block, found)) if message else None
    return _make_row("message", str(number), str(message.get("role", "")), text, weigh)


def _write_block(block: JsonObject) -> str:
    text = str(block.get("text", ""))
    match block.get("type"):
        case "file":
            return f"[{block.get('name')}, {block.get('mediaType')}, {block.get('bytes')} bytes, not kept]"
        case "reasoning":
            return f"<thinking>\n{text}\n</thinking>"
        case "call":
            arguments = msgspec.json.encode(block.get("arguments")).decode()
            return f"→ {block.get('name')} {arguments}"
        case "result":
            return f"← {block.get('name')} ({block.get('outcome')})\n{text}"
        case _:
            return text
