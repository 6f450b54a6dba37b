"""Write what stands behind a button, within the 64 bytes that platforms carry, and read it when pressed."""

from __future__ import annotations

from typing import Any

from shipmate.values.event import ApprovalReplyEvent, CommandEvent, IngressEvent

MARK = ":"


def approve_data(approval_id: str, scope: str) -> str:
    """Return the data of a button that approves for a scope."""
    return f"a{MARK}{approval_id}{MARK}{scope}"


def deny_data(approval_id: str) -> str:
    """Return the data of a button that refuses."""
    return f"d{MARK}{approval_id}"


def command_data(name: str, text: str = "") -> str:
    """Return the data of a button that gives a command."""
    return f"c{MARK}{name}{MARK}{text}"


def read_press(data: str, common: dict[str, Any]) -> IngressEvent | None:
    """Return the event a pressed button means; None for data that is not ours."""
    match data.split(MARK):
        case ["a", approval_id, scope]:
            return ApprovalReplyEvent(
                **common, text="", approval_id=approval_id, approved=True, scope=scope or "once"
            )
        case ["d", approval_id]:
            return ApprovalReplyEvent(**common, text="", approval_id=approval_id, approved=False)
        case ["c", name, text] if name in ("more", "full", "release", "drop"):
            return CommandEvent(**common, name=name, text=text)
        case _:
            return None
