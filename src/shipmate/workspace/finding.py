"""State what a check of the workspace found."""

from __future__ import annotations

from typing import Literal

import msgspec

from shipmate.workspace.layout import CAPTAIN


class Finding(msgspec.Struct, frozen=True):
    """How one thing stands, and what to do when it does not stand well."""

    level: Literal["ok", "warn", "error"]
    subject: str
    message: str
    fix: str = ""

    def about(self, member_id: str) -> Finding:
        """Return the finding under the name of the member it is about; the captain's files need none."""
        if member_id == CAPTAIN:
            return self
        return msgspec.structs.replace(self, subject=f"member {member_id}: {self.subject}")
