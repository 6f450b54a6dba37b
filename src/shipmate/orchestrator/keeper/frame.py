"""What an attached process and the keeper say to each other, one frame at a time."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import msgspec

from shipmate import errors
from shipmate.errors import ShipmateError, UserError
from shipmate.orchestrator.feed import FeedEvent, Run
from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent, Outcome

# Raised when a frame changes its meaning: two versions of Shipmate must not misread each other.
VERSION = 1
TURNED_AWAY = (
    "this command was started by the process that keeps the workspace, so it may not speak to it: "
    "a tool could approve itself. Run it in a terminal of your own."
)


class _Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", rename="camel", omit_defaults=True):
    """What is said; `number` tells answers from each other."""

    number: int = 0


class Hello(_Frame, frozen=True, kw_only=True, tag="hello"):
    """The first frame of a link."""

    version: int = VERSION


class Receive(_Frame, frozen=True, kw_only=True, tag="receive"):
    """An event handed over."""

    event: IngressEvent


class WithdrawFrame(_Frame, frozen=True, kw_only=True, tag="withdraw"):
    """The wish to take an event back."""

    thread_id: str
    message_id: str


class StopFrame(_Frame, frozen=True, kw_only=True, tag="stop"):
    """The wish to stop the run in flight of a thread."""

    thread_id: str


class QueueFrame(_Frame, frozen=True, kw_only=True, tag="queue"):
    """The question what waits or runs in a thread."""

    thread_id: str


class Watch(_Frame, frozen=True, kw_only=True, tag="watch"):
    """The wish to follow a thread under this number."""

    thread_id: str


class Unwatch(_Frame, frozen=True, kw_only=True, tag="unwatch"):
    """The wish to follow it no more."""


class Welcome(_Frame, frozen=True, kw_only=True, tag="welcome"):
    """The answer to a hello: the runs in flight, by thread."""

    version: int = VERSION
    runs: dict[str, Run] = {}


class Received(_Frame, frozen=True, kw_only=True, tag="received"):
    """The confirmation that an event is stored."""

    row: InboxRow
    is_new: bool


class Settled(_Frame, frozen=True, kw_only=True, tag="settled"):
    """How the run of a received event ended."""

    outcome: Outcome


class Done(_Frame, frozen=True, kw_only=True, tag="done"):
    """The answer to a withdrawal or a stop."""

    value: bool


class Rows(_Frame, frozen=True, kw_only=True, tag="rows"):
    """The answer to a queue."""

    rows: list[InboxRow]


class Told(_Frame, frozen=True, kw_only=True, tag="told"):
    """What happened in a watched thread."""

    event: FeedEvent


class Began(_Frame, frozen=True, kw_only=True, tag="began"):
    """The news that a run began in a thread, or with None that it ended."""

    thread_id: str
    run: Run | None = None


class Refused(_Frame, frozen=True, kw_only=True, tag="refused"):
    """Why something was not done."""

    kind: str
    words: str


class Leaving(_Frame, frozen=True, kw_only=True, tag="leaving"):
    """The news that the keeper takes nothing more: the next one does."""


Frame: TypeAlias = (
    Hello
    | Receive
    | WithdrawFrame
    | StopFrame
    | QueueFrame
    | Watch
    | Unwatch
    | Welcome
    | Received
    | Settled
    | Done
    | Rows
    | Told
    | Began
    | Refused
    | Leaving
)


@cache
def _decoder() -> msgspec.json.Decoder[Frame]:
    # Made when first needed: knowing all these types takes milliseconds, and most processes are alone.
    return msgspec.json.Decoder(Frame)


def encode(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    return msgspec.json.encode(frame)


def decode(data: bytes) -> Frame:
    """Read a frame; raise ConnectionError when it is none."""
    try:
        return _decoder().decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConnectionError("the other side does not speak as a keeper does") from error


def refuse(number: int, error: ShipmateError) -> Refused:
    """Make the frame that carries an error."""
    return Refused(number=number, kind=type(error).__name__, words=str(error))


def turn_away() -> Refused:
    """Make the frame for a process that may not attach; it answers whatever was asked."""
    return refuse(0, UserError(TURNED_AWAY))


def error_of(frame: Refused) -> ShipmateError:
    """Make the error that a frame carries; one this version does not know is a plain one."""
    kind = getattr(errors, frame.kind, ShipmateError)
    known = isinstance(kind, type) and issubclass(kind, ShipmateError)
    return kind(frame.words) if known else ShipmateError(frame.words)
