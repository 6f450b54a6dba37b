from __future__ import annotations

import msgspec
import pytest

from shipmate.errors import PrimingError
from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.report.kept import keep_report, last_report
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.workspace.layout import Layout
from tests.support.rehearsed import answered, as_recorded, called, make, parts_of, returned, said


def test_the_last_report_of_a_script_is_kept(layout: Layout) -> None:
    script = make(
        said("hi"), called("read", "c", {"path": "a"}), returned("read", "c", "x"), answered("hello")
    )
    performed = as_recorded(script)
    parts_of(performed)[-1]["text"] = "other"
    report = msgspec.structs.replace(compare(script, performed), ref="team_shared/deep/a")
    keep_report(layout, msgspec.structs.replace(report, verdict="broken", turns=[]))
    keep_report(layout, report)
    assert last_report(layout, "team_shared/deep/a") == report
    assert layout.rehearsal("team_shared/deep/a").stat().st_mode & 0o077 == 0
    assert last_report(layout, "team_shared/deep") is None


@pytest.mark.parametrize("damage", [b"", b"{", b'{"verdict": "fine"}', b"\xff"])
def test_a_damaged_report_is_none(layout: Layout, damage: bytes) -> None:
    keep_report(layout, Report(ref="team_shared/a", verdict="same"))
    layout.rehearsal("team_shared/a").write_bytes(damage)
    assert last_report(layout, "team_shared/a") is None


def test_only_a_script_has_a_report(layout: Layout) -> None:
    for ref in ("../a", "team_shared/../../a", "/etc/passwd"):
        with pytest.raises(PrimingError):
            keep_report(layout, Report(ref=ref, verdict="same"))
        with pytest.raises(PrimingError):
            last_report(layout, ref)
