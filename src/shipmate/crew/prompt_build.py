"""Build what a program is sent: a list of sections that is trimmed, then joined; no driver assembles text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from shipmate.crew.crew_wording import say
from shipmate.errors import PromptTooLongError, UserError
from shipmate.values.chunk import storable
from shipmate.values.message import estimate_tokens

# Prompt and system text together stay below this many bytes of UTF-8 (document 004).
BYTE_LIMIT = 786_432
SUMMARY_LIMIT = 500
CONTEXT_MESSAGES = 5
# The programs that take system text beside the prompt, unless a member says otherwise.
TAKES_SYSTEM = frozenset({"claude-code"})
CUT_MARK = "\n[... {count} characters of the instructions are left out here ...]\n"
HEAD_SHARE = 0.7
# A line of another's words that looks like a heading of ours would pass for one.
HEADING = re.compile(r"\n(?=\[(?:SYSTEM|CONTEXT|MESSAGE)\])")


class ContextMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One earlier message: who said what, and to whom; to everybody when nobody is named."""

    sender: str
    to: str | None = None
    content: str
    timestamp: datetime | None = None


class PromptInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt is made of."""

    agent_type: str
    message: str
    role_summary: str = ""
    system_instruction_text: str | None = None
    instruction_file_text: str | None = None
    # Oldest first.
    context_messages: Sequence[ContextMessage] = ()
    context_limit: int = CONTEXT_MESSAGES
    # Who reads it: what was said to others alone is left out. Without one all is shown.
    recipient: str = ""
    # Whether system text goes beside the prompt; by default as is best for the program.
    takes_system: bool | None = None
    token_cap: int | None = None


class PromptOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: the prompt, the system text where it goes beside it, and what was cut to make it fit."""

    prompt: str
    system_flag: str | None = None
    cuts: tuple[str, ...] = ()


def build_prompt(given: PromptInput) -> PromptOutput:
    """Return what a program is sent; raise PromptTooLongError when what must not be cut does not fit."""
    if len(given.role_summary) > SUMMARY_LIMIT:
        raise UserError(say("summary-long", count=len(given.role_summary), limit=SUMMARY_LIMIT))
    message = _mend(given.message)
    fixed = [text for each in (given.role_summary, given.system_instruction_text) if (text := _clean(each))]
    takes_system = given.takes_system
    if takes_system is None:
        takes_system = given.agent_type in TAKES_SYSTEM
    room = _Room(given.token_cap)
    base = _join(fixed, [], message, takes_system=takes_system)
    room.take(base.prompt + (base.system_flag or ""))
    if not room.is_left:
        raise PromptTooLongError(say("too-long", **room.describe()))
    cuts: list[str] = []
    if instructions := _clean(given.instruction_file_text):
        whole, before = instructions, "\n\n" if fixed else "[SYSTEM]\n" + ("" if takes_system else "\n\n")
        if not room.has_for(before + whole):
            instructions = _cut_middle(whole, before, room)
            cuts.append(f"[SYSTEM] instruction file cut from {len(whole)} to {len(instructions)} characters")
        room.take(before + instructions)
        fixed.append(instructions)
    lines, left_out = _choose_context(given, room)
    if left_out:
        cuts.append(f"[CONTEXT] {left_out} oldest left out, {len(lines)} kept")
    made = _join(fixed, lines, message, takes_system=takes_system)
    return msgspec.structs.replace(made, cuts=tuple(cuts))


def _join(system: list[str], lines: list[str], message: str, *, takes_system: bool) -> PromptOutput:
    told = "[SYSTEM]\n" + "\n\n".join(system) if system else None
    sections = [] if takes_system or told is None else [told]
    if lines:
        sections.append("[CONTEXT]\n" + "\n".join(lines))
    sections.append(f"[MESSAGE]\n{message}")
    return PromptOutput(prompt="\n\n".join(sections), system_flag=told if takes_system else None)


class _Room:
    """How much may still be added."""

    def __init__(self, token_cap: int | None) -> None:
        self._cap = token_cap
        self._bytes = BYTE_LIMIT - 1
        self._tokens = token_cap

    @property
    def is_left(self) -> bool:
        return self._bytes >= 0 and (self._tokens is None or self._tokens >= 0)

    def take(self, text: str) -> None:
        self._bytes -= _size(text)
        if self._tokens is not None:
            self._tokens -= estimate_tokens(text)

    def has_for(self, text: str) -> bool:
        # A character takes at least a byte: what is far too long is not looked at.
        if len(text) > self._bytes or _size(text) > self._bytes:
            return False
        return self._tokens is None or estimate_tokens(text) <= self._tokens

    def describe(self) -> dict[str, str]:
        """Return by how much what must be sent is over what may be."""
        over = f"{-self._bytes:,} bytes" if self._bytes < 0 else f"about {-(self._tokens or 0):,} tokens"
        cap = "" if self._cap is None else f" / {self._cap:,} tokens"
        return {"over": over, "limit": f"{BYTE_LIMIT:,} bytes{cap}"}


def _choose_context(given: PromptInput, room: _Room) -> tuple[list[str], int]:
    """Return the newest messages that fit, oldest first, and how many more there would have been."""
    recent = list(_seen_by(given))
    lines: list[str] = []
    for message in recent:
        # The longest are not even written down as a line: they cannot fit.
        line = _line_of(message) if len(message.content) < BYTE_LIMIT else message.content
        cost = line + ("\n" if lines else "[CONTEXT]\n\n\n")
        if not room.has_for(cost):
            break
        room.take(cost)
        lines.append(line)
    return lines[::-1], len(recent) - len(lines)


def _seen_by(given: PromptInput) -> Iterator[ContextMessage]:
    """Go back over the last messages the recipient may see."""
    left = given.context_limit
    for message in reversed(given.context_messages):
        if left <= 0:
            return
        names = (None, given.recipient)
        if not given.recipient or message.to in names or message.sender == given.recipient:
            left -= 1
            yield message


def _line_of(message: ContextMessage) -> str:
    sender, to = (" ".join(name.split()) for name in (message.sender, message.to or "all"))
    # A space in front shows every word and makes it no heading.
    content = HEADING.sub("\n ", _mend(message.content))
    return f"{sender} -> {to}: {content}"


def _cut_middle(text: str, before: str, room: _Room) -> str:
    """Return as much of the head and the tail of a text as there is room for, with a mark between."""
    low, high = -1, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if room.has_for(before + _ends_of(text, middle)) else (low, middle)
    if low < 0:
        raise PromptTooLongError(say("too-long-file"))
    return _ends_of(text, low)


def _ends_of(text: str, kept: int) -> str:
    head = int(kept * HEAD_SHARE)
    return text[:head] + CUT_MARK.format(count=len(text) - kept) + text[len(text) - (kept - head) :]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _clean(text: str | None) -> str:
    return _mend((text or "").strip("\r\n"))


def _mend(text: str) -> str:
    """Return a text that can be written as UTF-8."""
    # Nothing of ASCII has to be looked at.
    return text if text.isascii() else storable(text)
