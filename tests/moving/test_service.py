"""Moving in from other programs: everything once, nothing of theirs changed, nothing of ours widened."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from shipmate.moving import source_folder
from shipmate.moving.move_wording import MoveError
from shipmate.moving.service import PROGRAMS
from shipmate.orchestrator.taint import Taint
from shipmate.thread.log import FileLog
from shipmate.thread.service import Thread, ThreadService
from shipmate.tools.toolset import default_toolset
from shipmate.values.message import text_of, tool_parts, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config, read_env
from shipmate.workspace.member import captain_of
from tests.support.moving import lines, make_source, make_target, picture, take

SESSIONS = "sessions/542694fee62451db221fb41f569ad107"
# The threads each program's folder gives, with who speaks in them.
THREADS = {
    "nanobot": {"nanobot:chat:cli:direct": "sua", "telegram:dm:4242": "sua"},
    "openclaw": {"openclaw:chat:main/9482d44a-fe85-4c71-995b-1830d4c81dcf": "sua"},
    "claude-code": {"claude-code:chat:d10e7b0a-0766-4a3f-ab1e-252fdc3f8c76": "suaua"},
    "zyhive": {"zyhive:chat:xiaoliu/ses-1": "suua", "telegram:dm:4242": "sua"},
    "shipmyagent": {"telegram:dm:4242": "sua"},
    "dominds": {"dominds:chat:a1/b2": "sua"},
    "agent-chatter": {"agent-chatter:chat:session-1": "sua"},
}


def read(layout: Layout, thread_id: str) -> Thread:
    return asyncio.run(ThreadService(FileLog(layout)).read(ThreadId.parse(thread_id)))


def append(layout: Layout, thread_id: str, message_id: str, text: str) -> None:
    row = user_message(message_id, text, {"threadId": thread_id, "course": 1})
    asyncio.run(FileLog(layout).append(ThreadId.parse(thread_id), [row]))


def settings(layout: Layout) -> dict[str, Any]:
    return json.loads(layout.config.read_text()) if layout.config.exists() else {}


@pytest.mark.parametrize("program", PROGRAMS)
def test_everything_is_taken_once_and_the_source_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    source, layout = make_source(program, tmp_path / "theirs"), make_target(tmp_path / "ours")
    before, empty = picture(source), picture(layout.root)
    told = take(layout, program, source, is_dry=True)
    assert picture(layout.root) == empty
    assert not layout.ship.exists()
    told_again = take(layout, program, source)
    assert (told.threads, told.files, told.tasks, told.settings, told.variables, told.left) == (
        *(told_again.threads, told_again.files, told_again.tasks, told_again.settings),
        *(told_again.variables, told_again.left),
    )
    after = picture(layout.root)
    third = take(layout, program, source)
    assert picture(layout.root) == after
    assert third.messages == 0
    assert not third.threads["new"]
    assert not third.files["new"]
    assert picture(source) == before
    # Whoever spoke, in order, and nothing that a run of ours would take up.
    assert set(told.threads["new"]) == set(THREADS[program])
    for thread_id, roles in THREADS[program].items():
        thread = read(layout, thread_id)
        assert "".join(each["role"][0] for each in thread.messages) == roles
        assert thread.problems == []
        assert thread.waiting == {}
        assert Taint(default_toolset(captain_of(layout))).covers(thread)
    # Keys stand in .env, by name in ship.json, and in nothing else.
    values = read_env(layout).values()
    assert not any(
        value.encode() in data for value in values for name, data in after.items() if name != ".env"
    )
    assert not any(value in repr(told) for value in values)
    loaded = load_config(layout, {})
    assert [each for each in loaded.findings if each.level == "error"] == []
    # Nothing acts by itself, and nothing more may be done unasked.
    assert all("enabled: false" in (layout.tasks / f"{task}.md").read_text() for task in told.tasks["new"])
    assert all(entry["enabled"] is False for entry in settings(layout).get("adapters", {}).values())
    assert loaded.config.permissions.allow == ()
    assert loaded.config.mcp.servers == {}


def test_nanobot_goes_on_where_it_was(tmp_path: Path) -> None:
    source, layout = make_source("nanobot", tmp_path / "theirs"), make_target(tmp_path / "ours")
    on = ("channels", "tasks", "mcp", "rights")
    report = take(layout, "nanobot", source, on=on)
    call = next(tool_parts(read(layout, "nanobot:chat:cli:direct").messages[2]))
    assert (call["toolName"], call["input"]) == ("read_file", {"path": "notes.txt"})
    assert (call["state"], "the port is 8022" in call["output"]) == ("output-available", True)
    config = settings(layout)
    assert config["llm"] == {
        "provider": "openai",
        "model": "gpt-5.5",
        "baseUrl": "http://127.0.0.1:9/v1",
        "apiKey": "${NANOBOT_OPENAI_API_KEY}",
    }
    assert config["adapters"] == {"telegram": {"token": "${NANOBOT_TELEGRAM_TOKEN}", "allowFrom": ["4242"]}}
    assert config["mcp"]["servers"]["docs"]["headers"] == {
        "Authorization": "Bearer ${NANOBOT_DOCS_HEADERS_AUTHORIZATION}"
    }
    assert read_env(layout)["NANOBOT_DOCS_HEADERS_AUTHORIZATION"] == "docs-secret-0123456789"
    task = next(
        (layout.tasks / f"{each}.md").read_text() for each in report.tasks["new"] if "morning" in each
    )
    assert 'when: "0 9 * * 1-5"' in task
    assert "telegram:dm:4242" in task
    assert "enabled" not in task
    assert (layout.root / "memory/MEMORY.md").read_text().endswith("The port is 8022.\n")
    assert any(each.what == "config.json: providers.openrouter" for each in report.left)
    # As a member of its own it takes nothing of the captain's.
    other = make_target(tmp_path / "other")
    take(other, "nanobot", source, member="nano")
    assert (other.root / "members/nano/SOUL.md").is_file()
    assert not (other.root / "SOUL.md").exists()


def test_members_come_with_words_relations_projects_and_no_powers(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    take(layout, "zyhive", make_source("zyhive", tmp_path / "zyhive"), on=("tasks",))
    take(layout, "dominds", make_source("dominds", tmp_path / "dominds"))
    chatter = take(layout, "agent-chatter", make_source("agent-chatter", tmp_path / "chatter"))
    assert json.loads((layout.root / "projects/site/meta.json").read_text())["editors"]
    assert "| 引引 |" in (layout.root / "members/xiaoliu/RELATIONS.md").read_text()
    assert (layout.root / "members/alice/Agent.md").read_text() == "You are Alice.\n"
    assert json.loads((layout.root / "members/alice/member.json").read_text()) == {
        "name": "Alice",
        "description": "Developer",
    }
    assert (layout.root / ".minds/priming/individual/alice/start.md").is_file()
    # A second alice does not change the first, and her variables are not kept.
    assert "members/alice" in {each.what for each in chatter.left}
    assert "AGENT_CHATTER_API_TOKEN" not in read_env(layout)
    task = next(layout.tasks.glob("zyhive-weekly-*.md")).read_text()
    assert 'when: "0 9 * * 1"' in task
    assert 'member: "yinyin"' in task
    assert read(layout, "agent-chatter:chat:session-1").messages[2].get("metadata", {})["member"] == "alice"


def test_a_run_that_is_cut_off_anywhere_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_source("nanobot", tmp_path / "theirs")
    whole = make_target(tmp_path / "whole")
    take(whole, "nanobot", source)
    wanted = picture(whole.root)
    sync, number, cuts = DISK.fsync, 0, 0
    while True:
        layout, left = make_target(tmp_path / f"cut-{number}"), number

        def fall(handle: int) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            sync(handle)

        monkeypatch.setattr(DISK, "fsync", fall, raising=False)
        try:
            take(layout, "nanobot", source)
            break
        except KeyboardInterrupt:
            cuts += 1
        finally:
            monkeypatch.setattr(DISK, "fsync", sync, raising=False)
        take(layout, "nanobot", source)
        assert picture(layout.root) == wanted
        number += 2
    assert cuts > 10


def test_what_stands_here_is_never_changed(tmp_path: Path) -> None:
    source, layout = make_source("nanobot", tmp_path / "theirs"), make_target(tmp_path / "ours")
    append(layout, "telegram:dm:4242", "own", "My own words")
    (layout.root / "USER.md").write_text("mine")
    layout.config.write_text(
        '{"llm": {"provider": "ollama", "model": "x"}, "adapters": {"telegram": {"token": "${T}"}}}'
    )
    (layout.root / ".env").write_text("NANOBOT_OPENAI_API_KEY=rotated\n")
    before = settings(layout)
    report = take(layout, "nanobot", source)
    assert settings(layout)["llm"] == before["llm"]
    assert settings(layout)["adapters"] == before["adapters"]
    assert (layout.root / ".env").read_text() == "NANOBOT_OPENAI_API_KEY=rotated\n"
    assert (layout.root / "USER.md").read_text() == "mine"
    assert [text_of(each) for each in read(layout, "telegram:dm:4242").messages] == ["My own words"]
    assert "nanobot:chat:telegram:4242" in report.threads["new"]
    assert {"USER.md", "ship.json: llm", "ship.json: adapters.telegram"} <= {
        each.what for each in report.left
    }
    assert take(layout, "nanobot", source).threads["new"] == []


def test_what_was_said_there_since_is_added_unless_the_talk_went_on_here(tmp_path: Path) -> None:
    source, layout = make_source("nanobot", tmp_path / "theirs"), make_target(tmp_path / "ours")
    take(layout, "nanobot", source)
    files = sorted((source / SESSIONS).glob("*.jsonl"))
    more = lines(
        {"role": "assistant", "content": "One more thing.", "timestamp": "2026-11-17T01:00:00"},
        {"role": "user", "content": "Thanks", "timestamp": "2026-11-17T02:00:00"},
    )
    append(layout, "telegram:dm:4242", "own", "Said here")
    for file in files:
        file.write_text(file.read_text() + more)
    report = take(layout, "nanobot", source)
    assert report.threads["grown"] == ["nanobot:chat:cli:direct"]
    assert report.messages == 2
    grown = read(layout, "nanobot:chat:cli:direct").messages
    assert text_of(grown[2]).endswith("One more thing.")
    assert text_of(grown[3]) == "Thanks"
    assert text_of(read(layout, "telegram:dm:4242").messages[-1]) == "Said here"
    assert [each.what for each in report.left if "2 newer" in each.why] == ["telegram:dm:4242"]
    assert take(layout, "nanobot", source).messages == 0


def test_cut_broken_and_hostile_folders_spoil_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_folder, "LINE_LIMIT", 4_000)
    source, layout = make_source("nanobot", tmp_path / "theirs"), make_target(tmp_path / "ours")
    secret = tmp_path / "secret.md"
    secret.write_text("not yours")
    folder = source / SESSIONS
    whole = (folder / "Y2xpOmRpcmVjdA.jsonl").read_bytes()
    # In the midst of the result of a call.
    (folder / "Y2xpOmRpcmVjdA.jsonl").write_bytes(whole[: whole.rindex(b"the port")])
    good = lines({"role": "user", "content": "Still here", "timestamp": "2026-01-01T00:00:00"}).encode()
    bad = (
        b'[1]\n{"role": "user", "content": "\xff\xfe bytes"}\n'
        + b'{"role": "user", "content": "'
        + b"x" * 9_000
        + b'"}\n'
    )
    (folder / "odd.jsonl").write_bytes(bad + b"[" * 3_000 + b"\n" + good)
    key = lines({"_type": "metadata", "key": "telegram:../../../etc/passwd\u202e"}).encode()
    (folder / "path.jsonl").write_bytes(key + good)
    (folder / "link.jsonl").symlink_to(secret)
    (source / "workspace/memory/out.md").symlink_to(secret)
    (source / "workspace/memory/loop").symlink_to(source / "workspace")
    (source / "workspace/AGENTS.md").write_bytes(b"# Words\n\xff\xfe\n")
    report = take(layout, "nanobot", source)
    said = {each.what.rpartition("/")[2]: each.why for each in report.left}
    assert "breaks off in the midst of a line" in said["Y2xpOmRpcmVjdA.jsonl"]
    assert said["odd.jsonl"]
    assert said["link.jsonl"] == said["out.md"] == said["loop"] == "links are not followed"
    cut = read(layout, "nanobot:chat:cli:direct")
    call = next(tool_parts(cut.messages[2]))
    assert call["state"] == "output-error"
    assert "not known" in call["errorText"]
    everything = picture(layout.root)
    assert not any(b"not yours" in data for data in everything.values())
    assert all(path.resolve().is_relative_to(layout.root) for path in layout.root.rglob("*"))
    assert "�" in (layout.root / "AGENTS.md").read_text()
    assert sum("Still" in data.decode("utf-8", "replace") for data in everything.values()) == 2
    # Whole again, the rest comes to the same thread.
    (folder / "Y2xpOmRpcmVjdA.jsonl").write_bytes(whole)
    again = take(layout, "nanobot", source)
    call = next(tool_parts(read(layout, "nanobot:chat:cli:direct").messages[2]))
    assert again.threads["grown"] == ["nanobot:chat:cli:direct"]
    assert call["state"] == "output-available"


def test_a_cut_document_and_broken_settings_are_refused_with_a_word(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    chatter = make_source("agent-chatter", tmp_path / "chatter")
    session = next(chatter.rglob("1-session-1.json"))
    session.write_text(session.read_text()[:300])
    report = take(layout, "agent-chatter", chatter)
    assert report.threads["new"] == []
    assert any("cut off" in each.why for each in report.left)
    nanobot = make_source("nanobot", tmp_path / "nanobot")
    (nanobot / "config.json").write_text((nanobot / "config.json").read_text()[:500])
    report = take(layout, "nanobot", nanobot)
    assert len(report.threads["new"]) == 2
    assert not layout.config.exists()
    assert any(each.what == "config.json" and "cut off" in each.why for each in report.left)
    claw = make_source("openclaw", tmp_path / "claw")
    database = next(claw.rglob("*.sqlite"))
    database.write_bytes(database.read_bytes()[:5_000])
    assert any("database" in each.why for each in take(layout, "openclaw", claw).left)
    for program in PROGRAMS:
        with pytest.raises(MoveError, match="Name its home or data folder"):
            take(layout, program, layout.ship)
