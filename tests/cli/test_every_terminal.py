"""Whatever terminal, pipe or encoding there is, all is shown and nothing ends in a traceback (U13)."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.terminal import SHIPMATE, Terminal, environment, shipmate, start_anew

GREETING = "内置、离线、每次都一样"


def shell(folder: Path, line: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `shipmate` is the real one."""
    return subprocess.run(
        ["bash", "-c", f'shipmate() {{ {shlex.quote(SHIPMATE)} "$@"; }}; {line}'],
        cwd=folder,
        env=environment(folder, **env),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_u13_a_chat_shows_chinese_whole_at_every_width(workspace: Path, columns: int) -> None:
    terminal = Terminal(workspace, "chat", "--thread", "a-name-that-is-wide", columns=columns)
    try:
        terminal.expect("/help for help")
        terminal.type("你好\r")
        while GREETING not in "".join(terminal.shown.split()):
            terminal.expect("\n")
        terminal.type("\x04")
        # One line, however narrow: it is there to be copied.
        terminal.expect("Go on with: shipmate chat --thread cli:chat:a-name-that-is-wide")
        assert terminal.finish() == 0
    finally:
        terminal.close()


def test_u13_lists_fit_a_narrow_screen(workspace: Path) -> None:
    shipmate(workspace, "ask", "--thread", "a-name-that-is-wide", "茶" * 60)
    for arguments in (("threads", "list"), ("threads", "search", "茶" * 60), ("doctor",)):
        terminal = Terminal(workspace, *arguments, columns=40)
        try:
            assert terminal.finish() == 0
        finally:
            terminal.close()
        rows = terminal.shown.splitlines()
        assert all(len(row) + row.count("茶") <= 40 or " " not in row.strip() for row in rows), rows
    # A pipe gets one line each.
    assert len(shipmate(workspace, "threads", "list").stdout.splitlines()) == 1


def test_u13_a_dumb_terminal_is_not_steered(workspace: Path) -> None:
    terminal = Terminal(workspace, "chat", "--thread", "tea", TERM="dumb", NO_COLOR="1")
    try:
        terminal.expect("/help for help")
        terminal.type("read Agent.md\r")
        terminal.expect("✓ read Agent.md (")
        terminal.expect("gave 3 lines")
        terminal.type("exit\r")
        terminal.expect("Go on with")
        assert terminal.finish() == 0
        assert b"\x1b" not in terminal.raw
    finally:
        terminal.close()


def test_u13_what_others_wrote_never_steers_a_terminal(workspace: Path) -> None:
    evil = "a\x1b]0;t\x07\x1b[2J\u202eb\rc"
    (workspace / "evil.md").write_text(evil)
    shipmate(workspace, "ask", "--thread", "tea", f"say {evil}")
    for arguments in (
        ("threads", "show", "tea"),
        ("threads", "list"),
        ("ask", "--thread", "tea", "summarize"),
    ):
        terminal = Terminal(workspace, *arguments)
        try:
            assert terminal.finish() == 0
        finally:
            terminal.close()
        assert all(code not in terminal.raw for code in (b"\x1b]0", b"\x1b[2J", "\u202e".encode()))
        assert "\\u{202e}" in terminal.shown.replace("\n", ""), arguments


@pytest.mark.parametrize("encoding", ["latin-1", "gbk", "ascii"])
def test_u13_an_encoding_without_the_characters_gives_no_traceback(workspace: Path, encoding: str) -> None:
    for line in ("shipmate ask 你好", "shipmate doctor", "shipmate threads list"):
        done = shell(workspace, line, PYTHONIOENCODING=encoding)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    # JSON is UTF-8 everywhere.
    done = start_anew(workspace, "ask", "--json", "你好", PYTHONIOENCODING=encoding)
    assert GREETING in "".join(json.loads(line).get("delta", "") for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("shipmate ask 'count to 3000 slowly' | head -c 5; exit ${PIPESTATUS[0]}", 0),
        ("shipmate doctor | true; exit ${PIPESTATUS[0]}", 0),
        ("shipmate ask hello >&-", 0),
        ("shipmate doctor >&- 2>&-", 0),
        ("shipmate ask hello <&-", 0),
        ("shipmate ask hello >/dev/full", 1),
        ("shipmate doctor >/dev/full", 1),
    ],
)
def test_u13_closed_and_full_outputs_give_no_traceback(workspace: Path, line: str, code: int) -> None:
    done = shell(workspace, line)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if code:
        assert "cannot be written: No space left on device" in done.stderr


