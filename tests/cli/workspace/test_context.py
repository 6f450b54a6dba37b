from __future__ import annotations

import json
from pathlib import Path

from tests.support.terminal import shipmate


def test_the_table_prices_every_section(workspace: Path) -> None:
    done = shipmate(workspace, "context")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()[1:5]]
    assert names == ["core", "agent", "skills", "runtime"]
    assert "stay the same from turn to turn" in done.stdout
    assert "soul            there is no SOUL.md" in done.stdout
    assert "\x1b" not in done.stdout


def test_sections_and_the_whole_prompt_can_be_read(workspace: Path) -> None:
    (workspace / "SOUL.md").write_text("calm")
    assert shipmate(workspace, "context", "--show", "soul").stdout == "## SOUL.md\n\ncalm\n"
    full = shipmate(workspace, "context", "--full", "--profile", "zyhive").stdout
    assert full.startswith("Current date and time: ")
    assert "--- SOUL.md ---\ncalm\n" in full


def test_json_tells_sizes_and_reasons(workspace: Path) -> None:
    found = json.loads(shipmate(workspace, "context", "--json").stdout)
    core = found["sections"][0]
    assert (core["name"], core["included"], core["stability"]) == ("core", True, "stable")
    assert "text" not in core
    assert found["toolsBytes"] > 1_000
    assert found["systemBytes"] + found["toolsBytes"] <= 10_000
    assert found["systemBytes"] <= 4_000
    full = json.loads(shipmate(workspace, "context", "--json", "--full").stdout)
    assert full["sections"][0]["text"].startswith("You are ")


def test_mistakes_are_one_line(workspace: Path) -> None:
    for arguments, words in (
        (["--show", "nope"], "there is no section 'nope'"),
        (["--show", "soul"], "there is no SOUL.md"),
        (["--profile", "nope"], "there is no context profile 'nope'"),
        (["--member", "ghost"], "there is no member 'ghost'"),
        (["--thread", "cli:chat:gone"], "cli:chat:gone"),
        (["--diff"], "add --thread"),
        (["--diff", "--thread", "x"], "two are needed"),
        (["1", "2"], "--diff"),
    ):
        done = shipmate(workspace, "context", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_two_turns_are_compared(workspace: Path) -> None:
    for text in ("hello", "hello again"):
        assert shipmate(workspace, "ask", "--thread", "t", text).returncode == 0
        (workspace / "USER.md").write_text("Lin")
    done = shipmate(workspace, "context", "--thread", "t", "--diff")
    assert done.returncode == 0
    assert "turn 1 (" in done.stdout
    assert "in section user" in done.stdout
    assert "added    user" in done.stdout
    assert "only under DEBUG=1" in done.stdout
    found = json.loads(shipmate(workspace, "context", "--thread", "t", "--diff", "1", "2", "--json").stdout)
    assert found["breaksIn"] == "user"
    assert shipmate(workspace, "context", "--thread", "t", "--diff", "1", "9").returncode == 2
    assert "<skills>" in shipmate(workspace, "context", "--thread", "t", "--full").stdout


def test_under_debug_the_request_is_traced_without_secrets(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"env": {"DEPLOY": "swordfish-1"}}')
    (workspace / "USER.md").write_text("the word is swordfish-1")
    assert shipmate(workspace, "ask", "--thread", "t", "ping", DEBUG="1").returncode == 0
    (trace,) = (workspace / ".ship/logs/trace").iterdir()
    row = json.loads(trace.read_text().splitlines()[0])
    assert "the word is •••" in row["request"]["system"]
    assert row["step"] == 1
    for path in (workspace / ".ship/logs").rglob("*.jsonl"):
        assert "swordfish" not in path.read_text()
