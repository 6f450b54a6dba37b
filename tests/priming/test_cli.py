from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
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


@pytest.mark.parametrize(
    "command",
    [
        ("list", "-m", "nobody"),
        ("search", "x", "-m", "nobody"),
        ("recent", "-m", "nobody"),
        ("new", "individual/nobody/x"),
    ],
)
def test_p7_a_member_who_is_not_there_is_a_mistake_that_names_those_there_are(
    shell: Shell, layout: Layout, command: tuple[str, ...]
) -> None:
    code, _, err = shell(*command)
    assert code == 2
    assert "there is no member 'nobody'. There are: captain." in err
    assert not layout.member_priming("nobody").exists()


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
    (layout.members / "ux").mkdir(parents=True)
    (layout.members / "ux" / "Agent.md").write_text("# Ux\n")
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
def test_a_thread_is_saved_under_its_own_name(shell: Shell, layout: Layout) -> None:
    assert shell.json("save", "t1")["scriptRef"] == "individual/captain/hello"
    assert shell.json("save", "t1")["scriptRef"] == "individual/captain/hello-2"
    assert "sourceDialog" in shell("show", "individual/captain/hello")[1]
    assert str(THREAD) not in shell("show", "individual/captain/hello")[1]
    shell("save", "t1", "whole", "--full")
    assert str(THREAD) in shell("show", "individual/captain/whole")[1]
    # What was saved twice is the same file twice.
    paths = [ScriptRef("captain", slug).path(layout) for slug in ("hello", "hello-2")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_makes_a_script_to_write_over(shell: Shell, layout: Layout) -> None:
    code, out, _ = shell("new", "team_shared/deep/probe", "--title", "A probe")
    assert (code, out) == (
        0,
        "Made .minds/priming/team_shared/deep/probe.md. "
        "Write in it with `shipmate priming edit team_shared/deep/probe`.\n",
    )
    assert shell("check") == (0, "1 script checked, no mistakes.\n", "")
    assert shell.json("list")["scripts"][0]["title"] == "A probe"
    before = ScriptRef(None, "deep/probe").path(layout).read_bytes()
    code, _, err = shell("new", "team_shared/deep/probe")
    assert (code, "exists already" in err) == (2, True)
    assert ScriptRef(None, "deep/probe").path(layout).read_bytes() == before
    for ref in ("probe", "team_shared/../x", "individual/ux"):
        assert shell("new", ref)[0] == 2


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a shell line stand for a person's editor; `$1` is the file."""

    def become(line: str) -> None:
        program = tmp_path / "editor"
        program.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("VISUAL", str(program))

    return become


def test_edits_a_script_and_says_what_is_wrong(shell: Shell, put: Put, editor: Callable[[str], None]) -> None:
    path = put("team_shared/probe", "title: T", words("hello", "hi\r\nthere\x85"))
    before = path.read_bytes()
    editor(":")
    assert shell("edit", "team_shared/probe") == (0, "Nothing changed.\n", "")
    assert path.read_bytes() == before
    editor("sed -i s/hello/goodbye/ $1")
    assert shell("edit", "team_shared/probe")[:2] == (0, "Saved .minds/priming/team_shared/probe.md.\n")
    assert path.read_bytes() == before.replace(b"hello", b"goodbye")
    editor("sed -i 's/genseq: 1/genseq: -1/' $1")
    code, out, err = shell("edit", "team_shared/probe")
    assert (code, "with mistakes" in out) == (1, True)
    assert err.startswith(".minds/priming/team_shared/probe.md:")
    assert shell("edit", "team_shared/none")[0] == 2


def test_an_edit_overwrites_nothing_that_changed_meanwhile(
    shell: Shell, put: Put, editor: Callable[[str], None], layout: Layout
) -> None:
    path = put("team_shared/probe")
    editor(f"echo theirs >> {path}; echo mine >> $1")
    code, _, err = shell("edit", "team_shared/probe")
    assert (code, "shipmate priming diff team_shared/probe team_shared/probe.mine" in err) == (2, True)
    assert path.read_text("utf-8").endswith("theirs\n")
    assert ScriptRef(None, "probe.mine").path(layout).read_text("utf-8").endswith("mine\n")


@pytest.mark.usefixtures("thread")
def test_shows_how_conversations_differ(shell: Shell, put: Put, tmp_path: Path) -> None:
    put("team_shared/a", body=words("hello", "hi there"))
    put("team_shared/b", body=words("hello", "hi there", genseq=7, message_id="other"))
    put("team_shared/c", "title: C", words("hello", "good day"))
    # Ids and numbers do not count, and a thread is a conversation as well.
    assert shell("diff", "team_shared/a", "team_shared/b") == (0, "They are the same.\n", "")
    assert shell("diff", "team_shared/a", "team_shared/b", "--raw")[0] == 1
    assert shell("diff", "team_shared/a", "t1")[0] == 0
    code, out, _ = shell("diff", "team_shared/a", "team_shared/c")
    assert code == 1
    changed = [line for line in out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["+title: C", "-hi there", "+good day"]
    loose = tmp_path / "loose.md"
    loose.write_text(words("hello", "hi there"), encoding="utf-8")
    assert shell.json("diff", str(loose), "team_shared/a") == {"same": True, "diff": []}
    assert shell("diff", "team_shared/a", "team_shared/none")[0] == 2
    # The error names what was given, not what it was taken for.
    code, _, err = shell("diff", "team_shared/a", "none")
    assert (code, "'none'" in err) == (2, True)


@pytest.mark.usefixtures("thread")
def test_a_saved_script_does_not_differ_from_its_thread(shell: Shell) -> None:
    assert shell("save", "t1", "mine", "--title", "Another title")[0] == 0
    assert shell("diff", "individual/captain/mine", "t1") == (0, "They are the same.\n", "")


def test_new_says_how_to_go_on_with_a_script_that_is_there(shell: Shell) -> None:
    assert shell("new", "team_shared/probe")[0] == 0
    code, _, err = shell("new", "team_shared/probe")
    assert (code, "shipmate priming edit team_shared/probe" in err, "--overwrite" in err) == (2, True, False)


def test_help_names_every_command(shell: Shell) -> None:
    out = shell("--help")[1]
    for name in ("list", "search", "new", "edit", "check", "show", "diff", "save", "recent", "rehearse"):
        assert f"\n  {name} " in out
