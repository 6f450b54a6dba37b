"""The audit in the terminal: every call once, and the log verified."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate.workspace.layout import Layout
from tests.cli.test_approvals import ask_to_run
from tests.support.terminal import shipmate


def permit(workspace: Path, permissions: dict[str, object]) -> None:
    (workspace / "ship.json").write_text(json.dumps({"permissions": permissions}))


def test_nothing_recorded_says_so(workspace: Path) -> None:
    assert shipmate(workspace, "audit").stdout == "No call has acted or been refused.\n"
    done = shipmate(workspace, "audit", "--verify")
    assert (done.returncode, done.stdout) == (0, "✓ .ship/audit: nothing recorded yet\n")
    assert json.loads(shipmate(workspace, "audit", "--json").stdout) == []
    chinese = shipmate(workspace, "audit", "--verify", LANG="zh_CN.UTF-8")
    assert chinese.stdout == "✓ .ship/audit: 还没有记录\n"


def test_c17_what_a_person_allowed_and_what_ran_unasked_stand_there_once_each(workspace: Path) -> None:
    approval_id = ask_to_run(workspace, "echo marked > note.txt")
    assert "?" in shipmate(workspace, "audit").stdout
    shipmate(workspace, "approvals", "answer", approval_id, "yes")
    permit(workspace, {"mode": "yolo", "deny": ["exec(touch *)"]})
    assert shipmate(workspace, "ask", "--thread", "two", "run ls -a").returncode == 0
    shipmate(workspace, "ask", "--thread", "two", "run touch x")
    refused, unasked, asked = shipmate(workspace, "audit").stdout.splitlines()
    assert refused.startswith("⊘")
    assert refused.endswith("captain  exec  touch x  (rule exec(touch *))  refused")
    assert unasked.startswith("✓")
    assert unasked.endswith("captain  exec  ls -a  (mode yolo)  ok")
    assert "exec  echo marked > note.txt  (person cli:" in asked
    assert asked.endswith("ok")
    (call,) = json.loads(shipmate(workspace, "audit", "--json", "--limit", "1", "--since", "1h").stdout)
    assert (call["what"], call["outcome"]) == ("touch x", "refused")
    assert call["events"][0]["rule"] == "exec(touch *)"
    assert "echo marked" in shipmate(workspace, "audit", "--thread", "tea").stdout
    assert "ls -a" not in shipmate(workspace, "audit", "--thread", "tea").stdout
    assert "There are older ones" in shipmate(workspace, "audit", "--limit", "2").stdout
    assert shipmate(workspace, "audit", "--since", "2100-01-01").stdout == "No such call.\n"
    assert shipmate(workspace, "audit", "--verify").returncode == 0


def test_a_cut_log_is_told_with_file_and_line(workspace: Path) -> None:
    permit(workspace, {"mode": "yolo"})
    shipmate(workspace, "ask", "run ls -a")
    (path,) = Layout(workspace).audit.glob("*.jsonl")
    first, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first)
    done = shipmate(workspace, "audit", "--verify")
    assert done.returncode == 1
    assert done.stdout.startswith("✗ .ship/audit/head: the log ends with entry 1, but 2 were written")
    path.write_bytes(first.replace(b"ls -a", b"ls -b"))
    done = shipmate(workspace, "audit", "--verify", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["holds"], found["breaks"][0]["file"], found["breaks"][0]["line"]) == (False, path.name, 1)


def test_secrets_and_hidden_characters_stay_out_of_the_log(workspace: Path) -> None:
    permit(workspace, {"mode": "yolo"})
    secret = "s3cr3t-of-the-environment"
    shipmate(workspace, "ask", f"run echo {secret} \u202e", SOME_TOKEN=secret)
    kept = b"".join(path.read_bytes() for path in Layout(workspace).audit.iterdir())
    assert secret.encode() not in kept
    assert "echo •••" in shipmate(workspace, "audit").stdout
    assert "\u202e" not in shipmate(workspace, "audit").stdout


def test_a_moment_that_cannot_be_read_is_one_line(workspace: Path) -> None:
    done = shipmate(workspace, "audit", "--since", "yesterday")
    assert done.returncode == 2
    assert "write a day such as" in done.stderr
