"""What must hold of the chat of a world at rest: every answer once, every doubt listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shipmate.delivery.cleaning import clean
from shipmate.delivery.sender import key_of
from shipmate.store.port import OutboxRow
from tests.simulation.platform import CHAT, SimPlatform

if TYPE_CHECKING:
    from tests.simulation.world import World


def chat_troubles(world: World, platform: SimPlatform) -> Iterator[str]:
    """Compare what people see in the chat with what they were told and what the outbox says."""
    rows = world.sends()
    # Words that nobody is sure of are listed, or a person was told that they failed.
    doubtful = {row.message.text for row in rows if row.status in ("uncertain", "failed")}
    if platform.kind != "neither" and doubtful:
        yield f"the platform could have been asked about {doubtful}"
    posted = list(platform.posted.values())
    texts = {each.text for each in posted if each.kind != "preview"}
    for said in world.outside.said.values():
        if said.event.thread_id != CHAT:
            continue
        for outcome in said.outcomes:
            words = clean(outcome.text)
            if words and outcome.message_id and words not in texts and words not in doubtful:
                yield f"{said.event.message_id} was answered {words!r}, which nobody in the chat can read"
    yield from _doubled(platform, rows)
    yield from _order(platform, rows)
    yield from _asked(world, platform, doubtful)
    if left := [row.id for row in rows if row.status in ("waiting", "sending")]:
        yield f"sends {left} never left"


def _doubled(platform: SimPlatform, rows: list[OutboxRow]) -> Iterator[str]:
    posted = list(platform.posted.values())
    # Where nobody can be asked a preview may stand beside the whole, and is listed.
    strays = {key_of(row) for row in rows if row.has_stray} if platform.kind == "neither" else set[str]()
    keys = Counter(each.key for each in posted if each.kind != "preview" or each.key not in strays)
    yield from (f"the key {key} was posted {count} times" for key, count in keys.items() if count > 1)
    finals = Counter(
        (each.reply_to, each.text) for each in posted if each.kind == "words" and each.reply_to is not None
    )
    yield from (
        f"{text!r} to {to} was said {count} times" for (to, text), count in finals.items() if count > 1
    )


def _order(platform: SimPlatform, rows: list[OutboxRow]) -> Iterator[str]:
    """Check that what went out at the first try went out in the order it was meant to."""
    plain = [row for row in rows if row.attempts == 1 and row.receipt in platform.posted]
    places = [platform.posted[row.receipt or ""].number for row in plain]
    if places != sorted(places):
        yield f"the chat is out of order: {places}"


def _asked(world: World, platform: SimPlatform, doubtful: set[str | None]) -> Iterator[str]:
    """Check that every question was put once, and can be answered no more once it is decided."""
    for approval in world.approvals():
        if approval.thread_id != CHAT:
            continue
        found = [each for each in platform.posted.values() if any(approval.id in data for data in each.asked)]
        if len(found) > 1:
            yield f"{approval.id} was asked {len(found)} times"
        for each in found:
            if (
                each.buttons
                and not approval.is_open
                and platform.capabilities.supports_edits
                and not doubtful
            ):
                yield f"{approval.id} is decided, and its buttons are there"
