"""Keep approvals in PostgreSQL, with what was asked or decided in the audit log by the same transaction."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from shipmate.approvals.approval_file import JointDecision
from shipmate.approvals.audit import Audit
from shipmate.approvals.value import Approval, Grant
from shipmate.errors import StorageError
from shipmate.store.postgres.database import PostgresDatabase, plain, statements
from shipmate.values.message import new_id

_decoder = msgspec.json.Decoder(Approval)
_joint_decoder = msgspec.json.Decoder(JointDecision)


class PostgresApprovals:
    """The approvals of one workspace, in its database."""

    def __init__(self, database: PostgresDatabase, audit: Audit | None = None) -> None:
        self._database = database
        self._audit = audit
        self._sql = statements("consent")

    @contextmanager
    def lock(self) -> Generator[None]:
        """Keep others from deciding meanwhile; held for a few writes and no await."""
        with self._database.holding(self._sql["lock"]):
            yield

    def read(self, approval_id: str) -> Approval | None:
        """Return an approval, or None when there is none."""
        data = self._one("read", id=plain(approval_id))
        try:
            return None if data is None else _decoder.decode(data)
        except msgspec.DecodeError as error:
            raise StorageError(
                f"approval {approval_id} cannot be read ({error}). Nothing in it counts as decided."
            ) from error

    def write(self, approval: Approval) -> None:
        """Put down an approval, and what was asked or decided by it in the audit log, in one step."""
        names = ("id", "thread_id", "status", "requested_at", "expires_at")
        values = {name: getattr(approval, name) for name in names}
        is_new = self._one("read", id=approval.id) is None
        with self._database.holding(self._sql["lock"]):
            self._do("write", **values, data=msgspec.json.encode(approval))
            self._do("changed")
            if self._audit is not None and is_new:
                self._audit.asked(approval)
            if self._audit is not None and not approval.is_open:
                self._audit.decided(approval)

    def joint_decisions(self) -> list[str]:
        """Name the joint decisions that are not yet known to all, oldest first."""
        return self._database.do(
            lambda link: [name for (name,) in link.execute(self._sql["joints"]).fetchall()]
        )

    def read_joint(self, name: str) -> JointDecision | None:
        """Return a joint decision; None when it has been completed meanwhile."""
        data = self._one("read_joint", name=name)
        return None if data is None else _joint_decoder.decode(data)

    def write_joint(self, decided: Sequence[Approval], grants: Sequence[Grant]) -> str:
        """Decide several approvals in one step; what they grant follows."""
        name, joint = new_id("joint"), JointDecision(tuple(decided), tuple(grants))
        with self._database.holding(self._sql["lock"]):
            self._do("write_joint", name=name, data=msgspec.json.encode(joint))
            self.spread(joint)
        return name

    def spread(self, joint: JointDecision) -> None:
        """Bring a joint decision into its approvals."""
        for decided in joint.approvals:
            current = self.read(decided.id)
            if current is not None and current.is_open:
                self.write(decided)

    def drop_joint(self, name: str) -> None:
        """Forget a joint decision that all know of."""
        self._do("drop_joint", name=name)

    def _do(self, statement: str, /, **values: Any) -> None:
        self._database.do(lambda link: link.execute(self._sql[statement], values))

    def _one(self, statement: str, /, **values: Any) -> bytes | None:
        found = self._database.do(lambda link: link.execute(self._sql[statement], values).fetchone())
        return None if found is None else found[0]
