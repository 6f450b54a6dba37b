"""A whole workspace as one file: equal when it is restored, the same bytes each time, and no secret in it."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from pathlib import Path

import pytest

from shipmate.moving.archive.pack import KEPT, LEFT_OUT, list_files, pack
from shipmate.moving.archive.unpack import unpack, verify
from shipmate.moving.move_wording import MoveError
from shipmate.thread.log import FileLog
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace import layout as layout_module
from shipmate.workspace.layout import Layout
from tests.support.moving import make_source, make_target, picture, take

TEA = ThreadId.parse("cli:chat:tea")
KEY = "sk-live-0123456789abcdef"


def make_full(tmp_path: Path) -> Layout:
    """Make a workspace with something of everything."""
    layout = make_target(tmp_path / "ours")
    on = ("channels", "tasks", "mcp", "rights")
    for program in ("nanobot", "zyhive", "dominds"):
        take(layout, program, make_source(program, tmp_path / program), on=on)
    written = {
        ".ship/approvals/a1.json": '{"id": "a1"}',
        ".ship/audit/2026.jsonl": '{"n": 1}\n',
        ".ship/memory/project.md": "# Known\n",
        ".ship/memory/users/cli.ann.md": "喜欢茶\n",
        ".ship/inbox.jsonl": "",
        ".ship/uploads/u1/data": "picture",
        ".ship/token": "page-token-0123456789",
        ".ship/homes/alice/login": "login",
        ".ship/mcp/logins/docs.json": "login",
        ".ship/chat-history": "typed",
        ".ship/users.json": '{"ann": {"id": "ann", "uid": "u1", "role": "admin", "password": "scrypt$hash"}}',
        ".ship/people.json": '{"paired": [], "codes": {"pairing-code": {"id": "telegram:1"}}}',
        ".ship/state.db": "index",
        "members/alice/.env": "PRIVATE_TOKEN=alice-secret-0123456789\n",
        "projects/site/id_rsa": "key",
        "projects/site/said.md": f"The key is {KEY}, of alice alice-secret-0123456789.",
        "own/code.py": "print()",
    }
    for name, text in written.items():
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        (layout.root / name).write_text(text)
    config = json.loads(layout.config.read_text())
    config["adapters"]["slack"] = {"token": KEY, "enabled": False}
    layout.config.write_text(json.dumps(config))
    (layout.root / "memory/link.md").symlink_to("/etc/hostname")
    return layout


def test_a_restored_workspace_is_equal_and_holds_no_secret(tmp_path: Path) -> None:
    layout = make_full(tmp_path)
    first, second = tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"
    manifest = pack(layout, first)
    assert pack(layout, second) == manifest
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_mode & 0o777 == 0o600
    before = picture(layout.root)
    assert unpack(first, tmp_path / "back") == manifest
    after = picture(tmp_path / "back")
    # What a key stood in differs, and nothing else.
    changed = {"ship.json", "projects/site/said.md", ".ship/users.json", ".ship/people.json"}
    assert {name: data for name, data in after.items() if before[name] != data}.keys() == changed
    for folder in (
        ".ship/threads/",
        ".ship/approvals/",
        ".ship/tasks/",
        ".ship/memory/",
        ".minds/",
        "memory/",
        "members/",
    ):
        wanted = {
            name for name in before if name.startswith(folder) and not name.endswith((".env", "link.md"))
        }
        assert wanted
        assert wanted <= set(after)
    gone = set(before) - set(after)
    assert gone == {
        *(
            ".env",
            "members/alice/.env",
            ".ship/token",
            ".ship/homes/alice/login",
            ".ship/mcp/logins/docs.json",
        ),
        *(".ship/chat-history", "projects/site/id_rsa", "own/code.py", "memory/link.md"),
    }
    held = gzip.decompress(first.read_bytes())
    for secret in (
        KEY,
        "alice-secret",
        "docs-secret",
        "telegramTokenOfNanobot",
        "page-token",
        "login",
        "scrypt",
        "pairing-code",
    ):
        assert secret.encode() not in held
    config = json.loads((tmp_path / "back/ship.json").read_text())
    assert config["adapters"]["slack"]["token"] == "${SLACK_TOKEN}"
    assert {"SLACK_TOKEN", "NANOBOT_OPENAI_API_KEY"} <= set(manifest.variables)
    # A restored one is exported to the same bytes again.
    pack(Layout(tmp_path / "back"), second)
    assert verify(second).files == manifest.files


def test_somebody_decided_about_every_name_in_ship() -> None:
    source = Path(layout_module.__file__).read_text()
    names = re.findall(r'_in_ship\("([^"]+)"', source) + re.findall(r'self\.ship / "([^"]+)"', source)
    assert len(names) > 30
    assert set(names) - KEPT - LEFT_OUT == set(), (
        "keep it in archives, or leave it out: moving/archive/pack.py"
    )
    assert not KEPT & LEFT_OUT


def test_it_is_whole_while_others_write(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    log = FileLog(layout)

    async def write() -> None:
        for number in range(300):
            row = user_message(f"m{number}", "茶" * 500, {"threadId": str(TEA)})
            await log.append(TEA, [row], waits=False)

    writer = threading.Thread(target=lambda: asyncio.run(write()))
    writer.start()
    for number in range(8):
        pack(layout, tmp_path / f"{number}.tar.gz")
    writer.join()
    # A line that was being written is in none of them.
    with layout.thread(TEA).open("ab") as file:
        file.write(b'{"id": "torn", "ro')
    pack(layout, tmp_path / "torn.tar.gz")
    whole = layout.thread(TEA).read_bytes()
    for archive in sorted(tmp_path.glob("*.tar.gz")):
        back = Layout(tmp_path / archive.name.partition(".")[0])
        unpack(archive, back.root)
        held = back.thread(TEA).read_bytes() if back.thread(TEA).exists() else b""
        assert whole.startswith(held)
        assert not held or held.endswith(b"\n")
    assert b"torn" not in Layout(tmp_path / "torn").thread(TEA).read_bytes()


def test_a_place_that_cannot_be_written_gets_a_word_and_no_file(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    (tmp_path / "file").write_text("")
    with pytest.raises(MoveError, match="cannot be written"):
        pack(layout, tmp_path / "file" / "a.tar.gz")
    assert list_files(layout) == ["Agent.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "ours"]
