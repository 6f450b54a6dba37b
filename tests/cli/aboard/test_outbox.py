"""The outbox in the terminal: what is uncertain is listed, sent again or forgotten."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from shipmate.store.journal.outbox import JournalOutbox
from shipmate.tools.file.sharing import Shares
from shipmate.tools.tool import ToolContext
from shipmate.values.event import EgressMessage
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import captain_of
from tests.support.terminal import shipmate

THREAD = "memory:dm:1"


async def leave_doubts(workspace: Path) -> None:
    """Leave two sends that nobody knows the end of."""
    outbox = JournalOutbox(Layout(workspace), DISK)
    await outbox.intend("run_1", "1", [EgressMessage(thread_id=THREAD, text=text) for text in ("one", "two")])
    for row in await outbox.open(THREAD):
        await outbox.mark(row, "uncertain", "the way broke")


def test_what_is_uncertain_is_listed_and_settled(workspace: Path) -> None:
    # A platform that cannot be asked.
    settings = {"adapters": {"memory": {"open": True, "capabilities": {}}}}
    (workspace / "ship.json").write_text(json.dumps(settings))
    assert shipmate(workspace, "outbox").stdout == "Everything was sent.\n"
    asyncio.run(leave_doubts(workspace))
    listed = shipmate(workspace, "outbox").stdout
    assert listed.splitlines()[0] == "1  uncertain  memory:dm:1  one"
    assert "the way broke" in listed
    assert "2 sends are held, failed or uncertain" in shipmate(workspace, "doctor").stdout
    assert shipmate(workspace, "outbox", "retry", "1").returncode == 0
    assert shipmate(workspace, "outbox", "drop", "2").returncode == 0
    assert shipmate(workspace, "outbox").stdout == "Everything was sent.\n"
    rows = json.loads(shipmate(workspace, "outbox", "--all", "--json").stdout)
    assert [row["status"] for row in rows] == ["sent", "dropped"]
    done = shipmate(workspace, "outbox", "retry", "1")
    assert (done.returncode, "no such send" in done.stderr) == (2, True)
    assert shipmate(workspace, "outbox", "drop", "9").returncode == 2


def test_what_is_shared_is_listed_and_taken_back(workspace: Path) -> None:
    layout = Layout(workspace)
    (workspace / "ship.json").write_text(json.dumps({"server": {"publicUrl": "https://ship.example"}}))
    (workspace / "film.bin").write_bytes(b"x" * 2_000)
    config = load_config(layout).config
    shares = Shares(layout, config.server)
    context = ToolContext(member=captain_of(layout), thread_id=THREAD, run_id="run_1", call_id="c1")
    share = shares.share(context, "film.bin")
    listed = shipmate(workspace, "outbox", "shared").stdout
    assert all(told in listed for told in (share.id, share.expires_at, THREAD, "film.bin  2,000 bytes"))
    assert share.secret not in listed
    assert shipmate(workspace, "outbox", "revoke", share.id).returncode == 0
    assert shipmate(workspace, "outbox", "shared").stdout == "Nothing is shared.\n"
    assert shipmate(workspace, "outbox", "revoke", share.id).returncode == 2
