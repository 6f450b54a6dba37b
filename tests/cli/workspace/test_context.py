from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.terminal import shipmate


def test_the_table_prices_every_section(workspace: Path) -> None:
    done = shipmate(workspace, "context")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["core", "agent", "skills", "runtime"]
    assert "stay the same from turn to turn" in done.stdout
    assert "soul            there is no SOUL.md" in done.stdout
    # The rows of sections, and the sums of tools and history, add up to the total.
    rows = [line for line in lines[1 : lines.index("")] if not line.startswith("  ")]
    found = [int(re.search(r" ([\d,]+) +\d+%", line)[1].replace(",", "")) for line in rows]  # pyright: ignore[reportOptionalSubscript]
    assert sum(found[:-1]) == found[-1] > 1_000
    assert "tokens that rehearsal reads at once" in done.stdout
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
    assert sum(tool["bytes"] for tool in found["tools"]) > 1_000
    assert found["bytes"] <= 10_000
    assert found["systemBytes"] <= 4_000
    assert found["tokens"] == sum(row["tokens"] for row in found["sections"] + found["tools"])
    full = json.loads(shipmate(workspace, "context", "--json", "--full").stdout)
    assert full["sections"][0]["text"].startswith("You are ")


def test_u9_it_is_told_in_the_readers_language(workspace: Path) -> None:
    told = shipmate(workspace, "context", LANG="zh_CN.UTF-8").stdout
    assert "soul            没有 SOUL.md" in told
    assert "Agent.md: 文件存在" in told
    # Names, programs and files are the same in every language.
    assert re.findall("there|always there|skills fit|built in|stable|slow", told) == []
    assert "请加上 --thread" in shipmate(workspace, "context", "--turn", "1", LANG="zh_CN.UTF-8").stderr


def test_mistakes_are_one_line(workspace: Path) -> None:
    for arguments, words in (
        (["--show", "nope"], "there is no section 'nope'"),
        (["--show", "soul"], "there is no SOUL.md"),
        (["--profile", "nope"], "there is no context profile 'nope'"),
        (["--member", "ghost"], "there is no member 'ghost'"),
        (["--thread", "cli:chat:gone"], "cli:chat:gone"),
        (["--diff"], "add --thread"),
        (["--turn", "1"], "add --thread"),
        (["--diff", "--thread", "x"], "nothing is kept of cli:chat:x"),
        (["1", "2"], "--diff"),
    ):
        done = shipmate(workspace, "context", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_u5_a_turn_opens_to_what_the_model_read_and_two_are_compared(workspace: Path) -> None:
    for text in ("hello", "read Agent.md"):
        assert shipmate(workspace, "ask", "--thread", "t", text).returncode == 0
        (workspace / "USER.md").write_text("Lin")
    opened = shipmate(workspace, "context", "--thread", "t", "--turn", "2").stdout
    assert opened.splitlines()[0] == "turn 2: read Agent.md"
    assert "step 2 of 2" in opened
    assert "the request did not begin with the one before it: section user changed" in opened
    assert re.search(r"^ +\* 2 ", opened, re.MULTILINE)
    assert "← read (success)" in opened
    one = ("context", "--thread", "t", "--turn", "2", "--step", "1")
    assert "← read" not in shipmate(workspace, *one).stdout
    assert shipmate(workspace, *one, "--show", "user").stdout == "## USER.md\n\nLin\n"
    assert json.loads(shipmate(workspace, *one, "--show", "read").stdout)["name"] == "read"
    assert shipmate(workspace, *one, "--show", "3").stdout.endswith("\nread Agent.md\n")
    whole = shipmate(workspace, *one, "--full").stdout
    assert "--- tool read\n" in whole
    assert "--- message 3 user\n" in whole
    found = json.loads(shipmate(workspace, *one, "--json").stdout)
    assert [row["title"] for row in found["history"]] == ["user", "assistant", "user"]
    assert found["tokens"] == sum(
        row["tokens"] for key in ("sections", "tools", "history") for row in found[key]
    )
    done = shipmate(workspace, "context", "--thread", "t", "--diff")
    assert done.stdout.startswith("turn 1: hello → turn 2: read Agent.md\n")
    assert "the same up to section user" in done.stdout
    assert "added    section user" in done.stdout
    assert "    +Lin\n" in done.stdout
    found = json.loads(shipmate(workspace, "context", "--thread", "t", "--diff", "1", "2", "--json").stdout)
    assert found["breaksIn"] == "section user"
    assert shipmate(workspace, "context", "--thread", "t", "--diff", "1").returncode == 2
    gone = shipmate(workspace, "context", "--thread", "t", "--diff", "1", "9")
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)
    assert "turn 9 of cli:chat:t is not kept" in gone.stderr
    assert "<skills>" in shipmate(workspace, "context", "--thread", "t", "--full").stdout


def test_u5_turns_are_opened_in_chinese_and_nothing_is_kept_when_that_is_off(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"language": "zh"}')
    for text in ("你好", "help"):
        assert shipmate(workspace, "ask", "--thread", "t", text).returncode == 0
    opened = shipmate(workspace, "context", "--thread", "t", "--turn", "1").stdout
    assert opened.splitlines()[0] == "第 1 回合：你好"
    assert "工具（" in opened
    assert "合计" in opened
    assert "新增     第 2 条消息" in shipmate(workspace, "context", "--thread", "t", "--diff").stdout
    assert "第 9 回合已不再保存" in shipmate(workspace, "context", "--thread", "t", "--turn", "9").stderr
    (workspace / "ship.json").write_text('{"language": "zh", "context": {"keep": false}}')
    assert shipmate(workspace, "ask", "--thread", "off", "help").returncode == 0
    assert not (workspace / ".ship/context/cli%3Achat%3Aoff.jsonl").exists()
    off = shipmate(workspace, "context", "--thread", "off", "--turn", "1")
    assert "context.keep 为 false" in off.stderr


def test_under_debug_the_request_is_traced_without_secrets(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"env": {"DEPLOY": "swordfish-1"}}')
    (workspace / "USER.md").write_text("the word is swordfish-1")
    assert shipmate(workspace, "ask", "--thread", "t", "ping", DEBUG="1").returncode == 0
    (trace,) = (workspace / ".ship/logs/trace").iterdir()
    row = json.loads(trace.read_text().splitlines()[0])
    assert "the word is •••" in row["request"]["system"]
    assert row["step"] == 1
    for path in (workspace / ".ship").rglob("*.jsonl"):
        assert "swordfish" not in path.read_text()
    shown = shipmate(workspace, "context", "--thread", "t", "--turn", "1", "--show", "user").stdout
    assert shown == "## USER.md\n\nthe word is •••\n"
