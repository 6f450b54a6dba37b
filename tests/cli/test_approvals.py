from __future__ import annotations

import json
from pathlib import Path

from tests.support.terminal import shipmate


def ask_to_run(workspace: Path, command: str, thread: str = "tea") -> str:
    """Let the member ask for a command; give the id of the approval."""
    assert shipmate(workspace, "ask", "--thread", thread, f"run {command}").returncode == 1
    (waiting,) = json.loads(shipmate(workspace, "approvals", "list", "--json").stdout)
    assert waiting["input"]["command"] == command
    return waiting["id"]


def test_a_question_is_listed_shown_answered_and_kept(workspace: Path) -> None:
    approval_id = ask_to_run(workspace, "echo marked > note.txt")
    assert "echo marked > note.txt" in shipmate(workspace, "approvals", "list").stdout
    shown = shipmate(workspace, "approvals", "show", approval_id).stdout
    assert "I would like to run this command" in shown
    assert not (workspace / "note.txt").exists()
    done = shipmate(workspace, "approvals", "answer", approval_id[-6:], "yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert (workspace / "note.txt").read_text() == "marked\n"
    assert shipmate(workspace, "approvals", "list").stdout == "Nothing waits for an answer.\n"
    assert "approved by cli:" in shipmate(workspace, "approvals", "list", "--all").stdout


def test_a_refusal_takes_its_reason_along_and_nothing_runs(workspace: Path) -> None:
    approval_id = ask_to_run(workspace, "touch note.txt")
    shipmate(workspace, "approvals", "answer", approval_id, "no", "that", "name", "is", "taken")
    (kept,) = json.loads(shipmate(workspace, "approvals", "list", "--all", "--json").stdout)
    assert (kept["status"], kept["ruling"]["reason"]) == ("denied", "that name is taken")
    assert not (workspace / "note.txt").exists()


def test_a_second_answer_is_refused_and_changes_nothing(workspace: Path) -> None:
    approval_id = ask_to_run(workspace, "touch note.txt")
    assert shipmate(workspace, "approvals", "answer", approval_id, "no").returncode == 0
    again = shipmate(workspace, "approvals", "answer", approval_id, "yes")
    assert again.returncode == 2
    assert "already refused by" in again.stderr
    assert not (workspace / "note.txt").exists()


def test_mistakes_are_told_in_one_line(workspace: Path) -> None:
    for arguments in (("answer", "apr_nope", "yes"), ("show", "apr_nope"), ("revoke", "grant_nope")):
        done = shipmate(workspace, "approvals", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    approval_id = ask_to_run(workspace, "touch note.txt")
    done = shipmate(workspace, "approvals", "answer", approval_id, "maybe")
    assert done.returncode == 2
    assert "is not an answer" in done.stderr


def test_a_grant_is_listed_and_taken_back(workspace: Path) -> None:
    approval_id = ask_to_run(workspace, "touch note.txt")
    done = shipmate(workspace, "approvals", "answer", approval_id, "yes,", "always", "--json")
    assert "exec(touch note.txt)" in json.loads(done.stdout)["say"]
    assert shipmate(workspace, "ask", "run touch note.txt").returncode == 0
    (grant,) = json.loads(shipmate(workspace, "approvals", "grants", "--json").stdout)
    assert (
        "exec(touch note.txt), in every thread of captain"
        in shipmate(workspace, "approvals", "grants").stdout
    )
    assert shipmate(workspace, "approvals", "revoke", grant["id"]).returncode == 0
    assert shipmate(workspace, "approvals", "grants").stdout == "No grants are in force.\n"
    assert shipmate(workspace, "ask", "run touch note.txt").returncode == 1
