from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from shipmate.cli.group import run
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import text_part, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.priming_script import Put, words

THREAD = ThreadId("cli", "chat", "t1")


class Shell:
    """Run commands in one workspace and give what they print."""

    def __init__(self, layout: Layout, captured: pytest.CaptureFixture[str]) -> None:
        self._root = str(layout.root)
        self._captured = captured

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["-C", self._root, "priming", *arguments])
        printed = self._captured.readouterr()
        return code, printed.out, printed.err

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json")[1])


@pytest.fixture
def shell(layout: Layout, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(layout, capsys)


@pytest.fixture
def thread(layout: Layout) -> None:
    async def make() -> None:
        store = open_store(layout)
        await ThreadService(FileLog(layout)).create(
            THREAD,
            [user_message("u", "hello"), {"id": "a", "role": "assistant", "parts": [text_part("hi there")]}],
        )
        await store.threads.create(str(THREAD))
        await store.close()

    asyncio.run(make())


def test_an_empty_workspace_says_what_to_do(shell: Shell) -> None:
    assert "shipmate priming save" in shell("list")[1]
    assert "shipmate priming list" in shell("search", "x")[1]
    assert "--prime" in shell("recent")[1]
    assert shell("check")[0] == 0
    assert shell.json("list") == {"scripts": [], "problems": []}


def test_lists_and_searches(shell: Shell, put: Put, layout: Layout) -> None:
    put("team_shared/probe", "title: 环境探针")
    put("individual/ux/own")
    put("team_shared/bad", body="### user\n")
    code, out, err = shell("list")
    assert code == 0
    assert out.startswith("team_shared/probe  ")
    assert out.endswith("环境探针\n")
    assert "bad.md:1" in err
    assert [script["scriptRef"] for script in shell.json("search", "探针")["scripts"]] == [
        "team_shared/probe"
    ]
    found = shell.json("list", "-m", "ux")["scripts"]
    assert {script["scriptRef"] for script in found} == {"team_shared/probe", "individual/ux/own"}
    Recents(layout).note("ux", [ScriptRef("ux", "own")])
    assert shell("recent", "-m", "ux")[1].startswith("individual/ux/own")


def test_checks_one_file_or_all(shell: Shell, put: Put, tmp_path: Path) -> None:
    put("team_shared/good")
    assert shell("check") == (0, "1 script checked, no mistakes.\n", "")
    put("team_shared/bad", body=words("a", "b").replace("genseq: 1", "genseq: -1"))
    code, out, _ = shell("check")
    assert code == 1
    assert out.splitlines()[0].startswith(".minds/priming/team_shared/bad.md:4: record 1: ")
    assert len(out.splitlines()) == 2
    assert shell("check", "team_shared/good")[0] == 0
    loose = tmp_path / "loose.md"
    loose.write_text("### user\n", encoding="utf-8")
    assert shell.json("check", str(loose)) == {
        "checked": 1,
        "problems": [
            {
                "path": str(loose),
                "line": 1,
                "record": 1,
                "problem": "`### user` is no longer understood. Write `### record human_text_record`",
                "level": "error",
                "rule": "heading",
                "reason": "`### user` is no longer understood",
                "mend": "Write `### record human_text_record`",
                "canFix": True,
            }
        ],
    }
    assert shell("check", "no such ref")[0] == 2


def test_p6_check_names_what_is_lost_and_mends_it(shell: Shell, put: Put) -> None:
    cut = words("look", "see:\n```sh\nls\n```\nthere").replace("``````", "```")
    path = put("team_shared/cut", body=cut)
    path.chmod(0o640)
    code, out, _ = shell("check")
    assert (code, "cut.md:17: record 2: the text of this agent_words_record ends here" in out) == (1, True)
    assert "(--fix does it)" in out
    assert shell("check", "--fix") == (
        0,
        ".minds/priming/team_shared/cut.md: mended\n1 script checked, no mistakes.\n",
        "",
    )
    assert path.stat().st_mode & 0o777 == 0o640
    assert shell.json("show", "team_shared/cut")["problems"] == []
    assert shell("check", "--fix") == (0, "1 script checked, no mistakes.\n", "")
    assert [each.name for each in path.parent.iterdir()] == ["cut.md"]


def test_p4_unknown_keys_warn_and_leave_the_exit_code(shell: Shell, put: Put) -> None:
    put("team_shared/a", "author: me")
    code, out, _ = shell("check")
    assert code == 0
    assert out.splitlines() == [
        ".minds/priming/team_shared/a.md:2: warning: nothing reads `author`. "
        "Take it out when it was meant to do something",
        "1 script checked, no mistakes.",
    ]


def test_shows_a_script(shell: Shell, put: Put) -> None:
    text = put("team_shared/probe").read_text(encoding="utf-8")
    assert shell("show", "team_shared/probe") == (0, text, "")
    assert shell.json("show", "team_shared/probe")["records"] == 2
    code, _, err = shell("show", "team_shared/none")
    assert (code, err.startswith("shipmate: no script")) == (2, True)


@pytest.mark.usefixtures("thread")
def test_saves_a_thread_and_asks_before_replacing(shell: Shell, layout: Layout) -> None:
    code, out, _ = shell("save", "t1", "first", "--title", "T")
    assert code == 0
    assert out == (
        "Saved 2 records to .minds/priming/individual/captain/first.md. "
        "Use it with --prime individual/captain/first.\n"
    )
    code, _, err = shell("save", "t1", "first")
    assert (code, "--overwrite" in err) == (2, True)
    assert shell.json("save", "t1", "first", "--overwrite")["scriptRef"] == "individual/captain/first"
    assert shell("check")[0] == 0
    assert shell("save", "t1", "second", "--course", "2")[0] == 2
    assert shell("save", "none", "second")[0] == 2
    assert ScriptRef("captain", "first").path(layout).is_file()


@pytest.mark.usefixtures("thread")
def test_rehearses_a_script_with_the_rehearsal_model(shell: Shell, layout: Layout, put: Put) -> None:
    put("team_shared/wrong", body=words("hello", "no model says this"))
    code, out, _ = shell("rehearse", "team_shared/wrong", "--model", "rehearsal")
    assert code == 1
    assert "differs in words" in out
    assert "no model says this" in out
    report = shell.json("rehearse", "team_shared/wrong", "--model", "rehearsal")
    put("team_shared/right", body=words("hello", report["turns"][0]["got"]["words"]))
    code, out, _ = shell("rehearse", "team_shared/right", "--model", "rehearsal")
    assert (code, out) == (0, "Turn 1: as in the script\nAll turns are as in the script.\n")
    assert shell("rehearse", "team_shared/wrong", "--model", "rehearsal", "--ignore", "words")[0] == 0
    # A rehearsal leaves no thread in the list, and takes away what one that was killed left.
    left = layout.thread(ThreadId("cli", "rehearsal", "d11"))
    left.write_bytes(b"")
    os.utime(left, (0, 0))
    shell("rehearse", "team_shared/right", "--model", "rehearsal")
    assert layout.thread_bin(ThreadId("cli", "rehearsal", "d11")).exists()
    assert [path.name for path in layout.threads.iterdir()] == [f"{THREAD.encode()}.jsonl"]


def test_a_rehearsal_approves_nothing(shell: Shell, layout: Layout, put: Put) -> None:
    put("team_shared/acts", body=words('call exec {"command": "touch acted"}', "Done."))
    report = shell.json("rehearse", "team_shared/acts", "--model", "rehearsal")
    (turn,) = report["turns"]
    assert turn["got"]["calls"] == [{"name": "exec", "input": {"command": "touch acted"}}]
    assert (turn["stopped"], report["matches"]) == ("", False)
    assert not (layout.root / "acted").exists()
    approvals = [json.loads(path.read_text(encoding="utf-8")) for path in layout.approvals.glob("*.json")]
    assert [approval["status"] for approval in approvals] == ["denied"]


def test_help_names_every_command(shell: Shell) -> None:
    out = shell("--help")[1]
    for name in ("list", "search", "check", "show", "save", "recent", "rehearse"):
        assert f"\n  {name} " in out
