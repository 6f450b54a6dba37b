"""Put decisions on disk: all that one answer decides, or none of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from shipmate.approvals.approval_file import ApprovalFiles
from shipmate.approvals.value import Approval, Decision, Grant
from shipmate.store.port import Consents
from shipmate.values.message import timestamp


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to become of one approval."""

    approval_id: str
    approved: bool
    decision: Decision
    grant: Grant | None = None


class DecisionLog:
    """The decisions of one workspace, on disk before anything depends on them."""

    def __init__(self, records: ApprovalFiles, consents: Consents, clock: Callable[[], datetime]) -> None:
        self._records = records
        self._consents = consents
        self._clock = clock

    async def decide(self, wishes: Sequence[Wish]) -> list[Approval]:
        """Decide what is still open, in one step also under a kill, and return it."""
        with self._records.lock():
            made = [(wish, decided) for wish in wishes if (decided := self._decided(wish)) is not None]
            decided = [each for _, each in made]
            grants = [wish.grant for wish, _ in made if wish.grant is not None]
            if len(decided) == 1 and not grants:
                # One file is one step.
                self._records.write(decided[0])
                path = None
            else:
                path = self._records.write_joint(decided, grants) if decided else None
        await self._index(decided, grants)
        if path is not None:
            self._records.drop_joint(path)
        return decided

    async def complete(self) -> None:
        """Finish the decisions that a crash, or another process in this moment, left unfinished."""
        for path in self._records.joint_decisions():
            with self._records.lock():
                joint = self._records.read_joint(path)
                if joint is not None:
                    self._records.spread(joint)
            if joint is not None:
                await self._index(joint.approvals, joint.grants)
                self._records.drop_joint(path)

    def change(self, approval_id: str, change: Callable[[Approval], Approval]) -> Approval | None:
        """Change an approval that is still open, alone among all processes."""
        with self._records.lock():
            current = self._open(approval_id)
            if current is not None:
                current = change(current)
                self._records.write(current)
            return current

    def _decided(self, wish: Wish) -> Approval | None:
        current = self._open(wish.approval_id)
        status = "approved" if wish.approved else "denied"
        if current is None:
            return None
        return msgspec.structs.replace(current, status=status, decision=wish.decision, proposed=None)

    def _open(self, approval_id: str) -> Approval | None:
        current = self._records.read(approval_id)
        if current is None or not current.is_open or current.has_expired(timestamp(self._clock())):
            return None
        return current

    async def _index(self, decided: Sequence[Approval], grants: Sequence[Grant]) -> None:
        for each in decided:
            await self._consents.put_approval(
                each.id, each.thread_id, each.status, each.requested_at, each.expires_at
            )
        for grant in grants:
            await self._consents.add_grant(grant.id, msgspec.to_builtins(grant), grant.expires_at)
