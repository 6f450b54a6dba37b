"""Put approvals, grants and reasons into a person's words, from the Markdown files in `words/`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from shipmate.approvals.policy.subject import KINDS
from shipmate.approvals.reply.naming import names_of
from shipmate.approvals.value import Approval, Grant
from shipmate.values.reason import Why
from shipmate.values.reveal import reveal, reveal_line

FOLDER = Path(__file__).parent / "words"
HEADING = re.compile(r"^# ([a-z-]+)\n", re.MULTILINE)
PLACE = re.compile(r"\{([a-z]+)\}")
# What a chat can show in one piece; longer calls are shown whole only on the owner's own surfaces.
CHAT_LIMIT = 12_000
ITEM_LIMIT = 80


@cache
def load_words(language: str) -> dict[str, str]:
    """Read one language's file; English stands in for a language that has none."""
    path = FOLDER / f"{language}.md"
    text = (path if path.is_file() else FOLDER / "en.md").read_text(encoding="utf-8")
    pieces = HEADING.split(text)
    return {key: body.strip() for key, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def say(language: str, key: str, **values: object) -> str:
    """Give a saying with its places filled."""
    return PLACE.sub(lambda place: str(values[place[1]]), load_words(language)[key])


def explain(language: str, why: Why) -> str:
    """Give the words for a reason."""
    return say(language, f"why-{why.key}", what=reveal(why.what))


def is_shown_whole(approval: Approval, limit: int = CHAT_LIMIT) -> bool:
    """Tell whether a person can see all that the call would do."""
    return approval.preview is not None and len(approval.preview) <= limit


def describe(approval: Approval, language: str = "en", limit: int = CHAT_LIMIT) -> str:
    """Write the question for a person: the whole call, why it is asked, and how to answer."""
    why = say(language, "why", reason=reveal(approval.reason))
    if approval.preview is None or len(approval.preview) > limit:
        unseen = say(language, "ask-unseen", tool=approval.tool, id=approval.id)
        return f"{unseen}\n\n{why}"
    kind = KINDS.get(approval.tool) or "tool"
    question = say(
        language,
        f"ask-{kind}",
        tool=approval.tool,
        folder=reveal(approval.folder),
        path=reveal(names_of(approval)[0]),
        preview=fence(approval.preview),
    )
    how = say(language, "how", number=approval.number, until=moment(approval.expires_at))
    return f"{question}\n\n{why}\n\n{how}"


def describe_grant(grant: Grant, language: str = "en") -> str:
    """Write a grant for a person."""
    where = say(language, f"scope-{grant.scope}", thread=grant.thread_id, member=grant.member)
    until = say(language, "scope-until", until=moment(grant.expires_at)) if grant.expires_at else ""
    scope = f"{where} {until}".strip()
    return say(language, "grant-wording", rule=grant.rule, scope=scope)


def list_items(approvals: Sequence[Approval], language: str) -> str:
    """List approvals with their numbers, one a line."""
    return "\n".join(
        say(language, "item", number=each.number, tool=each.tool, what=summarise(each)) for each in approvals
    )


def summarise(approval: Approval) -> str:
    """Give the beginning of what a call is about, on one line."""
    return reveal_line(names_of(approval)[0], ITEM_LIMIT)


def fence(text: str) -> str:
    """Put text into a code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{reveal(text)}\n{marks}"


def moment(timestamp: str) -> str:
    """Shorten an ISO moment for people."""
    return f"{timestamp[:10]} {timestamp[11:16]} UTC"
