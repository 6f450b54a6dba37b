from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.cli.ask import read_question
from shipmate.errors import UserError
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UploadFolder
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse, say
from tests.support.terminal import Terminal, shipmate


def thread_in(text: str) -> str:
    return text.split("--thread ")[1].split()[0].strip("`")


def test_the_answer_goes_to_standard_output_alone(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "read", "Agent.md")
    assert done.returncode == 0
    assert done.stdout.startswith("Reading `Agent.md`.\n\n`read` `Agent.md` gave 3 lines:")
    assert done.stdout.endswith("```\n")
    assert done.stderr == ""


def test_piped_text_is_added_to_the_words(workspace: Path) -> None:
    assert "“Sum this up: one two”" in shipmate(workspace, "ask", "Sum this up:", said="one\ntwo\n").stdout
    assert "“你好吗”" in shipmate(workspace, "ask", said="你好吗").stdout


def test_words_and_pipe_are_put_together(workspace: Path) -> None:
    uploads = UploadFolder(Layout(workspace))
    assert read_question(uploads, ("a", "b"), (), b"") == ("a b", ())
    assert read_question(uploads, (), (), b"x\n") == ("x", ())
    assert read_question(uploads, ("a",), (), "茶\n".encode()) == ("a\n\n茶", ())
    with pytest.raises(UserError, match="nothing was asked"):
        read_question(uploads, (), (), b" \n")


def test_u14_files_and_what_is_no_text_are_attached(workspace: Path) -> None:
    (workspace / "b.txt").write_text("b")
    uploads = UploadFolder(Layout(workspace))
    text, (named, piped) = read_question(uploads, ("a",), (workspace / "b.txt",), b"\x89PNG\r\n\x1a\n\0")
    assert (text, named.filename, piped.filename) == ("a", "b.txt", "stdin.png")
    # A long text is a file too; so much that nobody keeps it is refused.
    assert read_question(uploads, (), (), b"x" * 300_000)[1][0].filename == "stdin.txt"
    with pytest.raises(UserError, match=r"stdin.txt: The file is larger than 20 MB"):
        read_question(uploads, (), (), b"x" * 20_000_001)
    done = shipmate(workspace, "ask", "--thread", "tea", "-a", "b.txt", "-a", "Agent.md", "hello")
    assert done.returncode == 0
    shown = shipmate(workspace, "threads", "show", "tea").stdout
    assert "file: b.txt" in shown
    assert "file: Agent.md" in shown
    assert "up_" not in shown
    refused = shipmate(workspace, "ask", "-a", "none.txt", "hello", LANG="zh_CN.UTF-8")
    assert (refused.returncode, refused.stderr) == (
        2,
        "shipmate: 无法读取 none.txt：没有那个文件或目录。请选另一个文件。\n",
    )


async def test_u14_an_answer_fits_the_schema_or_is_asked_for_once_more(workspace: Path) -> None:
    schema = '{"type": "object", "properties": {"tea": {"type": "integer"}}, "required": ["tea"]}'
    (workspace / "tea.json").write_text(schema)

    def ask(*options: str) -> subprocess.CompletedProcess[str]:
        return shipmate(workspace, "ask", "--schema", *options, "How many?")

    async with ProviderServer() as server:
        llm = {"provider": "openai-compatible", "model": "x", "baseUrl": f"{server.url}/v1", "apiKey": "k"}
        (workspace / "ship.json").write_text(json.dumps({"llm": llm}))
        server.script(say('```json\n{"tea": 4}\n```'), say("Four!"), say('{"tea": 4}'), say("4"), say("5"))
        done = await asyncio.to_thread(ask, schema)
        assert (done.returncode, done.stdout) == (0, '{"tea":4}\n')
        again = await asyncio.to_thread(ask, "tea.json", "--json")
        assert again.returncode == 0
        assert json.loads(again.stdout.splitlines()[-1])["value"] == {"tea": 4}
        failed = await asyncio.to_thread(ask, "tea.json")
        assert (failed.returncode, failed.stdout) == (1, "")
        assert failed.stderr == "shipmate: the answer does not fit the schema: $: must be object\n"
        assert len(server.requests) == 5
    broken = await asyncio.to_thread(ask, "{broken")
    assert (broken.returncode, "--schema is no JSON" in broken.stderr) == (2, True)
    os.mkfifo(workspace / "never.json")
    for waits in ("/dev/zero", "never.json"):
        endless = await asyncio.to_thread(ask, waits)
        assert (endless.returncode, "not a regular file" in endless.stderr) == (2, True)
    endless = await asyncio.to_thread(shipmate, workspace, "ask", "-a", "never.json", "hello")
    assert (endless.returncode, "cannot read never.json: not a regular file" in endless.stderr) == (2, True)
    (workspace / "large.json").write_text("{" + " " * 1_000_000 + "}")
    large = await asyncio.to_thread(ask, "large.json")
    assert (large.returncode, "larger than any schema" in large.stderr) == (2, True)
    hidden = await asyncio.to_thread(ask, "no\x1b[2J.json")
    assert r"cannot read no\u{1b}[2J.json" in hidden.stderr


