from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import UIMessage, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.terminal import shipmate

AT = "2026-03-01T10:00:00.000Z"
ANSWER: UIMessage = {
    "id": "a1",
    "role": "assistant",
    "metadata": {"timestamp": AT, "toolMs": {"c1": 12}},
    "parts": [
        {"type": "reasoning", "text": "look first"},
        {
            "type": "tool-read",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {"path": "a.md"},
            "output": "tea\n```\n",
        },
        {"type": "text", "text": "It says tea."},
    ],
}


@pytest.fixture
async def thread(workspace: Path) -> ThreadId:
    layout, thread_id = Layout(workspace), ThreadId("cli", "chat", "tea")
    rows = [user_message("u1", "What is in a.md?", {"timestamp": AT}), ANSWER]
    await ThreadService(FileLog(layout)).create(thread_id, rows)
    store = open_store(layout)
    await store.threads.note(str(thread_id), rows)
    await store.close()
    return thread_id


def test_an_empty_list_says_how_to_begin(workspace: Path) -> None:
    assert (
        shipmate(workspace, "threads", "list").stdout == "No threads yet. Start one with `shipmate chat`.\n"
    )
    assert shipmate(workspace, "threads", "list", "--bin").stdout == "The bin is empty.\n"
    assert json.loads(shipmate(workspace, "threads", "list", "--json").stdout) == []


@pytest.mark.usefixtures("thread")
def test_list_shows_id_time_count_and_title(workspace: Path) -> None:
    assert (
        shipmate(workspace, "threads", "list").stdout
        == "cli:chat:tea  2026-03-01 10:00     2  What is in a.md?\n"
    )
    (info,) = json.loads(shipmate(workspace, "threads", "list", "--json").stdout)
    assert (info["threadId"], info["messageCount"], info["archived"]) == ("cli:chat:tea", 2, False)
    assert shipmate(workspace, "threads", "list", "coffee").stdout == "No thread matches.\n"


@pytest.mark.usefixtures("thread")
def test_show_writes_markdown_that_output_cannot_break(workspace: Path) -> None:
    shown = shipmate(workspace, "threads", "show", "tea").stdout
    assert shown == (
        "# What is in a.md?\n\n## You · 2026-03-01 10:00\n\nWhat is in a.md?\n\n"
        "## Member · 2026-03-01 10:00\n\n> look first\n\n`✓ read a.md (12 ms)`\n\n"
        "````\ntea\n```\n````\n\nIt says tea.\n"
    )
    assert "tea\n```" not in shipmate(workspace, "threads", "show", "--no-output", "tea").stdout
    assert json.loads(shipmate(workspace, "threads", "show", "tea", "--json").stdout)[1] == ANSWER


@pytest.mark.usefixtures("thread")
def test_export_writes_messages_or_markdown(workspace: Path) -> None:
    lines = shipmate(workspace, "threads", "export", "cli:chat:tea").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["u1", "a1"]
    done = shipmate(workspace, "threads", "export", "tea", "--format", "markdown", "-o", "tea.md")
    assert done.stdout == "Wrote 2 messages to tea.md.\n"
    assert (workspace / "tea.md").read_text().startswith("# What is in a.md?")
    refused = shipmate(workspace, "threads", "export", "tea", "-o", "no/such/folder.md")
    assert refused.returncode == 2
    assert "cannot write no/such/folder.md" in refused.stderr


