"""Moving in, moving the whole workspace and backups, as people type them, in both languages."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.moving import make_source, make_target, picture
from tests.support.terminal import shipmate


def test_moving_in_is_told_and_the_talk_goes_on(tmp_path: Path) -> None:
    source, layout = make_source("nanobot", tmp_path / "theirs"), make_target(tmp_path / "ours")
    before = picture(layout.root)
    dry = shipmate(layout.root, "import", "nanobot", str(source), "--dry-run")
    assert dry.returncode == 0
    for said in (
        "threads: 2 new, 0 grown, 0 as before; 4 messages taken",
        "NANOBOT_OPENAI_API_KEY",
        "no server of tools is started unasked: `--on mcp` takes it",
        "taken as adapters.telegram, switched off",
        "Nothing was written",
    ):
        assert said in dry.stdout
    assert picture(layout.root) == before
    done = shipmate(layout.root, "import", "nanobot", str(source), "--on", "mcp", LANG="zh_CN.UTF-8")
    assert "对话：新增 2，增长 0，未变 0；带入 4 条消息" in done.stdout
    assert "已作为 adapters.telegram 带入" in done.stdout
    for shown in (dry, done):
        assert not any(key in shown.stdout + shown.stderr for key in ("sk-test", "docs-secret", "AAtelegram"))
    told = json.loads(shipmate(layout.root, "import", "nanobot", str(source), "--json").stdout)
    assert (told["messages"], len(told["threads"]["same"])) == (0, 2)
    (layout.root / "ship.json").write_text('{"llm": {"provider": "rehearsal"}}')
    asked = shipmate(layout.root, "ask", "--thread", "nanobot:chat:cli:direct", "And now?")
    assert asked.returncode == 0, asked.stderr
    shown = shipmate(layout.root, "threads", "show", "nanobot:chat:cli:direct").stdout
    assert shown.index("What does notes.txt say?") < shown.index("the port is 8022") < shown.index("And now?")
    wrong = shipmate(layout.root, "import", "zyhive", str(source))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "is no folder of ZyHive" in wrong.stderr


def test_a_workspace_is_exported_restored_and_backed_up(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    archive, back = tmp_path / "all.tar.gz", tmp_path / "back"
    (layout.root / "ship.json").write_text('{"llm": {"apiKey": "${KEY}"}, "backup": {"when": "every 1d"}}')
    made = shipmate(layout.root, "export", str(archive))
    assert "2 files" in made.stdout
    assert "to be set in .env after a restore: KEY." in made.stdout
    again = shipmate(layout.root, "export", str(archive))
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert "请在" in shipmate(tmp_path, "restore", str(archive), str(back), LANG="zh_CN.UTF-8").stdout
    assert picture(back) == picture(layout.root)
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(archive.read_bytes()[:100])
    cut = shipmate(tmp_path, "restore", str(bad), str(tmp_path / "none"))
    assert (cut.returncode, "Nothing was restored" in cut.stderr) == (2, True)
    assert not (tmp_path / "none").exists()
    assert "backup: none was made yet" in shipmate(layout.root, "doctor").stdout
    assert "No backups yet" in shipmate(layout.root, "backup", "--list").stdout
    assert "Made " in shipmate(layout.root, "backup").stdout
    assert shipmate(layout.root, "backup", "--list").stdout.count("tar.gz") == 1
    assert "backup: the last one is shipmate-" in shipmate(layout.root, "doctor").stdout
