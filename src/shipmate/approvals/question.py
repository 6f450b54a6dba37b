"""Put approvals, grants and reasons into a person's words, from the Markdown files in `words/`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from shipmate.approvals.policy.subject import KINDS
from shipmate.approvals.reply.naming import names_of
from shipmate.approvals.value import Approval, Grant
from shipmate.values.reason import Why
from shipmate.values.reveal import reveal, reveal_line
from shipmate.values.saying import fill, load_sayings
from shipmate.values.tool_name import EXCEED_BUDGET, REMEMBER

FOLDER = Path(__file__).parent / "words"
LETTERS = re.compile(r"(?:[^\W_]|[ ./:=@,+%-])+")
# What a chat can show in one piece; longer calls are shown whole only on the owner's own surfaces.
CHAT_LIMIT = 12_000
ITEM_LIMIT = 80
# From here on a person is told how long a call is.
LONG_LINES = 5
LONG_CHARACTERS = 300
# Questions that are about no call of a model.
OWN = {EXCEED_BUDGET: "budget", REMEMBER: "memory"}
# The longer answers there are buttons for.
SCOPES = ("10m", "thread", "always")


def load_words(language: str) -> dict[str, str]:
    """Return this room's sayings in a language."""
    return load_sayings(FOLDER, language)


def say(language: str, key: str, **values: object) -> str:
    """Return a saying with its places filled."""
    return fill(load_words(language)[key], values)


def explain(language: str, why: Why) -> str:
    """Return the words for a reason."""
    return say(language, f"why-{why.key}", what=reveal(why.what))


def is_shown_whole(approval: Approval, limit: int = CHAT_LIMIT) -> bool:
    """Return whether a person can see all the call would do, and all that a longer answer would cover."""
    covered = (approval.coverage.rule if approval.coverage else None) or ""
    return approval.preview is not None and len(approval.preview) + len(covered) <= limit


def describe(approval: Approval, language: str = "en", limit: int = CHAT_LIMIT) -> str:
    """Write the question for a person: the whole call, why it is asked, and how to answer."""
    reason = explain(language, approval.why) if approval.why.key else reveal(approval.reason)
    why = say(language, "why", reason=reason)
    if approval.preview is None or not is_shown_whole(approval, limit):
        unseen = say(language, "ask-unseen", tool=approval.tool, id=approval.id)
        return f"{unseen}\n\n{why}"
    kind = (
        "trial"
        if "trial" in approval.target
        else OWN.get(approval.tool) or KINDS.get(approval.tool) or "tool"
    )
    question = say(
        language,
        _toned(language, f"ask-{kind}", approval.tone),
        tool=approval.tool,
        folder=reveal(approval.folder),
        path=reveal(names_of(approval)[0]),
        preview=fence(approval.preview),
    )
    how = say(language, "how", number=approval.number, until=moment(approval.expires_at))
    pieces = [question, *_notes(approval, language), why, how, _describe_offers(approval, language)]
    return "\n\n".join(filter(None, pieces))


def _notes(approval: Approval, language: str) -> list[str]:
    """Say what the text of a call alone does not show: how long it is, and where its path really leads."""
    notes: list[str] = []
    if is_long(approval):
        lines, characters = measure(approval)
        notes.append(say(language, "ask-length", lines=f"{lines:,}", characters=f"{characters:,}"))
    if (real := leads_to(approval)) is not None:
        written = inline(names_of(approval)[0])
        notes.append(say(language, "ask-leads", path=written, real=inline(real)))
    if (hours := approval.target.get("sharedHours")) is not None:
        notes.append(say(language, "ask-shared", hours=hours))
    return notes


def measure(approval: Approval) -> tuple[int, int]:
    """Count the lines and characters of what a person is shown."""
    shown = approval.preview or ""
    return len(shown.splitlines()), len(shown)


def is_long(approval: Approval) -> bool:
    """Return whether a call is so long that a person may miss part of it."""
    lines, characters = measure(approval)
    return lines > LONG_LINES or characters > LONG_CHARACTERS


