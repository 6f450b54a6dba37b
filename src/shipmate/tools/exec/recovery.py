"""Finish what a crash cut off in the midst of a command."""

from __future__ import annotations

import logging

from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.change.changeset import recover
from shipmate.workspace.layout import Layout

log = logging.getLogger(__name__)


def take_up(layout: Layout) -> None:
    """Finish what a crash cut off, and forget trials nobody can answer any more."""
    if layout.rooms.is_dir():
        for line in Sandbox(layout).recover():
            log.warning("after a command that was cut off: %s", line)
    if layout.trials.is_dir():
        from shipmate.tools.exec.preview.trial import Trials

        recover(layout)
        Trials(layout).sweep()
