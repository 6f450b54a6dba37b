"""Ask for what a conversation leaves to remember, and take nothing from the answer that was not checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from shipmate.errors import ShipmateError
from shipmate.memory.memorable import say
from shipmate.memory.memory_entry import WORDS, present
from shipmate.values.saying import fill
from shipmate.workspace.settings.memory_rule import KINDS, EntryKind, MemoryRule

ITEM_LIMIT = 12
# An answer that is longer is no list of a few short sentences.
ANSWER_LIMIT = 16_000
FENCED = re.compile(r"\A```[a-z]*\n(.*?)\n?```\Z", re.DOTALL)


class DistilError(ShipmateError):
    """The conversation could not be looked through, so nothing changes."""


class MemoryProposal(msgspec.Struct, frozen=True):
    """Something a model would remember."""

    scope: Literal["project", "user"]
    heading: str
    content: str
    kind: EntryKind = "fact"


def write_request(transcript: str, project: str, user: str | None, rule: MemoryRule) -> tuple[str, str]:
    """Write what a model is asked: the rules, and the conversation with what is known already.

    Without a text of the person, not even an empty one, nothing is remembered of people.
    """
    nothing = WORDS["nothing"]
    topics = ", ".join(rule.avoid or ())
    request = fill(
        WORDS["request"],
        {
            "kinds": ", ".join(rule.keep or KINDS),
            "avoid": " " + fill(WORDS["avoid"], {"topics": topics}) if topics else "",
            "project": present(project) or nothing,
            "user": nothing if user is None else present(user) or nothing,
            "transcript": transcript,
        },
    )
    return fill(WORDS["system"], {"limit": str(ITEM_LIMIT)}), request


def read_proposals(answer: str, kinds: Sequence[EntryKind] | None = None) -> list[MemoryProposal]:
    """Read a model's answer; whatever is no list of few short items is refused as a whole."""
    text = answer.strip()
    if not text:
        raise DistilError(say("distil-empty"))
    if len(text) > ANSWER_LIMIT:
        raise DistilError(say("distil-long"))
    if fenced := FENCED.match(text):
        text = fenced[1]
    try:
        found = msgspec.json.decode(text, type=list[MemoryProposal])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise DistilError(say("distil-none")) from error
    if len(found) > ITEM_LIMIT:
        raise DistilError(say("distil-long"))
    return [each for each in found if each.kind in (kinds or KINDS)]
