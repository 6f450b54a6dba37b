"""People in the terminal: a code lets somebody in, and they are shut out again."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate.delivery.reception.people import People
from shipmate.workspace.layout import Layout
from tests.support.terminal import shipmate


def test_a_code_lets_somebody_in(workspace: Path) -> None:
    (workspace / "ship.json").write_text(json.dumps({"people": {"ann": ["memory:1"]}}))
    code = People(Layout(workspace), {}).offer("memory", "7", "Bo\nb")
    listed = shipmate(workspace, "people").stdout
    assert "ann  memory:1  (ship.json)" in listed
    assert f"?  memory:7  Bo b  let in: shipmate people pair {code}" in listed
    done = shipmate(workspace, "people", "pair", code, "--as", "ann")
    assert done.stdout == "memory:7 (Bo b) may talk now.\n"
    assert "ann  memory:7  Bo b  since" in shipmate(workspace, "people").stdout
    assert shipmate(workspace, "people", "pair", code).returncode == 2
    assert shipmate(workspace, "people", "part", "memory:7").returncode == 0
    assert shipmate(workspace, "people", "part", "memory:7").returncode == 2
