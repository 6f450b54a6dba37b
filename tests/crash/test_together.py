"""Real processes that share a thread: nobody ends another's work, and somebody always goes on with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.slow import Workshop, until
from tests.support.terminal import Terminal, shipmate
from tests.support.wait import LONG
from tests.support.wire import read_chunks, said, user

pytestmark = pytest.mark.crash
THREAD = "cli:chat:shared"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "shop")
    yield workshop
    workshop.close()


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a process; return its code and what it printed."""
    out, problems = process.communicate(timeout=LONG)
    return process.returncode, out, problems


def post(address: str, shop: Workshop, message_id: str, words: str) -> str:
    """Send a message of the page and return what was said to it."""
    body = {"id": THREAD, "messages": [user(message_id, words)]}
    told = httpx2.post(f"{address}/api/chat", json=body, headers=shop.token, timeout=LONG, trust_env=False)
    assert told.status_code == 200, told.text
    chunks = read_chunks(told.text)
    assert [chunk for chunk in chunks if chunk["type"] == "error"] == []
    return said(chunks)


def is_running(address: str, shop: Workshop) -> bool:
    """Tell whether the page shows that an answer is being written."""
    where = f"{address}/api/threads/{THREAD}/messages"
    return bool(httpx2.get(where, headers=shop.token, timeout=LONG, trust_env=False).json().get("running"))


def test_d1_two_questions_in_one_thread_are_both_answered_and_nothing_is_interrupted(shop: Workshop) -> None:
    first = shop.ask("run sh slow.sh A")
    assert shop.begun() == "A"
    second = shop.ask("run sh slow.sh B")
    shop.until_accepted(2)
    shop.let_go_on()
    assert shop.begun() == "B"
    shop.let_go_on()
    ends = [end_of(each) for each in (first, second)]
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert "did A" in ends[0][1]
    assert "did B" in ends[1][1]
    assert shop.effects() == ["A", "B"]
    assert "interrupted" not in shop.layout.threads.joinpath("cli%3Achat%3Ashared.jsonl").read_text()


def test_d1_a_message_of_the_page_does_not_end_the_command_of_a_question(shop: Workshop) -> None:
    asked = shop.ask("run sh slow.sh A")
    assert shop.begun() == "A"
    _, address = shop.serve()
    posting = shop.layout.root / "posted"
    # The page's answer comes after the question's, so both wait at once.
    child = os.fork()
    if child == 0:
        posting.write_text(post(address, shop, "u1", "hello"))
        os._exit(0)
    shop.until_accepted(2)
    shop.let_go_on()
    code, out, _ = end_of(asked)
    assert code == 0
    assert "did A" in out
    assert os.waitpid(child, 0)[1] == 0
    assert "rehearsal" in posting.read_text()
    assert shop.effects() == ["A"]


def test_d1_answering_an_approval_does_not_end_the_command_of_another(shop: Workshop) -> None:
    shop.permit(mode="ask", allow=["exec(sh slow.sh A)"])
    code, _, problems = end_of(shop.ask("write hello to c.md"))
    assert code == 1, problems
    assert "waiting for your approval" in problems
    approval = next(path.stem for path in shop.layout.approvals.glob("*.json"))
    working = shop.ask("run sh slow.sh A")
    assert shop.begun() == "A"
    answering = shop.start("approvals", "answer", approval, "yes")
    shop.until_accepted(3)
    shop.let_go_on()
    assert "did A" in end_of(working)[1]
    code, out, problems = end_of(answering)
    assert code == 0, out + problems
    assert (shop.folder / "c.md").read_text().strip() == "hello"
    assert shop.effects() == ["A"]


def test_d6_a_killed_question_is_answered_by_the_server_that_is_there(shop: Workshop) -> None:
    # The question keeps, the server is attached to it.
    asked = shop.ask("run sh slow.sh A, then run echo and on")
    assert shop.begun() == "A"
    assert shop.keeper() == asked.pid
    serving, address = shop.serve()
    assert is_running(address, shop)
    asked.kill()
    began = time.monotonic()
    until(lambda: shop.keeper() == serving.pid)
    took_over = time.monotonic() - began
    until(lambda: not is_running(address, shop))
    shown = shipmate(shop.folder, "threads", "show", "shared").stdout
    # Whether the command acted nobody can know, and the answer says so; it is not begun again.
    assert "outcome unknown" in shown
    # A machine that has far more to do than it can is no measure.
    assert took_over < 1 or os.getloadavg()[0] > 2 * (os.cpu_count() or 1), took_over
    assert shop.effects() == []


def test_d6_a_question_whose_process_is_killed_is_answered_by_the_keeper(shop: Workshop) -> None:
    serving, address = shop.serve()
    until(lambda: shop.keeper() == serving.pid)
    asked = shop.ask("run sh slow.sh A")
    assert shop.begun() == "A"
    asked.kill()
    asked.wait()
    shop.let_go_on()
    until(lambda: not is_running(address, shop))
    assert "did A" in shipmate(shop.folder, "threads", "show", "shared").stdout
    assert shop.effects() == ["A"]


