"""Judge the calls of a rehearsal where they differ from those of a conversation."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Call, Verdict
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.values.reason import Why
from shipmate.workspace.config import Permissions
from shipmate.workspace.layout import Layout

# Tools that look at files of the workspace and at nothing else.
LOOKING = frozenset({"read", "glob", "grep"})


def tighten(permissions: Permissions) -> Permissions:
    """Return permissions by which nothing is allowed: leave that members were given is none for a file."""
    is_closed = permissions.mode == "read-only"
    return replace(permissions, mode="read-only" if is_closed else "ask", allow=())


class ScriptedApprovals(ApprovalService):
    """Approvals where neither a person nor a model asked for a call: what acts or reaches out is refused."""

    def __init__(self, layout: Layout, permissions: Permissions, *given: Any, **options: Any) -> None:
        super().__init__(layout, tighten(permissions), *given, **options)

    async def judge(self, call: Call) -> Verdict:
        verdict = self.policy.judge(call, ())
        if verdict.action == "deny" or (call.tool.name in LOOKING and verdict.action == "allow"):
            return await super().judge(call)
        why = Why("scripted")
        return Verdict("deny", why, reason=self._explain(call, why))


class CopyApprovals(ApprovalService):
    """Approvals in a copy of the workspace: reasons name the workspace's own paths."""

    def __init__(self, copy: WorkspaceCopy, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._copy = copy

    async def judge(self, call: Call) -> Verdict:
        verdict = await super().judge(call)
        return replace(verdict, reason=self._copy.leave(verdict.reason))

    def _explain(self, call: Call, why: Why) -> str:
        return self._copy.leave(super()._explain(call, why))