@pytest.mark.usefixtures("thread")
def test_rename_archive_bin_and_restore(workspace: Path) -> None:
    assert (
        shipmate(workspace, "threads", "rename", "tea", "  Tea   time ").stdout == "Renamed to “Tea time”.\n"
    )
    shipmate(workspace, "threads", "archive", "tea")
    assert shipmate(workspace, "threads", "list").stdout.startswith("No threads yet")
    assert "Tea time" in shipmate(workspace, "threads", "list", "--archived").stdout
    shipmate(workspace, "threads", "archive", "--undo", "tea")
    assert "threads restore cli:chat:tea" in shipmate(workspace, "threads", "bin", "tea").stdout
    assert "Tea time" in shipmate(workspace, "threads", "list", "--bin").stdout
    assert shipmate(workspace, "threads", "show", "tea").returncode == 2
    assert shipmate(workspace, "threads", "restore", "tea").returncode == 0
    assert "Tea time" in shipmate(workspace, "threads", "list").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nothing"),
        ("show", "not:an id"),
        ("rename", "nothing", "x"),
        ("archive", "nothing"),
        ("bin", "nothing"),
        ("restore", "nothing"),
    ],
)
def test_a_thread_that_is_not_there_is_one_line_and_code_2(
    workspace: Path, arguments: tuple[str, ...]
) -> None:
    done = shipmate(workspace, "threads", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("shipmate: ")
    assert done.stderr.count("\n") == 1


def test_a_broken_row_is_reported_and_the_rest_is_shown(workspace: Path, thread: ThreadId) -> None:
    path = Layout(workspace).thread(thread)
    first, rest = path.read_text().split("\n", 1)
    path.write_text(f"{first}\nrubbish\n{rest}")
    done = shipmate(workspace, "threads", "show", "tea")
    assert done.returncode == 0
    assert "line 2 of cli:chat:tea cannot be read" in done.stderr
    assert "It says tea." in done.stdout


@pytest.mark.usefixtures("thread")
def test_d4_reindex_rebuilds_the_list_and_given_titles_from_the_files(workspace: Path) -> None:
    shipmate(workspace, "threads", "rename", "tea", "Tea time")
    done = shipmate(workspace, "reindex")
    assert done.stdout == "Indexed 2 messages of 1 threads.\n"
    assert "Tea time" in shipmate(workspace, "threads", "list").stdout
    Layout(workspace).state.unlink()
    shipmate(workspace, "reindex")
    assert "Tea time" in shipmate(workspace, "threads", "list").stdout


async def test_reindex_forgets_threads_whose_file_is_gone(workspace: Path, thread: ThreadId) -> None:
    Layout(workspace).thread(thread).unlink()
    assert shipmate(workspace, "reindex").stdout == "Indexed 0 messages of 0 threads.\n"
    assert shipmate(workspace, "threads", "list").stdout.startswith("No threads yet")


async def test_reindex_makes_messages_findable(workspace: Path, thread: ThreadId) -> None:
    shipmate(workspace, "reindex")
    store = open_store(Layout(workspace))
    found = await store.search.find("tea")
    await store.close()
    assert [hit.thread_id for hit in found] == [str(thread)]


@pytest.mark.parametrize(
    "words",
    [
        ("pins",),
        ("show",),
        ("export",),
        ("rename", "Tea"),
        ("archive",),
        ("bin",),
        ("new-course",),
        ("unpin", "1"),
    ],
)
def test_a_thread_in_the_bin_is_said_to_lie_there_and_stays(workspace: Path, words: tuple[str, ...]) -> None:
    shipmate(workspace, "ask", "--thread", "tea", "hello")
    shipmate(workspace, "threads", "bin", "tea")
    done = shipmate(workspace, "threads", words[0], "tea", *words[1:])
    assert (done.returncode, done.stdout) == (2, "")
    told = "cli:chat:tea is in the bin. `shipmate threads restore cli:chat:tea` brings it back."
    assert told in done.stderr
    assert "cli:chat:tea" in shipmate(workspace, "threads", "list", "--bin").stdout


def test_a_question_to_a_thread_in_the_bin_brings_it_back_and_says_so(workspace: Path) -> None:
    shipmate(workspace, "ask", "--thread", "tea", "hello")
    shipmate(workspace, "threads", "bin", "tea")
    done = shipmate(workspace, "ask", "--thread", "tea", "hello again")
    assert done.returncode == 0
    assert "cli:chat:tea was in the bin; with this question it is back\n" in done.stderr
    shown = shipmate(workspace, "threads", "show", "tea").stdout
    assert shown.count("This conversation was in the bin. It is back") == 1
    assert "hello again" in shown
    again = shipmate(workspace, "ask", "--thread", "tea", "and again")
    assert "bin" not in again.stderr