def test_json_gives_chunks_and_the_outcome_last(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "--json", "read Agent.md")
    chunks = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [chunk["type"] for chunk in chunks]
    assert done.returncode == 0
    assert kinds[0] == "start"
    assert kinds.count("start-step") == 2
    assert "tool-output-available" in kinds
    assert kinds[-2:] == ["finish", "outcome"]
    assert chunks[-1]["status"] == "replied"
    text = "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")
    assert "gave 3 lines" in text


def test_a_thread_goes_on_where_it_was(workspace: Path) -> None:
    shipmate(workspace, "ask", "--thread", "tea", "hello")
    done = shipmate(workspace, "ask", "--thread", "tea", "summarize")
    assert "- hello\n- summarize" in done.stdout
    assert shipmate(workspace, "threads", "list").stdout.split()[0] == "cli:chat:tea"
    assert "hello" in shipmate(workspace, "threads", "show", "tea").stdout


def test_what_waits_for_an_approval_says_how_to_answer(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "run touch made.txt")
    assert done.returncode == 1
    assert "waiting for your approval" in done.stderr
    # Whatever the member says beside it: what is asked about stands above the words that allow it.
    shown, _, _ = done.stderr.partition("waiting for your approval")
    assert "touch made.txt" in shown
    assert str(workspace) in shown
    assert not (workspace / "made.txt").exists()
    answered = shipmate(workspace, "ask", "--thread", thread_in(done.stderr), "yes")
    assert answered.returncode == 0
    assert (workspace / "made.txt").exists()


def test_the_commands_it_names_work(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "run touch made.txt")
    look, answer = re.findall(r"`shipmate (approvals [^`]+)`", done.stderr)
    assert "touch made.txt" in shipmate(workspace, *look.split()).stdout
    assert shipmate(workspace, *answer.split()).returncode == 0
    assert (workspace / "made.txt").exists()


def test_several_questions_can_be_answered_at_once(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "write a to a.txt and write b to b.txt")
    assert done.returncode == 1
    answered = shipmate(workspace, "ask", "--thread", thread_in(done.stderr), "yes to all")
    assert answered.returncode == 0
    assert [(workspace / name).read_text() for name in ("a.txt", "b.txt")] == ["a", "b"]


def test_a_denied_call_does_not_run(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "run touch made.txt")
    answered = shipmate(workspace, "ask", "--thread", thread_in(done.stderr), "no, not now")
    assert answered.returncode == 0
    assert "was not allowed" in answered.stdout
    assert not (workspace / "made.txt").exists()


def test_a_failed_run_gives_its_first_half_and_code_1(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "fail")
    assert done.returncode == 1
    assert done.stdout == "Here is the first half of my answer, and then the line\n"
    went_on, broke = done.stderr.splitlines()
    assert went_on == "shipmate: The answer broke off; asking the model to go on from there."
    assert broke.startswith("shipmate: the rehearsal model broke off")


def test_at_a_screen_calls_are_shown_and_nothing_steers_it(workspace: Path) -> None:
    (workspace / "a.md").write_text("red \x1b[31m")
    terminal = Terminal(workspace, "ask", "read a.md")
    try:
        terminal.expect("Reading `a.md`.")
        terminal.expect("✓ read a.md (")
        terminal.expect("gave one line")
        assert terminal.finish() == 0
    finally:
        terminal.close()


