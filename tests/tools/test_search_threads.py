from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ToolError
from shipmate.store.file_store import FileStore, open_store
from shipmate.team.right import OWNED_BY
from shipmate.thread.log import FileLog
from shipmate.tools.search_threads import ThreadSearch, ThreadSearchArguments
from shipmate.tools.tool import ToolContext
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Config
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

SAID = {
    "cli:chat:a": "the mauve anchor weighs nine tons",
    "web:room:1": "mauve was chosen, 船名已经决定",
    "telegram:dm:7": "my mauve secret",
    "telegram:group:9": "mauve for the group",
    "web:room:bob": "mauve told to bob",
    "web:room:uma": "mauve told by uma",
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FileStore]:
    layout = Layout(tmp_path)
    (tmp_path / "Agent.md").write_text("# A")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/MEMORY.md").write_text("The mast is mauve.\n")
    opened = open_store(layout)
    for name, text in SAID.items():
        await FileLog(layout).create(ThreadId.parse(name), [user_message(f"m-{name}", text)])
    await opened.threads.create("web:room:bob", member="bob")
    await opened.threads.create("web:room:uma", settings={OWNED_BY: "u1"})
    await opened.reconcile()
    yield opened
    await opened.close()


async def find(store: FileStore, root: Path, here: str, query: str = "mauve", user: str = "") -> Any:
    context = ToolContext(
        member=captain_of(Layout(root), Config()), thread_id=here, run_id="r", call_id="c", user_id=user
    )
    return (await ThreadSearch(store).run(ThreadSearchArguments(query), context)).output


async def test_a_member_finds_what_those_who_listen_may_see(store: FileStore, tmp_path: Path) -> None:
    async def threads(here: str, user: str = "") -> set[str]:
        return {hit["thread"] for hit in (await find(store, tmp_path, here, user=user))["messages"]}

    assert await threads("cli:chat:a", "ann") == set(SAID) - {"web:room:bob"}
    assert await threads("telegram:dm:7", "7") == {"telegram:dm:7"}
    assert await threads("telegram:group:9", "7") == {"telegram:group:9"}
    assert await threads("telegram:dm:8", "8") == set()
    # Somebody of a team sees their own; in a thread that is not theirs, only what was said there.
    assert await threads("web:room:uma", "user:uma") == {"web:room:uma"}
    assert await threads("web:room:1", "user:uma") == {"web:room:1"}


async def test_a_hit_says_where_it_is_from_and_that_it_is_data(store: FileStore, tmp_path: Path) -> None:
    output = await find(store, tmp_path, "cli:chat:a", "船名")
    (hit,) = output["messages"]
    assert (hit["thread"], hit["message"], hit["by"]) == ("web:room:1", "m-web:room:1", "user")
    assert "instruction" in output["note"]
    assert ThreadSearch(store).labels.reads_untrusted
    # Words that never stand together: what has most of them comes first.
    loose = await find(store, tmp_path, "cli:chat:a", "anchor tons lighthouse")
    assert loose["messages"][0]["thread"] == "cli:chat:a"
    assert (await find(store, tmp_path, "cli:chat:a"))["notes"][0]["path"] == "memory/MEMORY.md"
    with pytest.raises(ToolError, match="empty"):
        await find(store, tmp_path, "cli:chat:a", " ")
