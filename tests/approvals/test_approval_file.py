"""Files of approvals, also those that earlier versions wrote."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shipmate.approvals.approval_file import ApprovalFiles
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
