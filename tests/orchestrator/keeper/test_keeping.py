"""One process keeps a workspace; others attach to it, and one of them takes over when it goes."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.errors import KeeperError, StorageError, ThreadIdError, UserError
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.keeper import keeping
from shipmate.orchestrator.keeper.keeping import PATIENCE_SECONDS
from shipmate.orchestrator.keeper.unix_socket import StreamLink, UnixSocket
from shipmate.orchestrator.lane.lanes import LocalKeeper
from shipmate.store.journal.inbox import JournalInbox
from shipmate.tools.toolset import Toolset
from shipmate.values.message import text_of, tool_parts
from shipmate.workspace.layout import Layout
from tests.support.terminal import SHIPMATE, environment
from tests.support.wait import LONG
from tests.support.workspace import ROOM, Probe, messages_of, open_workspace, pressed, said, talk

SILENT = ScriptedModel([])
KNOCK = """
import socket, sys
knocking = socket.socket(socket.AF_UNIX)
knocking.settimeout(60)
hello = b'{"is":"hello","number":1,"version":1}'
try:
    knocking.connect(sys.argv[1])
    knocking.sendall(len(hello).to_bytes(4, "big") + hello)
    print(knocking.recv(99))
except ConnectionError:
    print(b"")
"""


async def until_outcome(queue: asyncio.Queue[FeedEvent]) -> list[FeedEvent]:
    found: list[FeedEvent] = []
    while not found or found[-1].outcome is None:
        found.append(await asyncio.wait_for(queue.get(), LONG))
    return found


def words_in(events: list[FeedEvent]) -> str:
    deltas = [event.chunk["delta"] for event in events if event.chunk and event.chunk["type"] == "text-delta"]
    return "".join(deltas)


async def test_the_first_keeps_and_the_second_attaches(tmp_path: Path) -> None:
    async with (
        open_workspace(tmp_path, ScriptedModel({"": ["From the keeper."]})) as first,
        open_workspace(tmp_path, ScriptedModel({"": ["From the attached one."]})) as second,
    ):
        assert (first.keeper.keeps, second.keeper.keeps) == (True, False)
        outcome = await asyncio.wait_for(talk(second, "hello"), LONG)
    assert outcome.text == "From the keeper."


async def test_d1_a_message_of_another_process_waits_for_the_command_of_the_first(tmp_path: Path) -> None:
    work = Probe("work", acts=True)
    work.hold = asyncio.Event()
    model = ScriptedModel({"slow": [[call("work", mark="A")], "A is done."], "next": ["Now B."]})
    async with (
        open_workspace(tmp_path, model, [work], mode="yolo") as first,
        open_workspace(tmp_path, SILENT, mode="yolo") as second,
    ):
        one = await first.receive(said("slow"))
        await asyncio.wait_for(work.begun.wait(), LONG)
        two = await second.receive(said("next"))
        work.hold.set()
        outcomes = [await asyncio.wait_for(each.outcome(), LONG) for each in (one, two)]
    assert [outcome.text for outcome in outcomes] == ["A is done.", "Now B."]
    assert work.marks == ["A"]


async def test_d9_whoever_watches_sees_the_answer_that_another_process_asked_for(
    tmp_path: Path,
) -> None:
    async with (
        open_workspace(tmp_path, ScriptedModel({"": ["Aye."]})) as first,
        open_workspace(tmp_path, SILENT) as second,
        first.keeper.watch(ROOM) as here,
        second.keeper.watch(ROOM) as there,
    ):
        await talk(second, "ready?")
        told = [await until_outcome(queue) for queue in (here, there)]
    assert [words_in(events) for events in told] == ["Aye.", "Aye."]


async def test_an_attached_process_that_joins_late_is_told_the_running_message_first(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    model = ScriptedModel([[say("First half, "), hold(go_on), say("second half.")]])
    async with (
        open_workspace(tmp_path, model) as first,
        open_workspace(tmp_path, SILENT) as second,
    ):
        receipt = await first.receive(said("tell"))
        async with first.keeper.watch(ROOM) as here:
            while "First half, " not in words_in([event := await here.get()]):
                assert event.outcome is None
        async with second.keeper.watch(ROOM) as there:
            joined = await asyncio.wait_for(there.get(), LONG)
            go_on.set()
            rest = await until_outcome(there)
        await receipt.outcome()
    assert joined.snapshot is not None
    assert text_of(joined.snapshot.message) == "First half, "
    assert words_in(rest) == "second half."


async def test_an_attached_process_stops_a_run_steers_decides_and_takes_back(tmp_path: Path) -> None:
    forever = asyncio.Event()
    work = Probe("work", acts=True)
    model = ScriptedModel(
        {
            "wait": [[say("I wait."), hold(forever)]],
            "act": [[call("work", mark="x")], "Acted."],
            "more": ["More."],
        }
    )
    async with (
        open_workspace(tmp_path, model, [work]) as first,
        open_workspace(tmp_path, ScriptedModel([]), [work]) as second,
        second.keeper.watch(ROOM) as queue,
    ):
        running = await second.receive(said("wait"))
        while "I wait." not in words_in([await asyncio.wait_for(queue.get(), LONG)]):
            pass
        assert second.keeper.running(ROOM) is not None
        waiting = await second.receive(said("more", message_id="m1"))
        assert [row.event.message_id for row in await second.keeper.queue(ROOM)][-1] == "m1"
        assert await second.keeper.withdraw(ROOM, "m1") is True
        assert await second.keeper.withdraw(ROOM, "m1")
        assert await second.keeper.stop(ROOM) is True
        assert (await asyncio.wait_for(running.outcome(), LONG)).status == "stopped"
        assert (await asyncio.wait_for(waiting.outcome(), LONG)).status == "stopped"
        assert (await talk(second, "act")).status == "suspended"
        (question,) = await second.approvals.pending(ROOM)
        receipt = await second.receive(pressed(question.id, approved=True))
        assert (await asyncio.wait_for(receipt.outcome(), LONG)).text == "Acted."
    assert work.marks == ["x"]
    assert first.keeper.keeps is False


async def test_a_repeat_through_an_attached_process_starts_nothing(tmp_path: Path) -> None:
    model = ScriptedModel({"": ["Once."]})
    async with (
        open_workspace(tmp_path, model) as first,
        open_workspace(tmp_path, SILENT) as second,
    ):
        await talk(first, "hello", message_id="same")
        again = await second.receive(said("hello", message_id="same"))
        assert (await asyncio.wait_for(again.outcome(), LONG)).text == "Once."
    assert again.is_new is False
    assert len(model.requests) == 1


async def test_trouble_at_the_keeper_reaches_the_one_who_asked(tmp_path: Path) -> None:
    async with (
        open_workspace(tmp_path, SILENT),
        open_workspace(tmp_path, SILENT) as second,
    ):
        with pytest.raises(UserError, match="half a character"):
            await second.receive(said("half \ud83d"))


async def test_a_keeper_that_leaves_hands_over_what_it_began(tmp_path: Path) -> None:
    never = asyncio.Event()
    begun = ScriptedModel([[say("I begin "), hold(never)]])
    first = await _open(tmp_path, begun)
    async with open_workspace(tmp_path, ScriptedModel({"": ["and the next one ends."]})) as second:
        async with second.keeper.watch(ROOM) as queue:
            receipt = await second.receive(said("tell"))
            while "I begin " not in words_in([await asyncio.wait_for(queue.get(), LONG)]):
                pass
            await first.close()
            outcome = await asyncio.wait_for(receipt.outcome(), LONG)
            told = [queue.get_nowait() for _ in range(queue.qsize())]
        # Whoever watches knows that something may have ended in between.
        assert [event.is_handed_over for event in told].count(True) == 1
        assert second.keeper.keeps
        messages = await messages_of(second)
    assert outcome.text == "and the next one ends."
    assert [message["role"] for message in messages] == ["user", "assistant"]


async def test_a_keeper_that_leaves_lets_what_acts_come_to_its_end(tmp_path: Path) -> None:
    work = Probe("work", acts=True)
    work.hold = asyncio.Event()
    model = ScriptedModel([[call("work", mark="once"), call("work", mark="twice")], "Not said by this one."])
    first = await _open(tmp_path, model, [work])
    async with open_workspace(
        tmp_path, ScriptedModel({"": ["never asked", "Both are done."]}), [work], mode="yolo"
    ) as second:
        receipt = await second.receive(said("act"))
        await work.begun.wait()
        closing = asyncio.create_task(first.close())
        await asyncio.sleep(0.05)
        assert not closing.done()
        # While something acts, nobody else begins to keep; what they hand over waits.
        assert not second.keeper.keeps
        more = asyncio.create_task(second.receive(said("act", thread_id="cli:dm:other")))
        await asyncio.sleep(0)
        work.hold.set()
        await closing
        assert (await asyncio.wait_for((await more).outcome(), LONG)).status == "replied"
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
        calls = [part for message in await messages_of(second) for part in tool_parts(message)]
    assert outcome.text == "Both are done."
    assert work.marks == ["once", "twice"]
    assert [part["state"] for part in calls] == ["output-available", "output-available"]


async def test_being_asked_to_end_while_leaving_does_not_cut_off_what_acts(tmp_path: Path) -> None:
    work = Probe("work", acts=True)
    work.hold = asyncio.Event()
    first = await _open(tmp_path, ScriptedModel([[call("work", mark="once")], "It is done."]), [work])
    async with open_workspace(
        tmp_path, ScriptedModel({"": ["", "It is done."]}), [work], mode="yolo"
    ) as second:
        receipt = await second.receive(said("act"))
        await work.begun.wait()
        closing = asyncio.create_task(first.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        await asyncio.sleep(0.05)
        assert not closing.done()
        assert not second.keeper.keeps
        work.hold.set()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert (await asyncio.wait_for(receipt.outcome(), LONG)).status == "replied"
    assert work.marks == ["once"]


async def test_whoever_is_attached_takes_over_though_nobody_asks_for_anything(tmp_path: Path) -> None:
    never, work = asyncio.Event(), Probe("work", acts=True)
    first = await _open(tmp_path, ScriptedModel([[say("I begin "), hold(never)]]))
    async with first.keeper.watch(ROOM) as queue:
        await first.receive(said("tell"))
        while "I begin " not in words_in([await queue.get()]):
            pass
    model = ScriptedModel({"": [[call("work", mark="taken up")], "Done."]})
    async with open_workspace(tmp_path, model, [work], mode="yolo") as second:
        assert second.keeper.running(ROOM) is not None
        await first.close()
        await asyncio.wait_for(work.begun.wait(), LONG)
        assert second.keeper.keeps
    assert work.marks == ["taken up"]


async def test_trouble_that_passes_while_taking_over_loses_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await _open(tmp_path, ScriptedModel([[hold(asyncio.Event())]]))
    async with open_workspace(tmp_path, ScriptedModel({"": ["Here it is."]})) as second:
        receipt = await second.receive(said("tell"))
        for name in ("PATIENCE_SECONDS", "AGAIN_SECONDS"):
            monkeypatch.setattr(keeping, name, 0.05)
        load, refused = second.store.inbox.load, iter(range(3))

        async def refuse() -> None:
            if next(refused, None) is not None:
                raise StorageError("full")
            await load()

        monkeypatch.setattr(second.store.inbox, "load", refuse)
        await first.close()
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
    assert outcome.text == "Here it is."


async def test_a_process_that_stands_by_tries_again_when_it_could_not_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await _open(tmp_path, SILENT)
    async with open_workspace(tmp_path, SILENT) as second:
        monkeypatch.setattr(keeping, "PATIENCE_SECONDS", 0.05)
        load, is_loaded = second.store.inbox.load, asyncio.Event()

        async def refuse_once() -> None:
            monkeypatch.setattr(second.store.inbox, "load", succeed)
            raise StorageError("full")

        async def succeed() -> None:
            await load()
            is_loaded.set()

        monkeypatch.setattr(second.store.inbox, "load", refuse_once)
        await first.close()
        await asyncio.wait_for(is_loaded.wait(), LONG)
        await asyncio.wait_for(second.keeper.open(), LONG)
        assert second.keeper.keeps


async def test_a_process_that_cannot_begin_to_keep_leaves_the_seat_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_inbox: JournalInbox) -> None:
        raise StorageError("full")

    with monkeypatch.context() as patch:
        patch.setattr(JournalInbox, "load", refuse)
        with pytest.raises(StorageError, match="full"):
            await _open(tmp_path, SILENT)
    socket = UnixSocket(Layout(tmp_path))
    assert socket.hold()
    socket.release()


async def test_a_process_that_left_takes_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    app = await _open(tmp_path, SILENT)
    await app.close()
    with pytest.raises(KeeperError, match="closing"):
        await app.receive(said("too late"))
    assert UnixSocket(app.layout).holder() is None


async def test_an_attached_process_that_leaves_tells_whoever_waits_in_it(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel([[hold(asyncio.Event())]])) as first:
        second = await _open(tmp_path, SILENT)
        receipt = await second.receive(said("tell"))
        await second.close()
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
        assert first.keeper.busy() == [ROOM]
    assert (outcome.status, outcome.retryable) == ("failed", True)
    assert "goes on with the run" in (outcome.error or "")


async def test_a_one_shot_leaves_its_work_to_whoever_is_attached(tmp_path: Path) -> None:
    first = await _open(tmp_path, ScriptedModel([[hold(asyncio.Event())]]))
    await first.receive(said("tell"))
    assert first.keeper.busy() == [ROOM]
    async with open_workspace(tmp_path, ScriptedModel({"": ["Ended here."]})) as second:
        assert first.keeper.busy() == []
        async with second.keeper.watch(ROOM) as queue:
            await asyncio.wait_for(first.close(finish=True), LONG)
            while (await asyncio.wait_for(queue.get(), LONG)).outcome is None:
                pass
        assert [text_of(message) for message in await messages_of(second)] == ["tell", "Ended here."]


async def test_a_refusal_keeps_its_kind_on_the_way_to_who_asked(tmp_path: Path) -> None:
    async with (
        open_workspace(tmp_path, SILENT),
        open_workspace(tmp_path, SILENT) as second,
    ):
        with pytest.raises(ThreadIdError):
            await second.receive(said("hello", thread_id="no thread"))


async def test_d15_what_was_left_is_taken_up_when_a_program_opens_the_workspace(tmp_path: Path) -> None:
    never = asyncio.Event()
    first = await _open(tmp_path, ScriptedModel([[say("I begin "), hold(never)]]))
    async with first.keeper.watch(ROOM) as queue:
        await first.receive(said("tell"))
        while "I begin " not in words_in([await queue.get()]):
            pass
    await first.close()
    async with open_workspace(tmp_path, ScriptedModel({"": ["Finished."]})) as second:
        assert second.keeper.taken_up == [ROOM]
        async with second.keeper.watch(ROOM) as queue:
            await until_outcome(queue)
        messages = await messages_of(second)
    assert [text_of(message) for message in messages] == ["tell", "Finished."]


async def test_a_one_shot_finishes_what_it_found_when_nobody_else_is_there(tmp_path: Path) -> None:
    never = asyncio.Event()
    first = await _open(tmp_path, ScriptedModel([[say("I begin "), hold(never)]]))
    async with first.keeper.watch(ROOM) as queue:
        await first.receive(said("tell"))
        while "I begin " not in words_in([await queue.get()]):
            pass
    await first.close()
    gate = asyncio.Event()
    second = await _open(tmp_path, ScriptedModel({"": [[hold(gate), say("Finished.")]]}))
    closing = asyncio.create_task(second.close(finish=True))
    await asyncio.wait({closing}, timeout=0.1)
    assert not closing.done()
    gate.set()
    await asyncio.wait_for(closing, LONG)
    async with open_workspace(tmp_path, SILENT) as third:
        assert third.keeper.taken_up == []
        assert [text_of(message) for message in await messages_of(third)] == ["tell", "Finished."]


async def test_a_workspace_whose_path_is_longer_than_a_socket_takes_can_be_shared(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*(["a" * 60] * 3))
    deep.mkdir(parents=True)
    async with (
        open_workspace(deep, ScriptedModel({"": ["Far down."]})),
        open_workspace(deep, ScriptedModel([])) as second,
    ):
        assert (await asyncio.wait_for(talk(second, "where?"), LONG)).text == "Far down."


@pytest.mark.parametrize("shell", ["sh", "s) S 1 ("])
async def test_a_process_that_a_tool_started_is_not_let_in(tmp_path: Path, shell: str) -> None:
    knock = tmp_path / "knock.py"
    knock.write_text(KNOCK)
    # A process may have any name.
    (tmp_path / shell).symlink_to(shutil.which("sh") or "/bin/sh")
    async with open_workspace(tmp_path, SILENT) as app:
        # Through a shell that goes on living, so that the visitor is a grandchild.
        child = await asyncio.create_subprocess_exec(
            tmp_path / shell, "-c", 'python3 "$1" "$2"; true', "sh", knock, str(app.layout.keeper_socket),
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(child.communicate(), LONG)
    assert b"welcome" not in out
    assert b"refused" in out


async def test_a_command_started_by_the_keeper_is_told_at_once_that_it_may_not_attach(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, SILENT):
        child = await asyncio.create_subprocess_exec(
            SHIPMATE, "ask", "hello", cwd=tmp_path, env=environment(tmp_path), stderr=asyncio.subprocess.PIPE
        )
        _, said_ = await asyncio.wait_for(child.communicate(), PATIENCE_SECONDS)
    assert child.returncode == 2
    assert b"started by the process that keeps" in said_


async def _open(folder: Path, model: ScriptedModel, tools: list[Probe] | None = None) -> Shipmate:
    (folder / "Agent.md").write_text("# Captain\n")
    (folder / "ship.json").write_text('{"permissions": {"mode": "yolo"}}')
    return await Shipmate.open(folder, model=model, environ={}, toolset=Toolset(tools or []))


async def test_a_keeper_that_leaves_waits_for_a_call_of_an_older_message_too(tmp_path: Path) -> None:
    work = Probe("work", acts=True)
    work.hold = asyncio.Event()
    model = ScriptedModel([[call("work", mark="late")], "It is Monday.", "never"])
    (tmp_path / "Agent.md").write_text("# Captain\n")
    first = await Shipmate.open(tmp_path, model=model, environ={}, toolset=Toolset([work]))
    await talk(first, "act")
    await talk(first, "which day is it, by the way?")
    (question,) = await first.approvals.pending(ROOM)
    await first.receive(pressed(question.id, approved=True))
    await work.begun.wait()
    closing = asyncio.create_task(first.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    # Nobody else keeps until then, though nobody is let in any more.
    assert UnixSocket(first.layout).hold() is False
    work.hold.set()
    await closing
    async with open_workspace(tmp_path, ScriptedModel({"": ["Done."]}), [work]) as second:
        await second.keeper.idle()
        (late,) = [part for message in await messages_of(second) for part in tool_parts(message)]
    assert (work.marks, late["state"]) == (["late"], "output-available")


async def test_a_yes_that_was_queued_before_the_question_was_asked_answers_nothing(tmp_path: Path) -> None:
    ask, look = Probe("ask", acts=True), Probe("look")
    look.hold = asyncio.Event()
    model = ScriptedModel({"go": [[call("look")], [call("ask", mark="x")], "never"], "yes": ["Yes what?"]})
    async with open_workspace(tmp_path, model, [ask, look]) as app:
        first = await app.receive(said("go"))
        await look.begun.wait()
        early = await app.receive(said("yes"))
        look.hold.set()
        assert (await first.outcome()).status == "suspended"
        outcome = await asyncio.wait_for(early.outcome(), LONG)
        waiting = await app.approvals.pending(ROOM)
    assert (ask.marks, len(waiting), outcome.text) == ([], 1, "Yes what?")


async def test_a_process_that_closes_while_it_takes_over_leaves_the_workspace_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, entered, go_on, listen = asyncio.Event(), asyncio.Event(), asyncio.Event(), UnixSocket.listen

    async def answer_never(*_: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    async def listen_later(socket: UnixSocket, welcome: Callable[[StreamLink], Awaitable[None]]) -> None:
        entered.set()
        await go_on.wait()
        await listen(socket, welcome)

    async with open_workspace(tmp_path, SILENT) as first, open_workspace(tmp_path, SILENT) as second:
        monkeypatch.setattr(LocalKeeper, "receive", answer_never)
        monkeypatch.setattr(UnixSocket, "listen", listen_later)
        # Whoever asks notices first that the keeper is gone, and takes the seat.
        asking = asyncio.create_task(second.receive(said("hello")))
        await asyncio.wait_for(asked.wait(), LONG)
        await first.close()
        await asyncio.wait_for(entered.wait(), LONG)
        closing = asyncio.create_task(second.close())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait_for(closing, LONG)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert UnixSocket(Layout(tmp_path)).holder() is None


async def test_a_watch_goes_on_after_a_time_in_which_nobody_could_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, take = asyncio.Event(), UnixSocket.hold
    times, go_on = iter(range(3)), asyncio.Event()
    model = ScriptedModel([[say("Aye, "), hold(go_on), say("aye.")]])

    def refuse(socket: UnixSocket) -> bool:
        """Refuse both who stands by to take over and who watches."""
        if refused.is_set():
            return take(socket)
        if next(times) == 1:
            refused.set()
        raise StorageError

    async with (
        open_workspace(tmp_path, SILENT) as first,
        open_workspace(tmp_path, model) as second,
        second.keeper.watch(ROOM) as queue,
    ):
        monkeypatch.setattr(UnixSocket, "hold", refuse)
        await first.close()
        await asyncio.wait_for(refused.wait(), LONG)
        receipt = await asyncio.wait_for(second.receive(said("ready?")), LONG)
        joined = await asyncio.wait_for(queue.get(), LONG)
        go_on.set()
        told = await until_outcome(queue)
        await receipt.outcome()
    assert joined.snapshot is not None
    assert text_of(joined.snapshot.message) + words_in(told) == "Aye, aye."
