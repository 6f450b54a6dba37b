"""What the processes of a fleet say to each other: wishes to whoever works a thread, and news of runs."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import msgspec

from shipmate.orchestrator.feed import FeedEvent, Run


class _Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", rename="camel", omit_defaults=True):
    """What is said about a thread."""

    thread_id: str = ""


class StopWish(_Said, frozen=True, kw_only=True, tag="stop"):
    """A person's word to end the run in flight."""


class SteerWish(_Said, frozen=True, kw_only=True, tag="steer"):
    """A person's wish that the run in flight ends with its step."""


class WatchWish(_Said, frozen=True, kw_only=True, tag="watch"):
    """The threads that somebody watches through a gateway; said anew while they do."""

    thread_ids: list[str]
    # Somebody has only just begun, and knows nothing yet.
    is_anew: bool = False


class SendWish(_Said, frozen=True, kw_only=True, tag="send"):
    """The news that something waits to be sent."""


class RunNews(_Said, frozen=True, kw_only=True, tag="run"):
    """The news that a run began, or with None that it ended."""

    run: Run | None = None


class FeedNews(_Said, frozen=True, kw_only=True, tag="told"):
    """What happened in a thread that somebody watches."""

    event: FeedEvent


class OutcomeNews(_Said, frozen=True, kw_only=True, tag="settled"):
    """The news that rows have their outcome; the rows themselves say which."""

    seqs: list[int]


Wish: TypeAlias = StopWish | SteerWish | WatchWish | SendWish
News: TypeAlias = RunNews | FeedNews | OutcomeNews
Said: TypeAlias = Wish | News


@cache
def _decoder() -> msgspec.json.Decoder[list[Said]]:
    return msgspec.json.Decoder(list[Said])


def encode(said: list[bytes]) -> bytes:
    """Join what was encoded one by one."""
    return b"[" + b",".join(said) + b"]"


def encode_one(said: Said) -> bytes:
    """Return the bytes of one thing said."""
    return msgspec.json.encode(said)


def decode(data: bytes) -> list[Said]:
    """Read what was said; what another version says and this one does not know is left out."""
    try:
        return _decoder().decode(data)
    except msgspec.DecodeError:
        return [found for raw in msgspec.json.decode(data, type=list[msgspec.Raw]) for found in _read(raw)]


def _read(raw: msgspec.Raw) -> list[Said]:
    try:
        return _decoder().decode(encode([bytes(raw)]))
    except msgspec.DecodeError:
        return []
