"""Judge the calls that a script file makes with live tools: it may look, and authorises nothing real."""

from __future__ import annotations

from msgspec.structs import replace

from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Call, Verdict
from shipmate.values.reason import Why
from shipmate.workspace.config import Permissions

# Tools that look at files of the workspace and at nothing else.
LOOKING = frozenset({"read", "glob", "grep"})


def tighten(permissions: Permissions) -> Permissions:
    """Return permissions by which nothing is allowed: leave that members were given is none for a file."""
    is_closed = permissions.mode == "read-only"
    return replace(permissions, mode="read-only" if is_closed else "ask", allow=())


class ScriptedApprovals(ApprovalService):
    """Approvals where neither a person nor a model asked for a call: what acts or reaches out is refused."""

    async def judge(self, call: Call) -> Verdict:
        verdict = self.policy.judge(call, ())
        if verdict.action == "deny" or (call.tool.name in LOOKING and verdict.action == "allow"):
            return await super().judge(call)
        why = Why("scripted")
        return Verdict("deny", why, reason=self._explain(call, why))
