"""What live tools print in a rehearsal: no thread points at it, so that it goes with the rehearsal."""

from __future__ import annotations

import os
import secrets
import shutil

from shipmate.rehearsal.remover import Remover
from shipmate.tools.exec.sandbox.room import is_running
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

PLATFORM = "cli"
SCOPE = "rehearsal"


def name_rehearsal() -> ThreadId:
    """Return what the ids of its threads begin with; others see by it whether its process still runs."""
    return ThreadId(PLATFORM, SCOPE, f"{os.getpid()}-{secrets.token_hex(8)}")


class LiveLog:
    """The logs that the calls of a rehearsal write in the workspace."""

    def __init__(self, layout: Layout, rehearsal: ThreadId) -> None:
        beginning = layout.call_log(str(rehearsal), "call").parent
        # Where even a remover was killed, the next rehearsal does its work.
        for folder in beginning.parent.glob(f"{rehearsal.encode().removesuffix(rehearsal.scope_id)}*"):
            owner = ThreadId.decode(folder.name).scope_id.partition("-")[0]
            if owner.isdigit() and not is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)
        self._remover = Remover(beginning)

    def close(self) -> None:
        """Remove the logs of this rehearsal."""
        self._remover.finish()