def test_u13_a_question_whose_reader_left_is_stopped(workspace: Path) -> None:
    shell(workspace, "shipmate ask --thread tea 'count to 3000 slowly' | head -c 5")
    assert "*stopped*" in shipmate(workspace, "threads", "show", "tea").stdout


def test_u13_a_folder_that_cannot_be_written_is_said_in_a_line(workspace: Path) -> None:
    # For root no mode is a hindrance, and a file where a folder belongs is one for all.
    (workspace / ".ship").write_text("")
    for command in (["ask", "hello"], ["threads", "list"]):
        done = shipmate(workspace, *command)
        assert done.returncode == 1
        assert done.stderr.startswith("shipmate: cannot use .ship/state.db")
        assert len(done.stderr.splitlines()) == 1
    assert "[Errno" not in shipmate(workspace, "doctor").stdout


def test_u14_keys_do_what_people_expect(workspace: Path) -> None:
    terminal = Terminal(workspace, "chat", "--thread", "tea")
    try:
        terminal.expect("/help for help")
        terminal.expect("›")
        terminal.type("half a line\x03")
        terminal.type("hello\r")
        terminal.expect("rehearsal model")
        assert "half a linehello" not in shipmate(workspace, "threads", "show", "tea").stdout
        terminal.type("count to 500 slowly\r")
        terminal.expect("10")
        terminal.type("\x03")
        terminal.expect("stopped")
        terminal.type("/stop\r")
        terminal.expect("nothing is running")
        terminal.type("\x03")
        terminal.expect("Ctrl-C again leaves")
        terminal.type("\x03")
        terminal.expect("Go on with")
        assert terminal.finish() == 0
    finally:
        terminal.close()


def test_u14_ctrl_z_puts_the_chat_aside_and_fg_brings_it_back(workspace: Path) -> None:
    terminal = Terminal(workspace, "--norc", "-i", program="bash", PS1="$ ")
    try:
        terminal.type(f"{SHIPMATE} chat --thread tea\r")
        terminal.expect("/help for help")
        terminal.expect("›")
        terminal.type("half\x1a")
        terminal.expect("Stopped")
        terminal.type("echo out$((1 + 1))\r")
        terminal.expect("out2")
        terminal.type("fg\r")
        terminal.expect("› half")
        terminal.type("\x15hello\r")
        terminal.expect("rehearsal model")
        terminal.type("exit\r")
        terminal.expect("Go on with")
    finally:
        terminal.close()


def test_a_thread_that_several_chats_share_shows_each_answer_once(workspace: Path) -> None:
    chats = [Terminal(workspace, "chat", "--thread", "tea") for _ in range(2)]
    try:
        for chat in chats:
            chat.expect("/help for help")
        # Whichever of them keeps, the other is attached.
        for chat in chats:
            chat.type("read Agent.md\r")
            for each in chats:
                each.expect("gave 3 lines")
        for chat in chats:
            chat.type("exit\r")
            assert chat.finish() == 0
            assert chat.shown.count("gave 3 lines") == 2
    finally:
        for chat in chats:
            chat.close()


def test_u9_the_terminal_speaks_chinese_by_the_system_or_the_workspace(workspace: Path) -> None:
    chinese = {"LANG": "zh_CN.UTF-8"}
    assert "由内置的排练模型回答；它不是 AI" in shipmate(workspace, "doctor", **chinese).stdout
    asked = shipmate(workspace, "ask", "run touch x", **chinese)
    assert "为什么问你：没有规则允许它" in asked.stderr
    assert "正在等待你的批准。用 `shipmate approvals show" in asked.stderr
    # The same question in the language of another reader.
    approval = asked.stderr.split("approvals show ")[1].split("`")[0]
    assert "no rule allows it" in shipmate(workspace, "approvals", "show", approval).stdout
    wrong = shipmate(workspace, "ask", "--fo", **chinese)
    assert "错误：没有选项 '--fo'" in wrong.stderr
    assert "没有对话 cli:chat:none。" in shipmate(workspace, "threads", "show", "none", **chinese).stderr
    (workspace / "ship.json").write_text('{"language": "zh"}')
    terminal = Terminal(workspace, "chat", "--thread", "tea", LANG="C")
    try:
        terminal.expect("/help 查看帮助，Ctrl-D 离开")
        terminal.type("/help\r")
        terminal.expect("显示等待答复的请求")
        terminal.type("\x03")
        terminal.expect("再按一次 Ctrl-C 离开")
        terminal.type("hello\r")
        terminal.expect("rehearsal model")
        terminal.type("exit\r")
        terminal.expect("继续请用：shipmate chat --thread cli:chat:tea")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    (workspace / "ship.json").write_text('{"language": "en"}')
    assert "it is no AI" in shipmate(workspace, "doctor", **chinese).stdout


