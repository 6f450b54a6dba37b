"""Files of approvals, also those that earlier versions wrote."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from shipmate.approvals.approval_file import ApprovalFiles, JointDecision
from shipmate.approvals.value import Approval
from shipmate.workspace.layout import Layout

OLD = {
    "id": "apr_1",
    "status": "denied",
    "threadId": "cli:dm:ann",
    "member": "captain",
    "runId": "r1",
    "callId": "c1",
    "messageId": "m1",
    "number": 1,
    "tool": "exec",
    "input": {"command": "git push"},
    "folder": "/w",
    "digest": "d",
    "preview": "git push",
    "reason": "no rule allows it",
    "requestedAt": "2026-01-01T00:00:00.000Z",
    "expiresAt": "2026-01-02T00:00:00.000Z",
    "initiator": "ann",
    "ruling": {
        "by": "ann",
        "at": "2026-01-01T00:01:00.000Z",
        "platform": "cli",
        "threadId": "cli:dm:ann",
        "messageId": "m2",
        "words": "no, not there",
        "reason": "not there",
    },
}
ROOT = Path(__file__).parents[2]


def test_h1_a_file_keeps_a_decision_under_the_key_it_always_had(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    files = ApprovalFiles(layout)
    path = layout.approval("apr_1")
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(OLD))
    found = files.read("apr_1")
    assert found is not None
    assert found.decision is not None
    assert (found.decision.by, found.decision.reason) == ("ann", "not there")
    files.write(found)
    assert msgspec.json.decode(path.read_bytes())["ruling"] == OLD["ruling"]


def test_c7_an_answer_taken_back_is_not_brought_back_by_what_a_crash_left(tmp_path: Path) -> None:
    """The decision that a crash left is completed later, when its target had been asked about anew."""
    approved = msgspec.convert({**OLD, "status": "approved"}, Approval)
    withdrawn = msgspec.structs.replace(approved, status="superseded")
    files = ApprovalFiles(Layout(tmp_path))
    files.write(withdrawn)
    files.spread(JointDecision((approved,)))
    assert files.read(approved.id) == withdrawn


def test_whoever_decides_is_alone_among_all_who_keep_the_workspace(tmp_path: Path) -> None:
    """Two processes that both found a question open would otherwise both decide it."""
    entered = threading.Event()

    def enter() -> None:
        with ApprovalFiles(Layout(tmp_path)).lock():
            entered.set()

    other = threading.Thread(target=enter)
    with ApprovalFiles(Layout(tmp_path)).lock():
        other.start()
        assert not entered.wait(0.5)
    assert entered.wait(60)
    other.join()


def die_at_every_step(folder: Path, words: str, *commands: str) -> list[dict[str, Any]]:
    """Answer in a fresh process for every step, killed before it; give what is found afterwards each time."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.decide_and_die", str(folder), words, *commands],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_answer_to_several_decides_all_or_none_though_killed_at_any_step(tmp_path: Path) -> None:
    found = die_at_every_step(tmp_path, "approve all", "git push", "make test", "rm -r out")
    assert len(found) > 15
    for report in found:
        assert report["statuses"] in (["requested"] * 3, ["approved"] * 3)
        assert report["files"] == report["statuses"]
        assert report["waiting"] == report["statuses"].count("requested")
        assert (report["left"], report["grants"]) == ([], 0)
    assert found[0]["statuses"][0] == "requested"
    assert found[-1]["statuses"][0] == "approved"
    assert [report["statuses"] for report in found] == sorted(
        (report["statuses"] for report in found), reverse=True
    )


def test_a_mixed_answer_is_one_decision_too(tmp_path: Path) -> None:
    found = die_at_every_step(tmp_path, "1 and 3 yes, 2 no", "git push", "make test", "rm -r out")
    outcomes = {tuple(report["statuses"]) for report in found}
    assert outcomes == {("requested",) * 3, ("approved", "denied", "approved")}


def test_an_answer_and_its_grant_are_one_decision(tmp_path: Path) -> None:
    found = die_at_every_step(tmp_path, "always allow git status", "git status")
    outcomes = {(report["statuses"][0], report["grants"]) for report in found}
    assert outcomes == {("requested", 0), ("approved", 1)}
