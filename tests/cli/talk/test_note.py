"""Courses and pins from the command line and in the chat of the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipmate.cli.talk.note import read_note
from shipmate.cli.talk.slash import Slash
from shipmate.errors import UserError
from shipmate.values.thread_id import ThreadId
from tests.support.terminal import Terminal, shipmate


@pytest.fixture
def thread(workspace: Path) -> str:
    assert shipmate(workspace, "ask", "--thread", "tea", "hello").returncode == 0
    return "tea"


@pytest.fixture
def chat(workspace: Path) -> Iterator[Terminal]:
    terminal = Terminal(workspace, "chat", "--thread", "tea")
    try:
        terminal.expect("›")
        yield terminal
    finally:
        terminal.close()


def rows(workspace: Path) -> list[dict[str, object]]:
    return json.loads(shipmate(workspace, "threads", "show", "--json", "tea").stdout)


def test_m6_new_course_opens_one_and_says_so(workspace: Path, thread: str) -> None:
    opened = shipmate(workspace, "threads", "new-course", thread)
    assert (opened.returncode, opened.stderr) == (0, "")
    assert opened.stdout == (
        "Course 2 is open. The model no longer sees the 2 messages of course 1; the thread keeps them.\n"
    )
    assert "*Course 2 begins.*" in shipmate(workspace, "threads", "show", thread).stdout
    again = shipmate(workspace, "threads", "new-course", thread)
    assert (again.returncode, again.stdout) == (2, "")
    assert "course 2 has no message yet, so it goes on" in again.stderr


def test_pins_are_made_listed_and_taken_off(workspace: Path, thread: str) -> None:
    assert shipmate(workspace, "threads", "pins", thread).stdout.startswith("Nothing is pinned.")
    assert shipmate(workspace, "threads", "pin", thread, "The port is 8022.").stdout.startswith(
        "Pinned as 1."
    )
    shipmate(workspace, "threads", "pin", thread, "Not on Fridays.")
    assert (
        shipmate(workspace, "threads", "pins", thread).stdout == "1. The port is 8022.\n2. Not on Fridays.\n"
    )
    assert shipmate(workspace, "threads", "unpin", thread, "1").stdout == "Pin 1 is taken off.\n"
    (left,) = json.loads(shipmate(workspace, "threads", "pins", "--json", thread).stdout)
    assert (left["number"], left["text"]) == (2, "Not on Fridays.")
    missing = shipmate(workspace, "threads", "unpin", thread, "1")
    assert (missing.returncode, "there is no pin 1" in missing.stderr) == (2, True)
    shipmate(workspace, "reindex")
    assert "2. Not on Fridays." in shipmate(workspace, "threads", "pins", thread).stdout


@pytest.mark.parametrize(
    "arguments", [("new-course",), ("compact",), ("pin", "a fact"), ("unpin", "1"), ("pins",)]
)
def test_a_thread_that_is_not_there_is_said_so_and_not_made(
    workspace: Path, arguments: tuple[str, ...]
) -> None:
    name, *rest = arguments
    refused = shipmate(workspace, "threads", name, "nowhere", *rest)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no thread cli:chat:nowhere" in refused.stderr
    assert shipmate(workspace, "threads", "list").stdout.startswith("No threads yet")


def test_a_thread_in_the_bin_stays_there(workspace: Path, thread: str) -> None:
    shipmate(workspace, "threads", "bin", thread)
    for arguments in (("new-course", thread), ("pin", thread, "a fact")):
        refused = shipmate(workspace, "threads", *arguments)
        assert refused.returncode == 2
        assert "is in the bin. `shipmate threads restore cli:chat:tea` brings it back" in refused.stderr
    assert "tea" in shipmate(workspace, "threads", "list", "--bin").stdout


def test_a_course_opened_by_another_process_reaches_the_chat(chat: Terminal, workspace: Path) -> None:
    """The chat keeps the workspace; the other process hands its wish over, behind the run."""
    chat.type("count to 60 slowly\r")
    chat.expect("Ctrl-C stops")
    opened = shipmate(workspace, "threads", "new-course", "tea")
    assert opened.stdout.startswith("Course 2 is open.")
    assert "a run is going on; this is done when it ends" in opened.stderr
    chat.expect("Course 2 is open.")
    assert [row["role"] for row in rows(workspace)] == ["user", "assistant", "system"]


def test_m6_the_chat_opens_courses_and_pins(chat: Terminal, workspace: Path) -> None:
    chat.type("/course\r")
    chat.expect("there is nothing to close")
    chat.type("hello\r")
    chat.expect("rehearsal model")
    chat.type("/pins\r")
    chat.expect("nothing is pinned")
    chat.type("/pin The port is 8022.\r")
    chat.expect("Pinned as 1.")
    chat.type("/course\r")
    chat.expect("Course 2 is open.")
    chat.expect("in sight: 1.")
    chat.type("/pins\r")
    chat.expect("1. The port is 8022.")
    chat.type("/unpin it\r")
    chat.expect("write /unpin NUMBER")
    chat.type("/unpin 1\r")
    chat.expect("Pin 1 is taken off.")
    chat.type("/quit\r")
    assert chat.finish() == 0
    opened = [row for row in rows(workspace) if row["role"] == "system"]
    assert len(opened) == 3


def test_a_question_is_answered_in_the_chat_after_a_new_course(chat: Terminal, workspace: Path) -> None:
    chat.type("run touch made.txt\r")
    chat.expect("Why I ask")
    chat.type("/course\r")
    chat.expect("answer: 1.")
    chat.type("yes\r")
    chat.expect("✓ exec touch made.txt")
    assert (workspace / "made.txt").exists()


def test_a_number_is_asked_for() -> None:
    with pytest.raises(UserError, match="/unpin NUMBER"):
        read_note(ThreadId("cli", "chat", "tea"), Slash("unpin", "²"))
