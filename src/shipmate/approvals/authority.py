"""Decide who may answer an approval."""

from __future__ import annotations

from shipmate.approvals.value import Approval
from shipmate.values.event import ApprovalReplyEvent, TextEvent
from shipmate.workspace.config import Permissions

# Whoever speaks here holds the workspace itself: its files, or the token of its page.
OWNER_PLATFORMS = frozenset({"cli", "web"})


def may_decide(permissions: Permissions, event: TextEvent | ApprovalReplyEvent, approval: Approval) -> bool:
    """Tell whether the person who sent an event may answer an approval."""
    if permissions.deciders == "anyone" or event.platform in OWNER_PLATFORMS or is_admin(permissions, event):
        return True
    if permissions.deciders == "admins":
        return False
    # Ids are only unique within a platform.
    is_same_platform = approval.thread_id.partition(":")[0] == event.platform
    return is_same_platform and bool(approval.initiator) and approval.initiator == event.user_id


def is_admin(permissions: Permissions, event: TextEvent | ApprovalReplyEvent) -> bool:
    """Tell whether a person is listed, as `platform:id` or by an id alone."""
    return bool(event.user_id) and not {event.user_id, f"{event.platform}:{event.user_id}"}.isdisjoint(
        permissions.admins
    )
