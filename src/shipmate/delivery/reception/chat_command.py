"""Read the commands that people write into a platform's chat."""

from __future__ import annotations

import re
from typing import Any, Literal

from shipmate.values.event import (
    ApprovalReplyEvent,
    CommandEvent,
    CourseEvent,
    IngressEvent,
    ModelSwitchEvent,
    PinEvent,
    PlanEvent,
    RetryEvent,
    TextEvent,
)

# In groups some platforms put the name of the one who is meant behind the command.
COMMAND = re.compile(
    r"/(new|compact|pin|pins|unpin|plan|model|stop|retry|voice|context|help|start|approve|deny|release|drop)"
    r"(?:@\w+)?(?:\s+(.*))?",
    re.IGNORECASE | re.DOTALL,
)
APPROVAL_ID = re.compile(r"apr_[0-9a-f]+")
# What follows /model when it is meant for the member, not the thread.
MEMBER_SCOPE = "--member"


def read_command(event: IngressEvent) -> IngressEvent:
    """Return the event that a person's command means; words that are no command stay as they are."""
    if not isinstance(event, TextEvent) or event.attachments or event.spoken:
        return event
    found = COMMAND.fullmatch(event.text.strip())
    if found is None:
        return event
    name, rest = found[1].lower(), (found[2] or "").strip()
    match name:
        case "new" if not rest:
            return CourseEvent(**_common(event))
        case "compact":
            return CourseEvent(**_common(event), summarise=True, focus=rest)
        case "pins" if not rest:
            return PinEvent(**_common(event))
        case "pin":
            return PinEvent(**_common(event), text=rest)
        case "unpin":
            # What is no number is the number of no pin; the answer says which there are.
            return PinEvent(**_common(event), number=int(rest) if re.fullmatch(r"[0-9]{1,9}", rest) else 0)
        case "model":
            name, scope = read_model_words(rest)
            return ModelSwitchEvent(**_common(event), name=name, scope=scope)
        case "plan":
            return PlanEvent(**_common(event), action=read_plan_word(rest))
        case "approve" | "deny":
            return _answer(event, name, rest)
        case "retry" if not rest:
            return RetryEvent(**_common(event))
        case "voice":
            return CommandEvent(**_common(event), name="voice", text=rest.lower())
        case "start" | "help":
            return CommandEvent(**_common(event), name="help")
        case "stop" | "context" | "release" | "drop" if not rest:
            return CommandEvent(**_common(event), name=name)
        case _:
            return event


def _answer(event: TextEvent, name: str, rest: str) -> ApprovalReplyEvent:
    """Return the answer that /approve and /deny give: to what waits, or to the one whose id stands behind."""
    if APPROVAL_ID.fullmatch(rest):
        return ApprovalReplyEvent(**_common(event), text="", approval_id=rest, approved=name == "approve")
    return ApprovalReplyEvent(**_common(event), text=f"{name} {rest}".strip())


def read_model_words(rest: str) -> tuple[str, Literal["thread", "member"]]:
    """Return the model that stands behind /model, and for whom it is meant."""
    words = rest.split()
    name = " ".join(word for word in words if word != MEMBER_SCOPE)
    return name, "member" if MEMBER_SCOPE in words else "thread"


def read_plan_word(rest: str) -> Literal["open", "go", "off"]:
    """Return what stands behind /plan; whatever is no other word asks for a plan."""
    match rest.casefold():
        case "go" | "off" as word:
            return word
        case _:
            return "open"


def _common(event: TextEvent) -> dict[str, Any]:
    return {
        "platform": event.platform,
        "thread_id": event.thread_id,
        "user_id": event.user_id,
        "message_id": event.message_id,
        "timestamp": event.timestamp,
        "member": event.member,
        "correlation_id": event.correlation_id,
    }
