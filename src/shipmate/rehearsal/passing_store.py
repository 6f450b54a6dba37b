"""What a rehearsal keeps while it lasts: questions, decisions and what was used, in memory alone."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from shipmate.approvals.approval_file import JointDecision
from shipmate.approvals.audit import Audit, Ending
from shipmate.approvals.value import Approval, Call, Grant, Verdict
from shipmate.errors import StorageError
from shipmate.store.journal.grant import GrantFiles
from shipmate.store.journal.sidecar import SidecarFiles
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.ledger import SidecarLedger
from shipmate.store.port import GrantRow, StepUsage
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.disk.memory_disk import MemoryDisk
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import Upload, Uploads


class PassingApprovals:
    """Approvals that are gone with the rehearsal; the audit, where there is one, is told of them."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._approvals: dict[str, Approval] = {}

    @contextmanager
    def lock(self) -> Generator[None]:
        yield

    def read(self, approval_id: str) -> Approval | None:
        return self._approvals.get(approval_id)

    def write(self, approval: Approval) -> None:
        if approval.id not in self._approvals:
            self._audit.asked(approval)
        self._approvals[approval.id] = approval
        if not approval.is_open:
            self._audit.decided(approval)

    def joint_decisions(self) -> list[str]:
        return []

    def read_joint(self, name: str) -> JointDecision | None:
        return None

    def write_joint(self, decided: Sequence[Approval], grants: Sequence[Grant]) -> str:
        for each in decided:
            self.write(each)
        return ""

    def spread(self, joint: JointDecision) -> None:
        """Do nothing: what was decided together was written at once."""

    def drop_joint(self, name: str) -> None:
        """Do nothing: there is none."""


class PassingConsents:
    """The index of approvals and the grants of a rehearsal; `lent` are those of the workspace."""

    def __init__(self, lent: GrantFiles | None) -> None:
        self._lent = lent
        self._approvals: dict[str, tuple[str, str]] = {}
        self._grants: dict[str, GrantRow] = {}

    async def put_approval(
        self, approval_id: str, thread_id: str, status: str, requested_at: str, expires_at: str | None
    ) -> None:
        self._approvals[approval_id] = (thread_id, status)

    async def approvals(
        self, *, status: str | None = None, thread_id: str | None = None, limit: int = 500
    ) -> list[str]:
        found = [
            approval_id
            for approval_id, (thread, state) in reversed(self._approvals.items())
            if status in (None, state) and thread_id in (None, thread)
        ]
        return found[:limit]

    async def waiting(self) -> dict[str, int]:
        return {}

    async def add_grant(self, grant_id: str, data: JsonObject, until: str | None) -> None:
        self._grants[grant_id] = GrantRow(
            id=grant_id, data=data, created_at=timestamp(), until=until, revoked_at=None
        )

    async def grants(self, *, every: bool = False) -> list[GrantRow]:
        lent = self._lent.list() if self._lent is not None else []
        return [*self._grants.values(), *(row for row in lent if every or row.revoked_at is None)]

    async def revoke_grant(self, grant_id: str) -> bool:
        return self._grants.pop(grant_id, None) is not None


class PassingLedger(SidecarLedger):
    """What the steps of a rehearsal used, and what stands beside the rows of its threads."""

    def __init__(self, layout: Layout, spent: UsageFiles | None) -> None:
        super().__init__(SidecarFiles(layout, MemoryDisk()))
        self._steps: list[StepUsage] = []
        self._spent = spent

    async def add_usage(self, usage: StepUsage) -> None:
        self._steps.append(usage)
        if self._spent is not None:
            # Where nothing can be written the report says it.
            with suppress(StorageError):
                self._spent.append(usage)

    async def usage(
        self, since: str, thread_id: str | None = None, run_id: str | None = None
    ) -> list[StepUsage]:
        return [
            step
            for step in self._steps
            if since <= step.at and thread_id in (None, step.thread_id) and run_id in (None, step.run_id)
        ]


class PassingStore:
    """All that a rehearsal keeps beside its threads; what a model was paid is `spent` for good."""

    def __init__(
        self, layout: Layout, spent: UsageFiles | None = None, lent: GrantFiles | None = None
    ) -> None:
        self.consents = PassingConsents(lent)
        self.ledger = PassingLedger(layout, spent)


class PassingUploads:
    """Kept files: those of the workspace can be read, new ones are gone with the copy."""

    def __init__(self, workspace: Uploads, copy: Uploads) -> None:
        self._workspace = workspace
        self._copy = copy

    def keep(self, data: bytes, filename: str, owner: str = "") -> Upload:
        return self._copy.keep(data, filename, owner)

    def find(self, upload_id: str) -> tuple[Upload, Path] | None:
        return self._copy.find(upload_id) or self._workspace.find(upload_id)


class NoAudit(Audit):
    """No record: nothing acted."""

    def allowed(self, call: Call) -> None:
        """Do nothing."""

    def refused(self, call: Call, verdict: Verdict) -> None:
        """Do nothing."""

    def ended(self, call: Call, outcome: Ending) -> None:
        """Do nothing."""

    def asked(self, approval: Approval) -> None:
        """Do nothing."""

    def decided(self, approval: Approval) -> None:
        """Do nothing."""

    def abandoned(self, approval: Approval, why: str) -> None:
        """Do nothing."""
