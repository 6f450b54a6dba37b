"""Say a script's user turns again, and show where the new answers differ from the script's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from shipmate.errors import PrimingError
from shipmate.priming.convert import to_messages
from shipmate.priming.rehearsal.performed import Heard
from shipmate.priming.rehearsal.recorded import split_answers
from shipmate.priming.script.record import Script
from shipmate.values.message import JsonObject, UIMessage, text_of, tool_name, tool_parts

Aspect = Literal["words", "calls", "results"]
ASPECTS: tuple[Aspect, ...] = ("words", "calls", "results")


class Performance(msgspec.Struct, frozen=True, kw_only=True):
    """What a member said and did in answer to one user turn."""

    words: str = ""
    calls: list[JsonObject] = []
    results: list[Any] = []


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The script's answer beside the new one."""

    said: str
    expected: Performance
    got: Performance
    differs: list[Aspect]
    # Why the rehearsal could not go on here; empty when it could.
    stopped: str = ""


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a whole rehearsal."""

    turns: list[Comparison]
    matches: bool


Say: TypeAlias = Callable[[UIMessage], Awaitable[Heard]]


async def rehearse(script: Script, say: Say, *, ignore: Sequence[str] = ()) -> Rehearsal:
    """Say each user turn in order; the model sees its own earlier answers, not the script's."""
    pairs = list(split_answers(to_messages(script.records)))
    if not pairs:
        raise PrimingError("this script has no user turn to rehearse. Add a `### record human_text_record`.")
    turns: list[Comparison] = []
    for said, expected in pairs:
        heard = await say(said)
        turns.append(_compare(said, expected, heard, ignore))
        if heard.stopped:
            break
    matches = len(turns) == len(pairs) and not any(turn.differs or turn.stopped for turn in turns)
    return Rehearsal(turns=turns, matches=matches)


def _compare(said: UIMessage, expected: list[UIMessage], heard: Heard, ignore: Sequence[str]) -> Comparison:
    before, after = read_answer(expected), read_answer(heard.messages)
    differs: list[Aspect] = [
        aspect
        for aspect in ASPECTS
        if aspect not in ignore and getattr(before, aspect) != getattr(after, aspect)
    ]
    return Comparison(said=text_of(said), expected=before, got=after, differs=differs, stopped=heard.stopped)


def read_answer(messages: Sequence[UIMessage]) -> Performance:
    """Gather the words, calls and results of an answer; ids and times do not count."""
    parts = [part for message in messages for part in tool_parts(message)]
    return Performance(
        words="\n\n".join(words for message in messages if (words := text_of(message).strip())),
        calls=[{"name": tool_name(part), "input": part.get("input")} for part in parts],
        results=[part.get("output", part.get("errorText")) for part in parts],
    )