def test_ctrl_c_stops_the_run_for_good(workspace: Path) -> None:
    terminal = Terminal(workspace, "ask", "--thread", "tea", "count to 500 slowly")
    try:
        terminal.expect("1 2 3")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.finish() == 130
    finally:
        terminal.close()
    shown = shipmate(workspace, "threads", "show", "tea").stdout
    assert "1 2 3" in shown
    assert "*stopped*" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ask",), "nothing was asked"),
        (("ask", "--thread", "Not:A:Thread", "x"), "platform"),
        (("ask", "--model", "claude", "x"), "provider:model"),
        (("ask", "--model", "antropic:x", "x"), "anthropic"),
        (("ask", "--unknown"), "No such option"),
    ],
)
def test_a_mistake_is_code_2(workspace: Path, arguments: tuple[str, ...], words: str) -> None:
    done = shipmate(workspace, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_workspace_one_line_says_how_to_make_one(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "ask", "hello")
    assert (done.returncode, done.stdout) == (2, "")
    assert "shipmate init" in done.stderr


def test_another_folder_is_given_with_c(workspace: Path, tmp_path: Path) -> None:
    assert shipmate(tmp_path, "-C", str(workspace), "ask", "read Agent.md").returncode == 0


def test_an_offline_answer_loads_little(workspace: Path) -> None:
    # What it costs is measured by `make bench`; most of that is what it imports, which is no matter of luck.
    done = shipmate(workspace, "ask", "hello", PYTHONPROFILEIMPORTTIME="1")
    bare = subprocess.run([sys.executable, "-X", "importtime", "-c", ""], capture_output=True, text=True)
    loaded, always = (
        {line.split("|")[-1].strip() for line in each.stderr.splitlines()} for each in (done, bare)
    )
    packages = {name.partition(".")[0] for name in loaded - always}
    heavy = {
        "rich",
        "prompt_toolkit",
        "pydantic_ai",
        "pydantic",
        "fastapi",
        "uvicorn",
        "httpx2",
        "mcp",
        "ruamel",
    }
    assert packages & heavy == set()
    assert len(loaded - always) < 570


def test_help_imports_nothing_heavy(workspace: Path) -> None:
    for command in ("init", "chat", "ask", "threads", "doctor", "reindex"):
        done = shipmate(workspace, command, "--help", PYTHONPROFILEIMPORTTIME="1")
        loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
        assert done.returncode == 0
        assert "Usage: shipmate" in done.stdout
        assert not loaded & {"rich", "prompt_toolkit", "pydantic_ai", "fastapi", "shipmate.app", "sqlite3"}


def test_a_question_can_begin_with_a_priming_script(workspace: Path) -> None:
    script = workspace / ".minds" / "priming" / "team_shared" / "tea.md"
    script.parent.mkdir(parents=True)
    record = "---\ngenseq: 1\nmsgId: m1\n---\nWe speak of tea.\n"
    script.write_text(f"### record human_text_record\n\n``````markdown\n{record}``````\n")
    done = shipmate(workspace, "ask", "--prime", "team_shared/tea", "--thread", "cli:chat:tea", "hello")
    assert done.returncode == 0
    assert "We speak of tea." in shipmate(workspace, "threads", "show", "cli:chat:tea").stdout
    refused = shipmate(workspace, "ask", "--prime", "team_shared/none", "hello")
    assert (refused.returncode, "team_shared/none" in refused.stderr) == (2, True)


def test_u12_the_mode_that_asks_nobody_is_told(workspace: Path) -> None:
    assert "yolo" not in shipmate(workspace, "ask", "hello").stderr
    (workspace / "ship.json").write_text('{"permissions": {"mode": "yolo"}}')
    assert "mode yolo: calls run without asking" in shipmate(workspace, "ask", "hello").stderr


def test_m4_another_member_answers_and_keeps_the_thread(workspace: Path) -> None:
    (workspace / "members/nina").mkdir(parents=True)
    (workspace / "members/nina/member.json").write_text('{"name": "Nina", "tools": ["read"]}')
    done = shipmate(workspace, "ask", "--member", "nina", "--thread", "tea", "hello")
    assert done.returncode == 0
    listed = shipmate(workspace, "context", "--member", "Nina", "--full").stdout
    assert "Nina" in listed
    refused = shipmate(workspace, "ask", "--thread", "tea", "run touch x")
    assert "`exec`, which is not on offer here" in refused.stdout
    assert not (workspace / "x").exists()
    unknown = shipmate(workspace, "ask", "--member", "ghost", "hello")
    assert unknown.returncode == 2
    assert "there is no member 'ghost'. There are: captain, nina." in unknown.stderr


FALLEN_BACK = {"en": "Asking openai-compatible:spare instead.", "zh": "改由 openai-compatible:spare 回答。"}


def name_spare(folder: Path, url: str, language: str) -> None:
    """Name a model that is over its limit, and one that answers in its place."""
    spare = {"provider": "openai-compatible", "model": "spare", "baseUrl": f"{url}/v1", "apiKey": "k"}
    llm = {**spare, "model": "first", "maxRetries": 0, "fallback": [spare]}
    (folder / "ship.json").write_text(json.dumps({"llm": llm, "language": language}))


@pytest.mark.parametrize("language", FALLEN_BACK)
async def test_it_says_that_another_model_answered(workspace: Path, language: str) -> None:
    async with ProviderServer() as server:
        name_spare(workspace, server.url, language)
        server.script(refuse(429, "slow down"), say("Hello."))
        done = await asyncio.to_thread(shipmate, workspace, "ask", "hello")
        server.script(refuse(429, "slow down"), say("Hello."))
        as_json = await asyncio.to_thread(shipmate, workspace, "ask", "--json", "hello")
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert done.stderr.startswith("shipmate: openai-compatible:first ")
    assert done.stderr.endswith(f"{FALLEN_BACK[language]}\n")
    assert as_json.stderr == done.stderr
    told = [json.loads(line) for line in as_json.stdout.splitlines()]
    (notice,) = [each["data"] for each in told if each["type"] == "data-notice"]
    assert (notice["kind"], notice["model"]) == ("fallback", "openai-compatible:spare")
    assert told[-1]["model"] == "openai-compatible:spare"


async def test_a_cut_answer_is_told_in_the_workspaces_language(workspace: Path) -> None:
    async with ProviderServer() as server:
        name_spare(workspace, server.url, "zh")
        server.script(say("Hel", ending="length"))
        done = await asyncio.to_thread(shipmate, workspace, "ask", "hello")
        server.script(refuse(401, "no"))
        refused = await asyncio.to_thread(shipmate, workspace, "ask", "hello")
    assert (done.returncode, done.stdout) == (1, "Hel\n")
    assert "这不是完整的回答" in done.stderr
    assert refused.returncode == 1
    assert "拒绝了密钥（401）" in refused.stderr.replace(" (401)", "（401）")
