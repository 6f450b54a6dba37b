"""Keep approvals as files: `.ship/approvals/<id>.json`, replaced in one step and never deleted."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from shipmate.approvals.audit import Audit
from shipmate.approvals.value import Approval
from shipmate.errors import StorageError
from shipmate.workspace.layout import Layout, make_private, write_private

_decoder = msgspec.json.Decoder(Approval)


class Records:
    """Read and write the approvals of one workspace."""

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
        """Give an approval, or None when there is no such file."""
        path = self._layout.approval(approval_id)
        try:
            return _decoder.decode(path.read_bytes())
        except (FileNotFoundError, OSError) as error:
            if isinstance(error, FileNotFoundError) or len(path.name) > 255:
                return None
            raise StorageError(f"{path}: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise StorageError(
                f"{path} is not a readable approval ({error}). Nothing in it counts as decided."
            ) from error

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
