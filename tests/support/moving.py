"""Folders of other programs to move in from: made by them, or written after their public sources."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from shipmate.moving.landing import MoveReport
from shipmate.moving.service import move_in
from shipmate.workspace.layout import Layout
from tests.support.foreign import FIXTURES as ADOPTED

MADE = Path(__file__).parents[1] / "fixtures" / "moving"
AT = 1_770_000_000_000


def make_target(folder: Path) -> Layout:
    """Make a small workspace to move into."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Agent.md").write_text("# Ada\n\nYou are Ada.\n")
    return Layout(folder)


def take(layout: Layout, program: str, folder: Path, **more: Any) -> MoveReport:
    """Move in, in this process."""
    return asyncio.run(move_in(layout, program, folder, **more))


def picture(folder: Path) -> dict[str, bytes]:
    """Return every file with what it holds, but for locks and earlier texts of ship.json."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in found}
    return {
        name: path.read_bytes()
        for name, path in named.items()
        if not name.startswith((".ship/locks/", ".ship/revisions/", ".ship/state.db"))
    }


def make_source(program: str, folder: Path) -> Path:
    """Make the folder of a program."""
    if program in ("nanobot", "openclaw", "claude-code"):
        shutil.copytree(MADE / program, folder)
    elif program in ("zyhive", "shipmyagent"):
        shutil.copytree(ADOPTED / program, folder)
    for dump in folder.rglob("*.sql"):
        with sqlite3.connect(dump.with_suffix(".sqlite")) as database:
            database.executescript(dump.read_text())
        database.close()
        dump.unlink()
    for name, text in WRITTEN.get(program, {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _said(role: str, content: Any, number: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "message": {"role": role, "content": content, **more},
        "timestamp": AT + number,
    }


WRITTEN: dict[str, dict[str, str]] = {
    "zyhive": {
        "agents/xiaoliu/sessions/ses-1.jsonl": lines(
            {"type": "session", "version": 3, "agentId": "xiaoliu", "createdAt": AT},
            {"type": "compaction", "summary": "Ann asked about tea.", "timestamp": AT},
            _said("user", "What does notes.txt say?", 1),
            _said(
                "assistant",
                [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"file_path": "a"}},
                ],
                2,
            ),
            _said("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "8022"}], 3),
            _said("assistant", "端口是 8022。", 4),
        ),
        "agents/xiaoliu/sessions/telegram-4242.jsonl": lines(
            _said("user", "Hello", 5),
            _said("assistant", "Hi", 6, toolCalls=[{"id": "t1", "name": "ls", "result": "a"}]),
        ),
        "agents/xiaoliu/sessions/sessions.json": json.dumps(
            {"sessions": {"ses-1": {"id": "ses-1", "agentId": "xiaoliu", "title": "Tea", "createdAt": AT}}}
        ),
        "cron/jobs.json": json.dumps(
            [
                {
                    "id": "job-1",
                    "name": "Weekly",
                    "enabled": True,
                    "schedule": {"kind": "cron", "expr": "0 0 9 * * 1", "tz": "Asia/Shanghai"},
                    "payload": {"kind": "agentTurn", "message": "Write the week's report."},
                    "agentId": "yinyin",
                }
            ]
        ),
    },
    "shipmyagent": {
        ".ship/chats/telegram%3Achat%3A4242.archive-1.jsonl": lines(
            {"v": 1, "ts": AT, "channel": "telegram", "role": "user", "text": "First", "messageId": "1"}
        ),
        ".ship/chats/telegram%3Achat%3A4242.jsonl": lines(
            {"v": 1, "ts": AT + 1, "channel": "telegram", "role": "assistant", "text": "Second"},
            {"v": 1, "ts": AT + 2, "channel": "telegram", "role": "tool", "text": "log"},
        ),
        ".ship/memory/telegram%3Achat%3A4242.json": json.dumps(
            {"entries": [{"type": "fact", "content": "The port is 8022."}]}
        ),
    },
    "dominds": {
        ".minds/team.yaml": "member_defaults:\n  provider: anthropic\n  model: claude-sonnet-4-6\n"
        "members:\n  alice:\n    name: Alice\n    role: Developer\n",
        ".minds/team/alice/persona.md": "---\nkind: claude-code\ncommand: /bin/evil\n---\nYou are Alice.\n",
        ".minds/team/alice/knowhow.md": "Ports are above 8000.\n",
        ".minds/memory/team_shared/tea.md": "Assam at nine.\n",
        ".minds/priming/individual/alice/start.md": "---\ntitle: Start\n---\n\n"
        "### record agent_words_record\n\n```\n---\ngenseq: 1\n---\nHello\n```\n",
        ".dialogs/run/a1/b2/dialog.yaml": "id: a1/b2\nagentId: alice\ntaskDocPath: tea.tsk\n"
        "createdAt: '2026-01-02 03:04:05'\n",
        ".dialogs/run/a1/b2/course-001.jsonl": lines(
            {"ts": "2026-01-02 03:04:06", "type": "human_text_record", "msgId": "m1", "content": "Hi"},
            {"ts": "2026-01-02 03:04:07", "type": "func_call_record", "id": "c1", "name": "shell_cmd",
             "rawArgumentsText": '{"command": "ls"}'},
            {"ts": "2026-01-02 03:04:08", "type": "func_result_record", "id": "c1", "content": "a"},
            {"ts": "2026-01-02 03:04:09", "type": "agent_words_record", "genseq": 1, "content": "Done"},
        ),
    },
    "agent-chatter": {
        ".agent-chatter/team-config/team.json": json.dumps(
            {
                "schemaVersion": "1.2",
                "agents": [{"name": "claude", "command": "claude", "args": ["--yes"]}],
                "team": {
                    "name": "review",
                    "description": "Review",
                    "roleDefinitions": [{"name": "security", "description": "Looks for holes"}],
                    "members": [
                        {"name": "alice", "displayName": "Alice", "type": "ai", "role": "security",
                         "agentType": "claude", "systemInstruction": ["You are Alice.", "Be short."],
                         "env": {"API_TOKEN": "chatter-secret-0123456789", "LD_PRELOAD": "/tmp/evil.so"}},
                        {"name": "ann", "displayName": "Ann", "type": "human", "role": "observer"},
                    ],
                },
            }
        ),
        ".agent-chatter/sessions/review/1-session-1.json": json.dumps(
            {
                "schemaVersion": "1.0",
                "teamId": "review",
                "sessionId": "session-1",
                "createdAt": "2026-01-02T03:04:05.000Z",
                "context": {
                    "messages": [
                        {"id": "m1", "timestamp": "2026-01-02T03:04:06.000Z", "content": "Look at this",
                         "speaker": {"id": "ann", "name": "ann", "type": "human"}},
                        {"id": "m2", "timestamp": "2026-01-02T03:04:07.000Z", "content": "It is fine",
                         "speaker": {"id": "alice", "name": "alice", "type": "ai"}},
                    ],
                },
                "metadata": {"messageCount": 2, "summary": '2 messages - "Look at this"'},
            }
        ),
    },
}  # fmt: skip
