"""Keep approvals as files: `.ship/approvals/<id>.json`, replaced in one step and never deleted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from shipmate.approvals.audit import Audit
from shipmate.approvals.value import Approval, Decision, Grant
from shipmate.errors import StorageError
from shipmate.store.port import Consents
from shipmate.values.message import new_id, timestamp
from shipmate.workspace.disk.disk import (
    DISK,
    Disk,
    exists,
    locked,
    names_in,
    read_file,
    refusals,
    remove_file,
    replace_file,
)
from shipmate.workspace.layout import Layout


class JointDecision(msgspec.Struct, frozen=True):
    """Approvals that one answer decided, with its grants: once this is on disk all of them count."""

    approvals: tuple[Approval, ...]
    grants: tuple[Grant, ...] = ()


_decoder = msgspec.json.Decoder(Approval)
_joint_decoder = msgspec.json.Decoder(JointDecision)


class ApprovalRecords(Protocol):
    """The approvals of one workspace, wherever they are kept; what is written is durable."""

    def lock(self) -> AbstractContextManager[None]: ...
    def read(self, approval_id: str) -> Approval | None: ...
    def write(self, approval: Approval) -> None: ...
    def joint_decisions(self) -> list[str]: ...
    def read_joint(self, name: str) -> JointDecision | None: ...
    def write_joint(self, decided: Sequence[Approval], grants: Sequence[Grant]) -> str: ...
    def spread(self, joint: JointDecision) -> None: ...
    def drop_joint(self, name: str) -> None: ...


class ApprovalFiles:
    """The approvals of one workspace, on disk."""

    def __init__(self, layout: Layout, audit: Audit | None = None, disk: Disk = DISK) -> None:
        self._layout = layout
        self._audit = audit
        self._disk = disk

    @contextmanager
    def lock(self) -> Generator[None]:
        """Keep others, also other processes, from deciding meanwhile; held for a few writes and no await."""
        path = self._layout.approvals / ".lock"
        with self._refusals(path), locked(self._disk, path):
            yield

    def read(self, approval_id: str) -> Approval | None:
        """Return an approval, or None when there is no such file."""
        path = self._layout.approval(approval_id)
        if len(path.name) > 255:
            return None
        found = self._read(path)
        return self._jointly_decided(found) if found is not None and found.is_open else found

    def _read(self, path: Path) -> Approval | None:
        try:
            with self._refusals(path):
                return _decoder.decode(read_file(self._disk, path))
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise StorageError(
                f"{self._layout.name_of(path)} is not a readable approval ({error}). "
                "Nothing in it counts as decided."
            ) from error

    def _jointly_decided(self, approval: Approval) -> Approval:
        """Return what a joint decision made of an open approval, though its own file does not say so yet."""
        for name in self.joint_decisions():
            joint = self.read_joint(name)
            for decided in joint.approvals if joint else ():
                if decided.id == approval.id:
                    return decided
        return approval

    def joint_decisions(self) -> list[str]:
        """Name the joint decisions that are not yet in the files of their approvals, oldest first."""
        folder = self._layout.joint_decisions
        with self._refusals(folder):
            names = names_in(self._disk, folder)
        files = [name for name in names if name.endswith(".json") and not name.startswith(".")]
        return [name.removesuffix(".json") for name in files]

    def read_joint(self, name: str) -> JointDecision | None:
        """Return a joint decision; None when it has been completed meanwhile."""
        path = self._layout.joint_decisions / f"{name}.json"
        try:
            with self._refusals(path):
                return _joint_decoder.decode(read_file(self._disk, path))
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise StorageError(
                f"{self._layout.name_of(path)} is not a readable decision ({error}). Nothing in it counts."
            ) from error

    def write_joint(self, decided: Sequence[Approval], grants: Sequence[Grant]) -> str:
        """Decide several approvals in one step; their own files follow."""
        name = new_id("joint")
        path = self._layout.joint_decisions / f"{name}.json"
        with self._refusals(path):
            replace_file(self._disk, path, msgspec.json.encode(JointDecision(tuple(decided), tuple(grants))))
        self.spread(JointDecision(tuple(decided), tuple(grants)))
        return name

    def spread(self, joint: JointDecision) -> None:
        """Bring a joint decision into the files of its approvals."""
        for decided in joint.approvals:
            current = self._read(self._layout.approval(decided.id))
            if current is not None and current.is_open:
                self.write(decided)

    def drop_joint(self, name: str) -> None:
        """Forget a joint decision that is in the files of its approvals."""
        path = self._layout.joint_decisions / f"{name}.json"
        with self._refusals(path):
            remove_file(self._disk, path)

    def write(self, approval: Approval) -> None:
        """Put an approval on disk, and what was asked or decided by it into the audit log."""
        path = self._layout.approval(approval.id)
        with self._refusals(path):
            is_new = not exists(self._disk, path)
            replace_file(self._disk, path, msgspec.json.format(msgspec.json.encode(approval), indent=2))
        if self._audit is None:
            return
        if is_new:
            self._audit.asked(approval)
        if not approval.is_open:
            self._audit.decided(approval)

    def _refusals(self, path: Path) -> AbstractContextManager[None]:
        return refusals(path, self._layout.root)


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to become of one approval."""

    approval_id: str
    approved: bool
    decision: Decision
    grant: Grant | None = None


class DecisionLog:
    """The decisions of one workspace, on disk before anything depends on them."""

    def __init__(self, records: ApprovalRecords, consents: Consents, clock: Callable[[], datetime]) -> None:
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
                name = None
            else:
                name = self._records.write_joint(decided, grants) if decided else None
        await self._index(decided, grants)
        if name is not None:
            self._records.drop_joint(name)
        return decided

    async def complete(self) -> None:
        """Finish the decisions that a crash, or another process in this moment, left unfinished."""
        for name in self._records.joint_decisions():
            with self._records.lock():
                joint = self._records.read_joint(name)
                if joint is not None:
                    self._records.spread(joint)
            if joint is not None:
                await self._index(joint.approvals, joint.grants)
                self._records.drop_joint(name)

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
