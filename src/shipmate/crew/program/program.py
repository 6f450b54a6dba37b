"""What it takes to drive a program of others: how it is called, what it prints, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from shipmate.crew.crew_wording import say
from shipmate.errors import ModelAuthError, ModelBusyError, ModelError
from shipmate.models.port import ModelEvent, ProgramCall, ProgramResult, ToolCall
from shipmate.values.message import JsonObject

# What a program may do in the workspace: read, what a person approves, change files, or whatever the
# sandbox lets it.
Access = Literal["read", "ask", "edit", "all"]
RIGHTS: Mapping[str, Access] = {"ask": "ask", "preview": "ask", "auto-edit": "edit", "yolo": "all"}
LONGEST_QUOTE = 400
NO_LOGIN = re.compile(
    r"\b40[13]\b|not logged in|log ?in\b|auth(entication|orization)? (method|required|failed)|api.?key"
    r"|unauthorized",
    re.IGNORECASE,
)
TOO_MANY = re.compile(r"\b(429|529)\b|rate.?limit|overloaded|quota|usage limit", re.IGNORECASE)
# How programs say that they know no such conversation.
NO_SESSION = re.compile(
    r"no conversation found|no rollout found|invalid session identifier|error resuming session"
    r"|session not found|no previous sessions found",
    re.IGNORECASE,
)
NO_OPTION = re.compile(r"unknown option '?--append-system-prompt", re.IGNORECASE)


class ProgramError(ModelError):
    """The program could not answer. Run `shipmate doctor` to see how it stands."""

    kind = "program"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a program."""

    home: Path
    # Its own folder for what it needs during this run alone.
    temporary: Path
    access: Access
    model: str | None = None
    session: str | None = None
    system: str | None = None


class ProgramOpening(msgspec.Struct, frozen=True, kw_only=True):
    """How a conversation begins with a program that can ask: it is written to while it runs."""

    prompt: str
    folder: Path
    launch: Launch


class ProgramReader(Protocol):
    """Reads what one run of a program prints; ends with `Finish`, or raises what went wrong."""

    def read(self, event: JsonObject) -> Iterator[ModelEvent]:
        """Return what one event means."""
        ...

    def take(self) -> bytes:
        """Return what is to be written to the program now, after an event or before the first."""
        ...

    def answer(self, call_id: str, refusal: str | None) -> bytes:
        """Return what a program is told about a call it asked for: to make it, or why not."""
        ...


class Unasking:
    """What a program is told that never asks: nothing but its prompt."""

    def take(self) -> bytes:
        """Return nothing."""
        return b""

    def answer(self, call_id: str, refusal: str | None) -> bytes:
        """Return nothing."""
        return b""


class Program(Protocol):
    """One kind of program."""

    @property
    def kind(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def command(self) -> str: ...

    @property
    def package(self) -> str:
        """Return by what it is installed with npm."""
        ...

    @property
    def oldest(self) -> tuple[int, int]:
        """Return the oldest version it was tried with; zeros for one that does not say its own."""
        ...

    @property
    def logins(self) -> tuple[str, ...]:
        """Return what may hold its login, below the home."""
        ...

    @property
    def key(self) -> str:
        """Return the variable that can stand for a login."""
        ...

    def takes_system(self, system: str | None, *, is_asked: bool, is_private: bool) -> bool:
        """Return whether system text goes beside the prompt."""
        ...

    def line(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return the words to call the program with, and its variables; files it needs are written."""
        ...

    @property
    def prefix(self) -> str:
        """Return how the names of its tools begin here."""
        ...

    def converses(self, access: Access) -> bool:
        """Return whether it is talked to while it runs, so that it can ask; else it reads its prompt once."""
        ...

    def reader(self, opening: ProgramOpening | None) -> ProgramReader:
        """Return a reader for one run; with an opening for one that can ask."""
        ...


def name_tool(prefix: str, name: object) -> str:
    """Return what a program's tool is called here: never as one of ours, and as providers take it."""
    return f"{prefix}_{re.sub(r'[^A-Za-z0-9_-]', '_', str(name))}"[:64]


def explain_failure(title: str, words: str, status: object = None) -> ModelError:
    """Return the error for what a program told."""
    said = quote(words) or "?"
    if status in (401, 403) or NO_LOGIN.search(words):
        return ModelAuthError(say("no-login-said", program=title, said=said))
    if status in (429, 529) or TOO_MANY.search(words):
        return ModelBusyError(say("busy", program=title, said=said))
    return ProgramError(say("failed", program=title, said=said))


def quote(words: str) -> str:
    """Return the last of some words in one line, without what moves a cursor."""
    line = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    return line if len(line) <= LONGEST_QUOTE else f"…{line[-LONGEST_QUOTE:]}"


def write_private(path: Path, text: str) -> Path:
    """Write a file that its owner alone can read."""
    path.touch(mode=0o600)
    path.write_text(text, "utf-8", newline="")
    return path


class OpenCalls:
    """The calls a program made and told no result of yet."""

    def __init__(self) -> None:
        self._open: dict[str, None] = {}

    def follow(self, event: ModelEvent) -> None:
        """Take one event into account."""
        if isinstance(event, ProgramCall):
            self._open[event.call_id] = None
        elif isinstance(event, ProgramResult | ToolCall):
            # What a person is asked about is no longer its own affair.
            self._open.pop(event.call_id, None)

    def __bool__(self) -> bool:
        return bool(self._open)

    def close(self, words: str) -> Iterator[ProgramResult]:
        """Return an end for each call that has none."""
        for call_id in self._open:
            yield ProgramResult(call_id, words, is_error=True)
        self._open.clear()


def field(value: Any, *keys: str) -> Any:
    """Return what lies below some keys of a JSON value; None where there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  (any JSON)
    return value  # pyright: ignore[reportUnknownVariableType]  (any JSON)


def number(value: Any, *keys: str) -> int:
    """Return a count below some keys of a JSON value, 0 where there is none."""
    found = field(value, *keys)
    return found if isinstance(found, int) else 0
