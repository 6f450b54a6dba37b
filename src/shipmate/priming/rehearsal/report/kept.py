"""Keep the last report of each script."""

from __future__ import annotations

import msgspec

from shipmate.errors import StorageError
from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.layout import Layout


def keep_report(layout: Layout, report: Report) -> None:
    """Keep a report in the place of the script's last one."""
    path = layout.rehearsal(str(ScriptRef.parse(report.ref)))
    try:
        make_private(path.parent)
        write_private(path, msgspec.json.encode(report))
    except OSError as error:
        raise StorageError(f"the report of {report.ref} could not be kept: {error.strerror}") from error


def last_report(layout: Layout, ref: str) -> Report | None:
    """Return the last report of a script; None when there is none, or none that can be read."""
    try:
        data = layout.rehearsal(str(ScriptRef.parse(ref))).read_bytes()
        return msgspec.json.decode(data, type=Report)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
