"""Tasks in the terminal: made, listed, begun, paused, taken away, and what became of them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.terminal import shipmate


def test_a_task_lives_in_the_terminal(workspace: Path) -> None:
    assert "no task yet" in shipmate(workspace, "tasks").stdout
    made = ("tasks", "add", "--when", "0 9 * * 1-5", "--title", "Morning list", "--zone", "Europe/Berlin")
    added = shipmate(workspace, *made, "list", "files").stdout.splitlines()
    assert added[0] == "morning-list  .ship/tasks/morning-list.md"
    assert len(added) == 4
    assert added[1].endswith("CET") | added[1].endswith("CEST")
    never = shipmate(workspace, "tasks", "add", "--when", "0 0 31 2 *", "--title", "Never", "x")
    assert (never.returncode, "never comes" in never.stderr) == (2, True)
    assert shipmate(workspace, "tasks", "remove", "../ship").returncode == 2
    (workspace / ".ship/tasks/bad.md").write_text("---\nwhen: sometimes\n---\nx\n")

    listed = shipmate(workspace, "tasks", "list").stdout
    assert "morning-list" in listed
    assert "0 9 * * 1-5" in listed
    assert "has 1 fields" in listed
    told = shipmate(workspace, "doctor", LANG="zh_CN.UTF-8").stdout
    assert ".ship/tasks/bad.md" in told
    assert "有 1 个字段" in told

    begun = shipmate(workspace, "tasks", "run", "morning-list")
    assert begun.returncode == 0
    assert "Agent.md" in begun.stdout
    assert shipmate(workspace, "tasks", "pause", "morning-list").returncode == 0
    (task,) = [
        each for each in json.loads(shipmate(workspace, "tasks", "list", "--json").stdout) if each["when"]
    ]
    assert (task["state"], task["upcoming"], task["last"]["status"]) == ("paused", [], "replied")
    log = shipmate(workspace, "tasks", "log", LANG="zh_CN.UTF-8").stdout
    assert "morning-list  完成  手动" in log
    assert "enabled: false" in shipmate(workspace, "tasks", "show", "morning-list").stdout
    assert shipmate(workspace, "tasks", "resume", "morning-list").returncode == 0
    assert shipmate(workspace, "tasks", "remove", "morning-list").returncode == 0
    assert shipmate(workspace, "tasks", "run", "morning-list").returncode == 2