def test_d9_two_chats_in_one_thread_both_show_both_answers(shop: Workshop) -> None:
    chats = [Terminal(shop.folder, "chat", "--thread", "shared") for _ in range(2)]
    try:
        for chat in chats:
            chat.expect("/help")
            chat.expect("›")
        chats[0].type("run echo from-the-$((40+1))st\r")
        for chat in chats:
            chat.expect("from-the-41st")
        chats[1].type("run echo from-the-$((40+2))nd\r")
        # An answer alone would be to nothing: who did not ask is shown the question too.
        chats[0].expect("› run echo from-the-$((40+2))nd")
        for chat in chats:
            chat.expect("from-the-42nd")
        # The one that kept is killed; the other goes on alone.
        keeping = next(chat for chat in chats if chat.process.pid == shop.keeper())
        other = next(chat for chat in chats if chat is not keeping)
        keeping.process.kill()
        other.type("run echo from-the-$((40+3))rd\r")
        other.expect("from-the-43rd")
    finally:
        for chat in chats:
            chat.close()


@pytest.mark.parametrize("way", ["serve", "ask", "chat"])
def test_a_keeper_that_is_asked_to_end_lets_its_command_end(shop: Workshop, way: str) -> None:
    terminal = None
    if way == "serve":
        keeping, _ = shop.serve()
        until(lambda: shop.keeper() == keeping.pid)
        asked = shop.ask("run sh slow.sh A, then run sh slow.sh B")
    elif way == "ask":
        keeping = asked = shop.ask("run sh slow.sh A, then run sh slow.sh B")
    else:
        terminal = Terminal(shop.folder, "chat", "--thread", "shared")
        terminal.expect("›")
        terminal.type("run sh slow.sh A, then run sh slow.sh B\r")
        keeping, asked = terminal.process, None
    assert shop.begun() == "A"
    keeping.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        keeping.wait(0.5)
    shop.let_go_on()
    assert (terminal.finish() if terminal else keeping.wait(LONG)) in (0, -15, 143)
    assert shop.effects() == ["A"]
    # What was to come after it is done by whoever keeps next: who asked, or the next command.
    following = asked if asked is not None and asked is not keeping else shop.ask("hello")
    assert shop.begun() == "B"
    shop.let_go_on()
    assert end_of(following)[0] == 0
    shown = shipmate(shop.folder, "threads", "show", "shared").stdout
    assert "did A" in shown
    assert "did B" in shown
    assert "unknown" not in shown
    if terminal:
        terminal.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_finishes_what_it_found_can_be_ended_without_harm(
    shop: Workshop, number: signal.Signals
) -> None:
    first = shop.ask("run sh slow.sh A, then run sh slow.sh B, then run sh slow.sh C")
    assert shop.begun() == "A"
    first.send_signal(signal.SIGTERM)
    shop.let_go_on()
    assert end_of(first)[0] == 143
    finishing = shop.ask("hello", thread="other")
    assert shop.begun() == "B"
    finishing.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        finishing.wait(0.5)
    shop.let_go_on()
    assert end_of(finishing)[0] in (130, 143)
    assert shop.effects() == ["A", "B"]
    following = shop.ask("hello", thread="other")
    assert shop.begun() == "C"
    shop.let_go_on()
    assert end_of(following)[0] == 0
    assert "unknown" not in shipmate(shop.folder, "threads", "show", "shared").stdout
    assert shop.effects() == ["A", "B", "C"]


def test_ctrl_c_of_a_waiting_question_takes_back_that_question_alone(shop: Workshop) -> None:
    first = shop.ask("run sh slow.sh A")
    assert shop.begun() == "A"
    second = shop.ask("run sh slow.sh B")
    shop.until_accepted(2)
    second.send_signal(signal.SIGINT)
    assert end_of(second)[0] == 130
    shop.let_go_on()
    code, out, _ = end_of(first)
    assert code == 0
    assert "did A" in out
    assert shop.effects() == ["A"]


def test_leaving_a_chat_does_not_stop_what_another_process_asked_for(shop: Workshop) -> None:
    first = shop.ask("run sh slow.sh A")
    assert shop.begun() == "A"
    chat = Terminal(shop.folder, "chat", "--thread", "shared")
    try:
        chat.expect("Ctrl-C stops")
        chat.type("hello\r")
        shop.until_accepted(2)
        chat.type("\x04")
        assert chat.finish() == 0
        assert "the run is stopped" not in chat.shown
    finally:
        chat.close()
    shop.let_go_on()
    assert "did A" in end_of(first)[1]


def test_a_workspace_with_a_very_long_path_is_shared_too(tmp_path: Path) -> None:
    deep = Workshop(tmp_path.joinpath(*(["deep" * 12] * 4)))
    try:
        first = deep.ask("run sh slow.sh A")
        assert deep.begun() == "A"
        second = deep.ask("run sh slow.sh B")
        deep.until_accepted(2)
        first.kill()
        assert deep.begun() == "B"
        deep.let_go_on()
        code, out, _ = end_of(second)
        assert code == 0
        assert "did B" in out
    finally:
        deep.close()
