"""Decide who may answer an approval, and where."""

from __future__ import annotations

from shipmate.approvals.value import Approval
from shipmate.values.event import ApprovalReplyEvent, TextEvent
from shipmate.values.surface import surface_of
from shipmate.workspace.config import Permissions


def may_decide(permissions: Permissions, event: TextEvent | ApprovalReplyEvent, approval: Approval) -> bool:
    """Return whether the person who sent an event may answer an approval."""
    is_owner = surface_of(event.platform).is_owner
    if permissions.deciders == "anyone" or is_owner or is_admin(permissions, event):
        return True
    if permissions.deciders == "admins" or not event.user_id:
        return False
    # Ids are only unique within a platform; that of the thread goes without saying.
    is_same_platform = approval.thread_id.partition(":")[0] == event.platform
    called = event.user_id if is_same_platform else f"{event.platform}:{event.user_id}"
    return called in approval.initiators


def shows_calls(event: TextEvent | ApprovalReplyEvent) -> bool:
    """Return whether an event comes from where calls are shown, so that it can approve one."""
    return surface_of(event.platform).shows_calls


def is_admin(permissions: Permissions, event: TextEvent | ApprovalReplyEvent) -> bool:
    """Return whether a person is listed, as `platform:id` or by an id alone."""
    return bool(event.user_id) and not {event.user_id, f"{event.platform}:{event.user_id}"}.isdisjoint(
        permissions.admins
    )