def test_u14_the_commands_of_a_chat(workspace: Path) -> None:
    (workspace / "a b.txt").write_text("tea")
    (workspace / ".env").write_text("TOKEN=harbour-green-lamp\n")
    (workspace / "members" / "eve").mkdir(parents=True)
    # A name that would write into the clipboard of whoever lists the members.
    (workspace / "members" / "eve" / "Agent.md").write_text('---\nname: "E\\e]52;c;eA==\\ave"\n---\nEve.\n')
    terminal = Terminal(workspace, "chat", "--thread", "tea", columns=160)
    try:
        terminal.expect("/help for help")
        terminal.type("/retry\r")
        terminal.expect("nothing was said here yet")
        terminal.type("/member\r")
        terminal.expect(r"E\u{1b}]52;c;eA==\u{7}ve")
        # Words, pasted ones perhaps, send no secret and nothing from elsewhere.
        terminal.type('here is @.env and @/etc/passwd and @"a b.txt" for @nobody\r')
        terminal.expect("attached: a b.txt")
        terminal.expect("rehearsal model")
        terminal.type("/cost\r")
        terminal.expect("rehearsal: 1 request, ")
        terminal.type("/approvals\r")
        terminal.expect("nothing waits for an answer")
        terminal.type("/search nobody\r")
        terminal.expect("cli:chat:tea")
        terminal.type("/retry\r")
        terminal.expect("rehearsal model")
        terminal.repeat_until("/cost\r", "rehearsal: 2 requests, ", "rehearsal: 1 request,")
        terminal.type("/edit\r")
        terminal.expect("thread web:room:")
        terminal.expect("here is")
        terminal.type("\x15exit\r")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    shown = shipmate(workspace, "threads", "show", "tea").stdout
    assert shown.count("(replaced by a later answer)") == 1
    assert len(list((workspace / ".ship" / "uploads").glob("*.json"))) == 1
    assert "file: a b.txt" in shown
    terminal = Terminal(workspace, "chat", "-c")
    try:
        terminal.expect("thread cli:chat:tea")
        terminal.expect("rehearsal model")
        terminal.expect("›")
        terminal.type("\x04")
        assert terminal.finish() == 0
        assert "(replaced" not in terminal.shown
    finally:
        terminal.close()


def test_u14_the_shell_completes_threads_and_members(workspace: Path) -> None:
    shipmate(workspace, "ask", "--thread", "tea", "hello")
    for words, found in (
        ("chat --thread t", "tea"),
        ("threads show te", "tea"),
        ("ask --member ca", "captain"),
    ):
        line = f"shipmate {words}"
        done = shipmate(
            workspace,
            COMP_WORDS=line,
            COMP_CWORD=str(len(line.split()) - 1),
            _SHIPMATE_COMPLETE="bash_complete",
        )
        assert done.stdout == f"plain,{found}\n"


def test_u14_a_typed_command_runs_by_the_same_approvals_and_costs_nothing(workspace: Path) -> None:
    terminal = Terminal(workspace, "chat", "--thread", "tea", columns=160)
    try:
        terminal.expect("/help for help")
        terminal.type("!echo out$((1 + 1)) > made.txt; cat made.txt\r")
        terminal.expect("Why I ask")
        assert not (workspace / "made.txt").exists()
        terminal.type("yes\r")
        terminal.expect("✓ exec echo")
        terminal.expect("out2")
        terminal.type("/cost\r")
        terminal.expect("no model was asked here yet")
        # Words may come while a command waits; its answer asks no model either.
        terminal.type("!touch second.txt\r")
        terminal.expect("Why I ask")
        terminal.type("hello\r")
        terminal.expect("rehearsal model")
        terminal.type("yes\r")
        terminal.expect("✓ exec touch second.txt")
        terminal.expect("[exit 0]")
        terminal.type("/cost\r")
        terminal.expect("rehearsal: 1 request, ")
        terminal.type("\x04")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert (workspace / "made.txt").read_text() == "out2\n"
    # No model read the commands, so the one turn to open is that of the words.
    opened = shipmate(workspace, "context", "--thread", "tea", "--turn", "1").stdout
    assert opened.startswith("turn 1: hello")
    assert "turn 2" in shipmate(workspace, "context", "--thread", "tea", "--turn", "2").stderr
