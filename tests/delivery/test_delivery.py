"""What leaves a workspace for a platform, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from shipmate.adapters.memory_platform import MemoryAdapter
from shipmate.cli.terminal.show import write_message
from shipmate.cli.terminal.watching import Watching
from shipmate.delivery import delivery, preview
from shipmate.delivery.adapter import OutgoingMessage
from shipmate.errors import SendLaterError
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, Usage
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.server.routes.thread import page_of
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.tools.file.send_file import SendFile
from shipmate.values.adapter_event import Chat, RemoteFile
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK
from tests.support.chat import open_chat, until_begun
from tests.support.workspace import Probe, pressed

LONG = 20


async def test_m8_an_answer_is_sent_once_and_in_groups_as_a_reply(tmp_path: Path) -> None:
    async with open_chat(tmp_path, ScriptedModel(["Hello."] * 2)) as (ship, platform):
        for chat in (Chat(id="1"), Chat(id="2", kind="group")):
            assert (await platform.say("hi", chat=chat, message_id="7")).status == "accepted"
            assert (await platform.say("hi", chat=chat, message_id="7")).status == "repeated"
        while len(platform.shown) < 2:
            await asyncio.wait_for(platform.changed.wait(), LONG)
        assert [(each.text, each.reply_to) for each in platform.in_chat("1")] == [("Hello.", None)]
        assert [(each.text, each.reply_to) for each in platform.in_chat("2")] == [("Hello.", "7")]
        await ship.keeper.idle()


async def test_members_who_share_a_chat_say_who_speaks_and_what_one_asks_is_no_persons_question(
    tmp_path: Path,
) -> None:
    (tmp_path / "members" / "nina").mkdir(parents=True)
    (tmp_path / "members" / "nina" / "Agent.md").write_text("# Nina\n")
    act = Probe("act", acts=True)
    model = ScriptedModel(["@nina do it\n@zoe", [say("May I?"), call("act", mark="x")]])
    async with open_chat(tmp_path, model, [act]) as (ship, platform):
        await platform.say("go")
        await asyncio.wait_for(platform.wait("act"), LONG)
        await ship.keeper.idle()
        *words, question = platform.in_chat("1")
        assert [each.text for each in words] == [
            "@nina do it\n@zoe",
            "Nobody here is called zoe. There are: captain, nina.",
            "**nina:** May I?",
        ]
        # Nobody here asked for it: the owner decides, or whom permissions.admins names.
        await platform.press(question, "✅ Yes, once")
        await platform.say("yes")
        await asyncio.wait_for(platform.wait("or an admin, can answer this"), LONG)
        await ship.keeper.idle()
        (waiting,) = await ship.approvals.pending()
        assert (waiting.initiators, act.marks) == ((), [])


async def test_m8_a_question_reaches_the_chat_and_a_button_answers_it(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Done."])
    async with open_chat(tmp_path, model, [act]) as (_, platform):
        await platform.say("go")
        await asyncio.wait_for(platform.wait("act"), LONG)
        words, question = platform.in_chat("1")
        assert words.text == "May I?"
        assert [button.label for button in question.buttons[0]] == ["✅ Yes, once", "❌ No"]
        heard = await platform.press(question, "✅ Yes, once")
        assert heard.told == "Got it."
        await asyncio.wait_for(platform.wait("Done.", "Allowed."), LONG)
        assert act.marks == ["x"]
        assert question.buttons == ()


class FastModel:
    """A model that writes a word every few milliseconds, until it is told to end."""

    name = "fast"

    def __init__(self) -> None:
        self.is_over = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        del request
        while not self.is_over.is_set():
            yield TextDelta("word ")
            await asyncio.sleep(0.005)
        yield TextDelta("end.")
        yield Finish("stop", Usage(input_tokens=1, output_tokens=1))


async def test_what_a_model_writes_fast_is_shown_steadily_and_becomes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
    model = FastModel()
    async with open_chat(tmp_path, model) as (ship, platform):
        await platform.say("hi")
        while not any(len(each.texts) >= 3 for each in platform.shown.values()):
            await asyncio.wait_for(platform.changed.wait(), LONG)
        model.is_over.set()
        await asyncio.wait_for(platform.wait("end."), LONG)
        (shown,) = platform.in_chat("1")
        await ship.keeper.idle()
        rows = await ship.store.outbox.list()
    assert all(text.endswith(" …") for text in shown.texts[:-1])
    assert [len(text) for text in shown.texts[:-1]] == sorted({len(text) for text in shown.texts[:-1]})
    assert (shown.kind, len(rows)) == ("words", 1)


async def test_a_preview_of_a_process_that_ended_becomes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
    async with open_chat(tmp_path, FastModel()) as (_, platform):
        await platform.say("hi")
        await asyncio.wait_for(platform.wait("word"), LONG)
    async with open_chat(tmp_path, ScriptedModel(["The end."]), platform=platform):
        await asyncio.wait_for(platform.wait("The end."), LONG)
    (shown,) = platform.in_chat("1")
    assert shown.text.endswith("The end.")


async def test_an_answer_whose_preview_was_taken_away_is_sent_anew_and_never_blindly_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
    model = FastModel()
    adapter = {"capabilities": {"supportsEdits": True}}
    async with open_chat(tmp_path, model, adapter=adapter) as (ship, platform):
        await platform.say("hi")
        await asyncio.wait_for(platform.wait("word"), LONG)
        (key,) = {each.key for each in platform.in_chat("1")}
        # Somebody deletes it, and the answer of the platform to what is sent in its place gets lost.
        platform.shown.clear()
        platform.losses.append(ConnectionResetError("lost"))
        model.is_over.set()
        await asyncio.wait_for(platform.wait("end."), LONG)
    # A platform that knows keys would take the same one for what was deleted.
    assert [each.key == key for each in platform.in_chat("1")] == [False]
    async with open_chat(tmp_path, ScriptedModel([]), adapter=adapter, platform=platform) as (ship, _):
        await ship.keeper.idle()
        (row,) = await ship.store.outbox.list()
        assert (row.status, row.receipt, len(platform.in_chat("1"))) == ("uncertain", None, 1)


async def test_long_answers_come_page_by_page_and_whole_when_asked_for(tmp_path: Path) -> None:
    words = "\n\n".join(f"Paragraph {number}: {'x' * 40}." for number in range(20))
    adapter = {"capabilities": {"supportsFiles": True, "maxFileBytes": 10_000, "maxMessageChars": 300}}
    model = ScriptedModel([words, "Go on with what?"])
    async with open_chat(tmp_path, model, adapter=adapter) as (_, platform):
        await platform.say("tell me")
        await asyncio.wait_for(platform.wait("Paragraph 0", "1 of"), LONG)
        (first,) = platform.in_chat("1")
        assert len(first.text) <= 300
        await platform.say("继续")
        await asyncio.wait_for(platform.wait("— 2 of"), LONG)
        await platform.say("发完整输出")
        while len(platform.shown) < 3:
            await asyncio.wait_for(platform.changed.wait(), LONG)
        whole = platform.in_chat("1")[2]
        assert (whole.filename, whole.content.decode()) == ("answer.md", words)
        assert len(model.requests) == 1
        # Once something else was said, the same words are the member's to answer.
        await platform.say("thanks")
        await asyncio.wait_for(platform.wait("Go on with what?"), LONG)
        assert len(model.requests) == 2


async def test_m8_files_leave_as_attachments_or_say_why_not(tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("small")
    (tmp_path / "large.txt").write_text("x" * 2000)
    adapter = {"capabilities": {"supportsFiles": True, "maxFileBytes": 1000}}
    model = ScriptedModel(
        [[call("send_file", path="small.txt"), call("send_file", path="large.txt")], "Sent."]
    )
    permissions = {"allow": ["send_file(*)"], "mode": "yolo"}
    async with open_chat(tmp_path, model, [SendFile()], adapter=adapter, permissions=permissions) as (
        ship,
        platform,
    ):
        await platform.say("send them")
        await asyncio.wait_for(platform.wait("Sent."), LONG)
        await ship.keeper.idle()
        files = [each for each in platform.in_chat("1") if each.filename]
    assert [(each.filename, each.content) for each in files] == [("small.txt", b"small")]
    # The member is told, and can do otherwise.
    assert "large.txt has 2,000 bytes; memory takes 1,000 at most" in repr(model.requests[-1])


async def test_every_surface_shows_the_same_words_and_the_thread_keeps_what_was_said(tmp_path: Path) -> None:
    said = "<thinking>hm</thinking>Low water is at `<s>` 14:20.<|im_end|>"
    shown = "Low water is at `<s>` 14:20."
    thread_id = ThreadId.parse("memory:dm:1")
    async with open_chat(tmp_path, ScriptedModel([say(said)])) as (ship, platform):
        async with ship.keeper.watch(str(thread_id)) as queue:
            await platform.say("when?")
            await asyncio.wait_for(platform.wait(shown), LONG)
            await ship.keeper.idle()
            told = [queue.get_nowait() for _ in range(queue.qsize())]
        # What a terminal and a page are told while it happens, and what they read afterwards.
        watching = Watching()
        live = [chunk for event in told for chunk in watching.take(event)]
        assert "".join(chunk["delta"] for chunk in live if chunk["type"] == "text-delta") == shown
        thread = await ship.threads.read(thread_id)
        assert write_message(thread.messages[-1]).endswith(f"\n\n{shown}")
        page = await page_of(ship, thread_id, None, 50)
        assert text_of(page.messages[-1]) == shown
    assert [each.text for each in platform.in_chat("1")] == [shown]
    assert text_of(thread.messages[-1]) == said


async def test_files_of_people_are_fetched_and_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    model = ScriptedModel(["Seen."])
    async with open_chat(tmp_path, model) as (ship, platform):
        platform.files["f1"] = b"hello"
        files = (RemoteFile(id="f1", filename="a.txt"), RemoteFile(id="f2", filename="b.txt"))
        await platform.say("look", files=files)
        await asyncio.wait_for(platform.wait("Seen."), LONG)
        thread = await ship.threads.read(ThreadId.parse("memory:dm:1"))
    parts = thread.messages[0]["parts"]
    assert [part["filename"] for part in parts if part["type"] == "file"] == ["a.txt"]
    assert "b.txt could not be fetched" in text_of(thread.messages[0])


async def test_a_limit_holds_up_its_chat_alone_and_keeps_its_order(tmp_path: Path) -> None:
    async with open_chat(tmp_path, ScriptedModel(["one", "two", "three"])) as (_, platform):
        platform.troubles.append(SendLaterError(retry_after=0.3))
        await platform.say("a", user="1")
        await asyncio.wait_for(platform.wait_for_trouble(), LONG)
        await platform.say("b", user="2")
        await asyncio.wait_for(platform.wait("two"), LONG)
        assert platform.in_chat("1") == []
        await asyncio.wait_for(platform.wait("one"), LONG)


async def test_no_answer_is_shown_before_the_one_that_still_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = asyncio.Event()
    model = ScriptedModel(["one", [say("two "), hold(going), say("end")]])
    async with open_chat(tmp_path, model) as (_, platform):
        platform.troubles.append(SendLaterError(retry_after=0.5))
        await platform.say("a")
        await asyncio.wait_for(platform.wait_for_trouble(), LONG)
        monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
        await platform.say("b")
        await asyncio.wait_for(platform.wait("one", "two"), LONG)
        going.set()
        await asyncio.wait_for(platform.wait("end"), LONG)
        assert [each.text for each in platform.in_chat("1")] == ["one", "two end"]


async def test_a_limit_of_the_whole_bot_holds_up_every_chat(tmp_path: Path) -> None:
    async with open_chat(tmp_path, ScriptedModel(["one", "two"])) as (ship, platform):
        platform.troubles += [SendLaterError(retry_after=1000, everywhere=True), RuntimeError("asked anyway")]
        await platform.say("a", user="1")
        while len(platform.troubles) > 1:
            await asyncio.wait_for(platform.changed.wait(), LONG)
        await platform.say("b", user="2")
        await ship.keeper.idle()
    # Nobody asked the platform again.
    assert (len(platform.troubles), platform.shown) == (1, {})


async def test_nobody_knows_is_listed_and_not_repeated(tmp_path: Path) -> None:
    adapter = {"capabilities": {"supportsEdits": True}}
    async with open_chat(tmp_path, ScriptedModel(["one", "two"]), adapter=adapter) as (ship, platform):
        platform.losses.append(ConnectionResetError("lost"))
        await platform.say("a")
        await asyncio.wait_for(platform.wait("one"), LONG)
        await platform.say("b")
        await asyncio.wait_for(platform.wait("two"), LONG)
        assert [each.text for each in platform.in_chat("1")] == ["one", "two"]
        (row,) = await ship.store.outbox.list("uncertain")
        assert (row.message.text, row.error) == ("one", "lost")


async def test_that_a_send_begins_is_on_disk_before_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands: list[list[str]] = []
    send = MemoryAdapter.send

    async def look(adapter: MemoryAdapter, message: OutgoingMessage) -> str:
        stands.append([row.status for row in JournalOutbox(ship.layout, DISK).look()])
        return await send(adapter, message)

    monkeypatch.setattr(MemoryAdapter, "send", look)
    async with open_chat(tmp_path, ScriptedModel(["one", "two"])) as (ship, platform):
        await platform.say("a")
        await asyncio.wait_for(platform.wait("one"), LONG)
        await platform.say("b")
        await asyncio.wait_for(platform.wait("two"), LONG)
    assert stands == [["sending"], ["sent", "sending"]]


async def test_a_key_is_used_again_only_while_the_platform_knows_it(tmp_path: Path) -> None:
    adapter: dict[str, Any] = {"capabilities": {"supportsEdits": True}}
    async with open_chat(tmp_path, ScriptedModel(["one", "two"]), adapter=adapter) as (ship, platform):
        for user, word in (("1", "one"), ("2", "two")):
            platform.losses.append(ConnectionResetError("lost"))
            await platform.say("a", user=user)
            await asyncio.wait_for(platform.wait(word), LONG)
    path = ship.layout.outbox
    rows = {row.message.text: row for row in JournalOutbox(ship.layout, DISK).look()}
    begun = rows["one"].begun_at
    assert begun is not None
    path.write_text(path.read_text().replace(begun, "2026-01-01T00:00:00.000Z"))
    adapter["capabilities"]["keepsKeysSeconds"] = 3600
    async with open_chat(tmp_path, ScriptedModel(["three"]), adapter=adapter, platform=platform) as (ship, _):
        await platform.say("b", user="3")
        await asyncio.wait_for(platform.wait("three"), LONG)
    stands = {row.message.text: row.status for row in JournalOutbox(ship.layout, DISK).look()}
    assert stands == {"one": "uncertain", "two": "sent", "three": "sent"}
    assert len(platform.shown) == 3


async def test_a_preview_whose_key_the_platform_knows_becomes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
    model = FastModel()
    adapter = {"capabilities": {"supportsEdits": True, "keepsKeysSeconds": 3600}}
    async with open_chat(tmp_path, model, adapter=adapter) as (ship, platform):
        platform.losses.append(ConnectionResetError("lost"))
        await platform.say("hi")
        await asyncio.wait_for(platform.wait("word"), LONG)
        model.is_over.set()
        await asyncio.wait_for(platform.wait("end."), LONG)
    (row,) = JournalOutbox(ship.layout, DISK).look()
    # It was asked for, so that nothing has to be looked after.
    assert (row.status, row.has_stray, len(platform.shown)) == ("sent", False, 1)


async def test_where_the_platform_can_be_asked_nothing_is_doubled_or_lost(tmp_path: Path) -> None:
    async with open_chat(tmp_path, ScriptedModel(["one", "two"])) as (ship, platform):
        platform.losses.append(ConnectionResetError("lost"))
        platform.troubles += [None, ConnectionResetError("never came")]
        await platform.say("a")
        await asyncio.wait_for(platform.wait("one"), LONG)
        await platform.say("b")
        await asyncio.wait_for(platform.wait("two"), LONG)
        await ship.keeper.idle()
        assert sorted(each.text for each in platform.in_chat("1")) == ["one", "two"]


async def test_what_is_old_asks_before_it_goes(tmp_path: Path) -> None:
    async with open_chat(tmp_path, ScriptedModel(["old news"])) as (ship, platform):
        platform.troubles += [SendLaterError(retry_after=1000)]
        await platform.say("a")
        await asyncio.wait_for(platform.wait_for_trouble(), LONG)
        (row,) = await ship.store.outbox.open("memory:dm:1")
    path = ship.layout.outbox
    path.write_text(path.read_text().replace(row.created_at, "2026-01-01T00:00:00.000Z"))
    async with open_chat(tmp_path, ScriptedModel([]), platform=platform, delivery={"askAfterMinutes": 1}):
        await asyncio.wait_for(platform.wait("Shall I send them?"), LONG)
        (question,) = platform.in_chat("1")
        await platform.press(question, "Send")
        await asyncio.wait_for(platform.wait("old news", "Sending 1."), LONG)


async def test_commands_are_answered_without_the_member(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("begun"), hold(gate)]])
    async with open_chat(tmp_path, model) as (ship, platform):
        await platform.say("/stop")
        await asyncio.wait_for(platform.wait("Nothing is running"), LONG)
        await platform.say("/help")
        await platform.say("/context")
        await asyncio.wait_for(platform.wait("/approve, /deny", "course 1"), LONG)
        async with until_begun(ship, "memory:dm:1"):
            await platform.say("go")
        await platform.say("/stop")
        await asyncio.wait_for(platform.wait("stopped"), LONG)


async def test_an_edit_before_its_run_counts_and_one_after_does_not(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[hold(gate), say("one")], "two"])
    async with open_chat(tmp_path, model) as (ship, platform):
        async with until_begun(ship, "memory:dm:1"):
            await platform.say("a", message_id="1.a")
        await platform.say("b", message_id="1.b")
        assert (await platform.say("c", message_id="1.b.edit", changes="1.b")).status == "accepted"
        # Delivered again it is known: its platform may not have been told that it arrived.
        assert (await platform.say("c", message_id="1.b.edit", changes="1.b")).status == "repeated"
        assert (await platform.say("z", message_id="1.a.edit", changes="1.a")).status == "ignored"
        gate.set()
        await asyncio.wait_for(platform.wait("two"), LONG)
        thread = await ship.threads.read(ThreadId.parse("memory:dm:1"))
    assert [text_of(each) for each in thread.messages if each["role"] == "user"] == ["a", "c"]


async def test_an_answer_given_in_the_terminal_and_an_expiry_reach_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SWEEP_SECONDS", 0.05)
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Done.", [call("act", mark="y")]])
    async with open_chat(tmp_path, model, [act]) as (ship, platform):
        await platform.say("go")
        await asyncio.wait_for(platform.wait("act"), LONG)
        (approval,) = await ship.approvals.pending()
        event = replace(pressed(approval.id, approved=True), thread_id="memory:dm:1")
        await ship.receive(event)
        await asyncio.wait_for(platform.wait("Done.", "Allowed."), LONG)
        await platform.say("once more")
        await asyncio.wait_for(platform.wait('"y"'), LONG)
        (approval,) = await ship.approvals.pending()
        path = ship.layout.approval(approval.id)
        path.write_text(path.read_text().replace(approval.expires_at, "2026-01-01T00:00:00.000Z"))
        await asyncio.wait_for(platform.wait("Nobody answered in time"), LONG)
        assert platform.in_chat("1")[-1].buttons == ()


async def test_a_question_that_expired_in_a_crash_is_told_of_once_where_nothing_can_be_changed(
    tmp_path: Path,
) -> None:
    plain = {"capabilities": {"supportsEdits": False}}
    model, tools = ScriptedModel([[call("act", mark="y")]]), [Probe("act", acts=True)]
    async with open_chat(tmp_path, model, tools, adapter=plain) as (ship, platform):
        await platform.say("do it")
        await asyncio.wait_for(platform.wait('"y"'), LONG)
        await ship.keeper.idle()
        (approval,) = await ship.approvals.pending()
        path = ship.layout.approval(approval.id)
        path.write_text(path.read_text().replace(approval.expires_at, "2026-01-01T00:00:00.000Z"))
        # Whoever closes it dies before anything is to be sent: only the file of the question tells.
        assert [each.id for each in await ship.approvals.expire()] == [approval.id]
    assert not [each for each in platform.in_chat("1") if "Nobody answered" in each.text]
    for _ in range(2):
        async with open_chat(tmp_path, model, tools, adapter=plain, platform=platform) as (ship, _again):
            await asyncio.wait_for(platform.wait("Nobody answered in time"), LONG)
            await ship.keeper.idle()
    told = [each.text for each in platform.in_chat("1")]
    assert len([text for text in told if "Nobody answered" in text]) == 1
    # It is known for as long as the question is, or it would be told again.
    days = JournalOutbox(ship.layout, DISK, lambda: datetime.now(UTC) + timedelta(days=29))
    assert [row.message.extra.get("closes") for row in await days.list()][-1] == approval.id


async def test_a_process_that_ends_lets_a_send_come_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()
    send = MemoryAdapter.send

    async def slow(adapter: MemoryAdapter, message: OutgoingMessage) -> str:
        begun.set()
        await goes_on.wait()
        return await send(adapter, message)

    monkeypatch.setattr(MemoryAdapter, "send", slow)
    async with open_chat(tmp_path, ScriptedModel(["Hello."])) as (ship, platform):
        await platform.say("hi")
        await begun.wait()
        asyncio.get_running_loop().call_later(0.05, goes_on.set)
    rows = JournalOutbox(ship.layout, DISK).look()
    assert [(row.status, row.receipt) for row in rows] == [("sent", platform.in_chat("1")[0].id)]
