"""Keep approvals as files: `.ship/approvals/<id>.json`, replaced in one step and never deleted."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from shipmate.approvals.audit import Audit
from shipmate.approvals.value import Approval, Grant
from shipmate.errors import StorageError
from shipmate.values.message import new_id
from shipmate.workspace.layout import Layout, make_private, sync_folder, write_private


class JointDecision(msgspec.Struct, frozen=True):
    """Approvals that one answer decided, with its grants: once this is on disk all of them count."""

    approvals: tuple[Approval, ...]
    grants: tuple[Grant, ...] = ()


_decoder = msgspec.json.Decoder(Approval)
_joint_decoder = msgspec.json.Decoder(JointDecision)


class Records:
    """The approvals of one workspace, on disk."""

    def __init__(self, layout: Layout, audit: Audit | None = None) -> None:
        self._layout = layout
        self._audit = audit

    @contextmanager
    def lock(self) -> Generator[None]:
        """Keep others, also other processes, from deciding meanwhile; held for a few writes and no await."""
        make_private(self._layout.approvals)
        handle = os.open(self._layout.approvals / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def read(self, approval_id: str) -> Approval | None:
        """Return an approval, or None when there is no such file."""
        path = self._layout.approval(approval_id)
        try:
            found = _decoder.decode(path.read_bytes())
        except (FileNotFoundError, OSError) as error:
            if isinstance(error, FileNotFoundError) or len(path.name) > 255:
                return None
            raise StorageError(f"{path}: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise StorageError(
                f"{path} is not a readable approval ({error}). Nothing in it counts as decided."
            ) from error
        return self._jointly_decided(found) if found.is_open else found

    def _jointly_decided(self, approval: Approval) -> Approval:
        """Return what a joint decision made of an open approval, though its own file does not say so yet."""
        for path in self.joint_decisions():
            joint = self.read_joint(path)
            for decided in joint.approvals if joint else ():
                if decided.id == approval.id:
                    return decided
        return approval

    def joint_decisions(self) -> list[Path]:
        """List the joint decisions that are not yet in the files of their approvals, oldest first."""
        folder = self._layout.joint_decisions
        if not folder.is_dir():
            return []
        return sorted(path for path in folder.glob("*.json") if not path.name.startswith("."))

    def read_joint(self, path: Path) -> JointDecision | None:
        """Return a joint decision; None when it has been completed meanwhile."""
        try:
            return _joint_decoder.decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise StorageError(
                f"{path} is not a readable decision ({error}). Nothing in it counts."
            ) from error

    def write_joint(self, decided: Sequence[Approval], grants: Sequence[Grant]) -> Path:
        """Decide several approvals in one step; their own files follow."""
        path = self._layout.joint_decisions / f"{new_id('joint')}.json"
        write_private(path, msgspec.json.encode(JointDecision(tuple(decided), tuple(grants))))
        self.spread(JointDecision(tuple(decided), tuple(grants)))
        return path

    def spread(self, joint: JointDecision) -> None:
        """Bring a joint decision into the files of its approvals."""
        for decided in joint.approvals:
            path = self._layout.approval(decided.id)
            if path.is_file() and _decoder.decode(path.read_bytes()).is_open:
                self.write(decided)

    def drop_joint(self, path: Path) -> None:
        """Forget a joint decision that is in the files of its approvals."""
        path.unlink(missing_ok=True)
        sync_folder(path.parent)

    def write(self, approval: Approval) -> None:
        """Put an approval on disk, and what was asked or decided by it into the audit log."""
        path = self._layout.approval(approval.id)
        is_new = not path.exists()
        write_private(path, msgspec.json.format(msgspec.json.encode(approval), indent=2))
        if self._audit is None:
            return
        if is_new:
            self._audit.asked(approval)
        if not approval.is_open:
            self._audit.decided(approval)

    def ids(self) -> list[str]:
        """List all approvals there are files of, oldest first."""
        if not self._layout.approvals.is_dir():
            return []
        return sorted(
            path.stem for path in self._layout.approvals.glob("*.json") if not path.name.startswith(".")
        )