def leads_to(approval: Approval) -> str | None:
    """Return the real path of a call whose written path leads elsewhere by links."""
    real, written = approval.target.get("path"), approval.input.get("path")
    if not isinstance(real, str) or not isinstance(written, str):
        return None
    plain = os.path.normpath(Path(approval.folder) / written)
    return None if plain == os.path.normpath(Path(approval.folder) / real) else real


def offer_scopes(
    approval: Approval, language: str, quote: Callable[[str], str] | None = None
) -> dict[str, str]:
    """Return the longer answers that would hold, each with what exactly it would cover."""
    if approval.coverage is None:
        return {}
    covers = _describe_coverage(approval, approval.coverage.rule, language, quote or inline)
    member = approval.member
    return {scope: say(language, f"covers-{scope}", covers=covers, member=member) for scope in SCOPES}


def _describe_coverage(
    approval: Approval, rule: str | None, language: str, quote: Callable[[str], str]
) -> str:
    if "trial" in approval.target:
        # What was shown are its effects this time; the next time it runs as any command that is allowed.
        return say(language, "covers-trial")
    if rule is None:
        return say(language, "covers-call")
    if approval.tool in ("write", "edit"):
        return say(language, "covers-path", rule=quote(rule))
    # A long command is shown whole above, and would only hide the answers.
    is_long = approval.tool == "exec" and len(rule) > ITEM_LIMIT
    return say(language, "covers-words") if is_long else quote(rule)


def _describe_offers(approval: Approval, language: str) -> str:
    offers = offer_scopes(approval, language)
    lines = [say(language, f"offer-{scope}", covers=covers) for scope, covers in offers.items()]
    return "\n".join([say(language, "offers"), *lines]) if lines else ""


def _toned(language: str, key: str, tone: str) -> str:
    """Return the key of a wording in a tone; the plain one stands in where there is none."""
    return f"{key}-{tone}" if f"{key}-{tone}" in load_words(language) else key


def describe_grant(grant: Grant, language: str = "en") -> str:
    """Write a grant for a person."""
    where = say(language, f"scope-{grant.scope}", thread=grant.thread_id, member=grant.member)
    until = say(language, "scope-until", until=moment(grant.expires_at)) if grant.expires_at else ""
    scope = f"{where} {until}".strip()
    covers = grant.rule if grant.pattern is not None else describe_covered(grant, language, str)
    return say(language, "grant-wording", rule=covers, scope=scope)


def describe_covered(grant: Grant, language: str, quote: Callable[[str], str] | None = None) -> str:
    """Write what a grant covers, so that a person knows it again."""
    quote = quote or inline
    if grant.pattern is None:
        named = f"{grant.tool}: {grant.what}" if grant.what else grant.rule
        return say(language, "covers-only", what=quote(named))
    is_path = grant.tool in ("write", "edit")
    return say(language, "covers-path", rule=quote(grant.rule)) if is_path else quote(grant.rule)


def list_items(approvals: Sequence[Approval], language: str) -> str:
    """List approvals with their numbers, one a line."""
    return "\n".join(
        say(language, "item", number=each.number, tool=each.tool, what=literal(summarise(each)))
        for each in approvals
    )


def literal(text: str) -> str:
    """Put text that Markdown could read as more than its letters into a line of code."""
    return text if LETTERS.fullmatch(text) else inline(text)


def summarise(approval: Approval) -> str:
    """Return the beginning of what a call is about, on one line."""
    return reveal_line(names_of(approval)[0], ITEM_LIMIT)


def inline(text: str) -> str:
    """Put text on one line of code that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks, space = "`" * (longest + 1), " " if longest else ""
    return f"{marks}{space}{reveal(' '.join(text.split()))}{space}{marks}"


def fence(text: str) -> str:
    """Put text into a code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{reveal(text)}\n{marks}"


def moment(timestamp: str, zone: tzinfo | None = None) -> str:
    """Shorten an ISO moment for people, in a zone: that of the machine unless another is given."""
    return f"{datetime.fromisoformat(timestamp).astimezone(zone):%Y-%m-%d %H:%M %Z}"
