"""Follow approvals through their life: asked, answered, confirmed, and still there after a restart."""

from __future__ import annotations

import asyncio
import errno
import multiprocessing
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.approvals.approval_file import ApprovalFiles
from shipmate.approvals.policy.grant import describe_scope
from shipmate.approvals.question import describe
from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Approval, Call, Suggestion
from shipmate.errors import ModelDownError, NotFoundError, StorageError, TargetChangedError
from shipmate.store.file_store import FileStore, open_store
from shipmate.tools.tool import Picture, ToolContext
from shipmate.values.event import Attachment
from shipmate.workspace.config import Permissions
from shipmate.workspace.disk.disk import OsDisk
from shipmate.workspace.layout import Layout
from tests.support.approval import THREAD, AnyArguments, StandIn, make_call, press, say


class Ship:
    """Hold one folder; `service` opens a fresh service over it, as a restart would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = datetime(2100, 3, 1, 12, tzinfo=UTC)
        self.stores: list[FileStore] = []

    def service(
        self, suggest: Any = None, language: str = "en", zone: str = "", **permissions: Any
    ) -> ApprovalService:
        store = open_store(Layout(self.root))
        self.stores.append(store)
        return ApprovalService(
            Layout(self.root),
            Permissions(**permissions),
            store,
            language,
            sandbox_works=lambda: True,
            suggest=suggest,
            zone=zone,
            clock=lambda: self.now,
        )

    def call(self, command: str = "git push", call_id: str = "call-1", **more: Any) -> Call:
        return make_call(self.root, "exec", {"command": command}, call_id=call_id, **more)

    async def ask(self, *commands: str, **permissions: Any) -> list[Approval]:
        service = self.service(**permissions)
        asked: list[Approval] = []
        for number, command in enumerate(commands, 1):
            call = self.call(command, f"call-{number}")
            verdict = await service.judge(call)
            assert verdict.action == "ask"
            asked.append(await service.request(call, verdict))
        return asked

    async def answer(self, text: str, **permissions: Any) -> tuple[dict[str, bool], str, bool]:
        """Say something; give the decisions by call, the words back, and whether it was taken."""
        service = self.service(**permissions)
        answer = await service.answer(say(text), await service.pending(THREAD))
        return {each.call_id: each.approved for each in answer.decisions}, answer.say or "", answer.consumed


@pytest.fixture
async def ship(tmp_path: Path) -> AsyncGenerator[Ship]:
    made = Ship(tmp_path)
    yield made
    for store in made.stores:
        await store.close()


async def test_an_approved_call_is_confirmed_and_no_other(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    call = ship.call()
    assert not await ship.service().confirm(asked.id, call)
    assert await ship.answer("yes") == ({"call-1": True}, "", True)
    service = ship.service()
    assert await service.confirm(asked.id, call)
    assert not await service.confirm(asked.id, ship.call("git push --force"))
    assert not await service.confirm(asked.id, ship.call(call_id="call-2"))
    assert not await service.confirm(asked.id, ship.call(thread_id="telegram:group:8"))
    assert not await service.confirm("apr_unknown", call)


class Moving(StandIn):
    """A tool whose target is another by the time of the answer, and that does not look itself."""

    state = "as shown"

    async def picture(self, arguments: AnyArguments, context: ToolContext) -> Picture:
        return Picture("push", {"state": self.state})


async def test_c7_a_call_whose_target_is_not_as_shown_is_not_confirmed(ship: Ship) -> None:
    tool = Moving("exec")
    call = msgspec.structs.replace(ship.call(), tool=tool)
    service = ship.service()
    asked = await service.request(call, await service.judge(call))
    assert await ship.answer("yes") == ({"call-1": True}, "", True)
    confirmed = await service.confirm(asked.id, call)
    assert confirmed is not None
    assert confirmed.context.expected == {"state": "as shown"}
    tool.state = "another"
    with pytest.raises(TargetChangedError):
        await service.confirm(asked.id, call)


async def test_a_grant_with_private_variables_covers_that_very_call_alone(ship: Ship) -> None:
    raw = {"command": "git fetch", "variables": ["TOKEN"]}
    call = make_call(ship.root, "exec", raw)
    service = ship.service()
    await service.request(call, await service.judge(call))
    await ship.answer("always allow")
    (grant,) = await service.grants()
    assert (grant.pattern, grant.digest) == (None, call.call_digest)
    assert (await service.judge(ship.call("git fetch"))).action == "ask"


async def test_a_denied_call_is_never_confirmed_and_keeps_its_reason(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service()
    answer = await service.answer(say("no, that branch is shared"), await service.pending(THREAD))
    assert [(each.approved, each.reason) for each in answer.decisions] == [(False, "that branch is shared")]
    assert not await service.confirm(asked.id, ship.call())


async def test_the_file_is_kept_with_who_when_where_and_which_words(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service()
    await service.answer(say("可以，谢谢", message_id="m-9"), await service.pending(THREAD))
    stored = msgspec.json.decode(Layout(ship.root).approval(asked.id).read_bytes())
    assert stored["status"] == "approved"
    assert stored["ruling"] == {
        "by": "telegram:ann",
        "at": "2100-03-01T12:00:00.000Z",
        "platform": "telegram",
        "threadId": THREAD,
        "messageId": "m-9",
        "words": "可以，谢谢",
    }
    assert stored["input"] == {"command": "git push"}
    assert [each.id for each in await service.list("approved")] == [asked.id]
    assert (Layout(ship.root).approval(asked.id).stat().st_mode & 0o777) == 0o600


async def test_ordinary_messages_are_never_swallowed(ship: Ship) -> None:
    await ship.ask("git push")
    for text in ("why do you need this?", "可以吗？", "first tell me what it does", "no problem"):
        decisions, words, consumed = await ship.answer(text)
        assert (decisions, consumed) == ({}, False)
        assert words.startswith("Not taken as an answer")
        assert "**yes** or **no**" in words
        assert "\n" not in words
    service = ship.service()
    attached = msgspec.structs.replace(
        say("yes"), attachments=(Attachment(url="file:a", media_type="image/png"),)
    )
    assert not (await service.answer(attached, await service.pending(THREAD))).consumed
    assert len(await service.pending(THREAD)) == 1


async def test_with_nothing_waiting_a_yes_is_an_ordinary_message(ship: Ship) -> None:
    assert await ship.answer("yes") == ({}, "", False)


async def test_several_are_answered_by_number_together_and_by_name(ship: Ship) -> None:
    asked = await ship.ask("git push", "rm -r out", "make test")
    assert [each.number for each in asked] == [1, 2, 3]
    decisions, words, consumed = await ship.answer("yes")
    assert (decisions, consumed) == ({}, True)
    assert "1. `exec`: git push" in words
    assert await ship.answer("2 no") == ({"call-2": False}, "", True)
    decisions, words, _ = await ship.answer("approve 2")
    assert decisions == {}
    assert "number 2" in words
    assert await ship.answer("only make test") == ({"call-1": False, "call-3": True}, "", True)
    assert await ship.service().pending(THREAD) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("approve all", {"call-1": True, "call-2": True, "call-3": True}),
        ("全部拒绝", {"call-1": False, "call-2": False, "call-3": False}),
        ("1 and 3 yes, 2 no", {"call-1": True, "call-2": False, "call-3": True}),
        ("只同意第二个", {"call-1": False, "call-2": True, "call-3": False}),
        ("除了2都同意", {"call-1": True, "call-2": False, "call-3": True}),
        ("deny all except 2", {"call-1": False, "call-3": False}),
        ("approve git push, deny make test", {"call-1": True, "call-3": False}),
        ("1 yes, the rest no", {"call-1": True, "call-2": False, "call-3": False}),
    ],
)
async def test_one_reply_decides_several(ship: Ship, text: str, expected: dict[str, bool]) -> None:
    await ship.ask("git push", "rm -r out", "make test")
    assert (await ship.answer(text))[0] == expected


async def test_a_name_that_fits_several_decides_nothing(ship: Ship) -> None:
    await ship.ask("git push origin a", "git push origin b")
    decisions, words, consumed = await ship.answer("approve git push")
    assert (decisions, consumed) == ({}, True)
    assert "not sure which" in words


async def test_buttons_answer_one_and_a_second_answer_changes_nothing(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service()
    first = await service.answer(press(asked.id, True), [])
    second = await service.answer(press(asked.id, False), [])
    assert [each.approved for each in first.decisions] == [True]
    assert second.decisions == []
    assert second.say is not None
    assert "already approved by telegram:ann" in second.say
    assert await service.confirm(asked.id, ship.call())


async def test_the_same_message_delivered_again_gives_the_same_decisions(ship: Ship) -> None:
    asked = await ship.ask("git push", "make test")
    service = ship.service()
    event = say("approve all", message_id="m-1")
    first = await service.answer(event, await service.pending(THREAD))
    again = await ship.service().answer(event, [])
    assert again.decisions == first.decisions
    assert again.consumed
    pressed = press(asked[0].id, True, message_id="m-1")
    assert (await service.answer(pressed, [])).decisions == first.decisions[:1]


async def test_an_answer_to_several_stands_before_their_files_say_so(
    ship: Ship, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash came between the one step that decides all and the files of each."""

    def crash(*_: object) -> None:
        raise RuntimeError

    asked = await ship.ask("git push", "make test")
    with monkeypatch.context() as patched:
        patched.setattr(ApprovalFiles, "spread", crash)
        with pytest.raises(RuntimeError):
            await ship.answer("approve all")
    service = ship.service()
    late = await service.answer(press(asked[0].id, False), [])
    assert late.decisions == []
    assert "already approved" in (late.say or "")
    assert [(await service.get(each.id)).status for each in asked] == ["approved"] * 2
    assert await service.pending(THREAD) == []
    assert [(await service.get(each.id)).status for each in asked] == ["approved"] * 2


async def test_unknown_foreign_and_expired_ids_are_refused_in_words(ship: Ship) -> None:
    (asked,) = await ship.ask("git push", expires_minutes=10)
    service = ship.service(expires_minutes=10)
    unknown = await service.answer(press("apr_nope", True), [])
    foreign = await service.answer(press(asked.id, True, thread_id="telegram:group:8"), [])
    assert "no question with the id apr_nope" in (unknown.say or "")
    assert "another conversation" in (foreign.say or "")
    ship.now += timedelta(minutes=10)
    late = await service.answer(press(asked.id, True), [])
    assert "nobody answered" in (late.say or "")
    assert [each.decisions for each in (unknown, foreign, late)] == [[], [], []]
    assert await service.pending(THREAD) == []
    assert [each.status for each in await service.list()] == ["expired"]
    assert not await service.confirm(asked.id, ship.call())
    assert [(each.approved, each.reason) for each in await service.decisions_for(THREAD)] == [
        (False, "nobody answered in time")
    ]


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "a" * 400, "\x00", "apr/../x", "%2e%2e"])
async def test_ids_that_are_no_ids_are_unknown(ship: Ship, bad: str) -> None:
    answer = await ship.service().answer(press(bad, True), [])
    assert (answer.decisions, answer.consumed) == ([], True)
    with pytest.raises(NotFoundError):
        await ship.service().get(bad)


async def test_a_button_for_several_decides_nothing_where_one_is_of_another_thread(ship: Ship) -> None:
    (mine,) = await ship.ask("git push")
    service = ship.service()
    call = ship.call("make test", "call-2", thread_id="telegram:group:8")
    other = await service.request(call, await service.judge(call))
    for ids in ((mine.id, other.id), (mine.id, "apr_unknown"), (other.id,)):
        button = msgspec.structs.replace(press("", True), approval_id=None, approval_ids=ids)
        assert (await service.answer(button, [])).decisions == []
    assert [each.id for each in await service.pending()] == [mine.id, other.id]


async def test_a_button_for_several_decides_nothing_where_one_is_decided_or_over(ship: Ship) -> None:
    asked = await ship.ask("git push", "make test")
    service = ship.service()
    ids = tuple(each.id for each in asked)
    button = msgspec.structs.replace(press("", True), approval_id=None, approval_ids=ids)
    await service.answer(press(asked[0].id, False), [])
    answer = await service.answer(button, [])
    assert (answer.decisions, answer.consumed) == ([], True)
    assert [each.id for each in await service.pending()] == [asked[1].id]


async def test_expire_closes_what_nobody_answered(ship: Ship) -> None:
    await ship.ask("git push", expires_minutes=5)
    service = ship.service()
    assert await service.expire() == []
    ship.now += timedelta(minutes=6)
    assert [each.status for each in await service.expire()] == ["expired"]


@pytest.mark.parametrize(
    ("deciders", "user", "platform", "allowed"),
    [
        ("initiator", "ann", "telegram", True),
        ("initiator", "bob", "telegram", False),
        ("initiator", "ann", "feishu", False),
        ("initiator", "root", "telegram", True),
        ("admins", "ann", "telegram", False),
        ("admins", "root", "telegram", True),
        ("admins", "chief", "feishu", True),
        ("admins", "chief", "telegram", False),
        ("anyone", "bob", "telegram", True),
        ("admins", "me", "cli", True),
        ("initiator", "owner", "web", True),
    ],
)
async def test_only_those_who_may_decide_decide(
    ship: Ship, deciders: str, user: str, platform: str, allowed: bool
) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service(deciders=deciders, admins=("root", "feishu:chief"))
    answer = await service.answer(press(asked.id, True, user=user, platform=platform), [])
    assert bool(answer.decisions) == allowed == bool(await service.confirm(asked.id, ship.call()))
    assert allowed or "Nothing has changed" in (answer.say or "")


async def test_an_admins_answer_does_not_make_the_run_theirs(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service(admins=("root",))
    await service.answer(press(asked.id, True, user="root"), [])
    call = ship.call("make test", "call-2", user_id="root")
    again = await service.request(call, await service.judge(call))
    assert (asked.initiators, again.initiators) == (("ann",), ("ann",))


async def test_c20_each_of_those_whose_words_are_in_the_turn_may_decide(ship: Ship) -> None:
    for user, allowed in (("ann", True), ("bob", True), ("carl", False), ("", False)):
        service = ship.service()
        call = ship.call("git push", f"call-{user}", user_id="bob", initiators=("ann", "bob"))
        asked = await service.request(call, await service.judge(call))
        answer = await service.answer(press(asked.id, True, user=user), [])
        assert bool(answer.decisions) == allowed, user


async def test_an_id_of_another_platform_is_not_taken_for_one_of_the_threads(ship: Ship) -> None:
    service = ship.service()
    call = ship.call(initiators=("feishu:ann",))
    asked = await service.request(call, await service.judge(call))
    assert not (await service.answer(press(asked.id, True), [])).decisions
    assert (await service.answer(press(asked.id, True, platform="feishu"), [])).decisions


async def test_files_that_knew_one_initiator_are_still_read(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    path = Layout(ship.root).approval(asked.id)
    stored = msgspec.json.decode(path.read_bytes())
    del stored["initiators"]
    path.write_bytes(msgspec.json.encode({**stored, "initiator": "ann"}))
    assert (await ship.service().get(asked.id)).initiators == ("ann",)
    assert (await ship.answer("yes"))[0] == {"call-1": True}


@pytest.mark.parametrize("deciders", ["initiator", "anyone"])
@pytest.mark.parametrize("platform", ["api", "schedule", "member", "somewhere"])
async def test_c8_what_is_not_shown_somewhere_cannot_be_approved_there(
    ship: Ship, deciders: str, platform: str
) -> None:
    service = ship.service(deciders=deciders, admins=("ann",))
    call = ship.call(thread_id=f"{platform}:user:alice")
    asked = await service.request(call, await service.judge(call))
    for event in (
        say("yes", thread_id=asked.thread_id),
        say("approve all", thread_id=asked.thread_id),
        press(asked.id, True, thread_id=asked.thread_id),
    ):
        answer = await service.answer(event, [asked])
        assert (answer.decisions, answer.consumed) == ([], True)
        assert f"shipmate approvals show {asked.id}" in (answer.say or "")
    refused = await service.answer(say("no", thread_id=asked.thread_id), [asked])
    assert [each.approved for each in refused.decisions] == [False]


async def test_someone_who_may_not_decide_is_not_told_how_to_answer(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    answer = await ship.service().answer(say("lunch anyone?", user="bob"), [asked])
    assert (answer.say, answer.consumed) == (None, False)


async def test_a_spoken_yes_is_put_back_as_a_question(ship: Ship) -> None:
    asked = await ship.ask("git push", "make test")
    service = ship.service()
    spoken = msgspec.structs.replace(say("approve 1"), spoken=True)
    first = await service.answer(spoken, await service.pending(THREAD))
    assert (first.decisions, first.consumed) == ([], True)
    assert "1. `exec`: git push" in (first.say or "")
    again = await service.answer(
        msgspec.structs.replace(say("yes"), spoken=True), await service.pending(THREAD)
    )
    assert again.decisions == []
    await service.answer(spoken, await service.pending(THREAD))
    confirmed = await service.answer(say("yes"), await service.pending(THREAD))
    assert [each.approval_id for each in confirmed.decisions] == [asked[0].id]
    refused = await service.answer(
        msgspec.structs.replace(say("no"), spoken=True), await service.pending(THREAD)
    )
    assert [each.approved for each in refused.decisions] == [False]


@pytest.mark.parametrize(
    ("zone", "words", "until"),
    [
        ("UTC", "allow git status until tomorrow", "2100-03-02T00:00:00.000Z"),
        ("Asia/Shanghai", "allow git status until tomorrow", "2100-03-01T16:00:00.000Z"),
        ("Asia/Shanghai", "今天之内都同意 git status", "2100-03-01T16:00:00.000Z"),
        ("America/New_York", "今天之内都同意 git status", "2100-03-02T05:00:00.000Z"),
        ("UTC", "yes until 11:00", "2100-03-02T11:00:00.000Z"),
        ("UTC", "到13点都同意", "2100-03-01T13:00:00.000Z"),
    ],
)
async def test_points_in_time_are_windows_in_the_workspaces_zone(
    ship: Ship, zone: str, words: str, until: str
) -> None:
    await ship.ask("git status")
    service = ship.service(zone=zone)
    assert (await service.answer(say(words), await service.pending(THREAD))).decisions
    (grant,) = await service.grants()
    assert (grant.expires_at, grant.scope) == (until, "thread")


async def test_u9_a_time_is_said_in_the_zone_of_the_workspace(ship: Ship) -> None:
    await ship.ask("git status")
    service = ship.service(zone="Asia/Shanghai")
    answered = await service.answer(say("yes for 10 minutes"), await service.pending(THREAD))
    assert "Until 2100-03-01 20:10 CST I run `exec(git status)`" in (answered.say or "")


async def test_a_window_that_ends_within_the_minute_still_ends(ship: Ship) -> None:
    ship.now = datetime(2100, 3, 1, 23, 59, 40, tzinfo=UTC)
    await ship.ask("git status")
    service = ship.service(zone="UTC")
    await service.answer(say("yes until tomorrow"), await service.pending(THREAD))
    assert [grant.expires_at for grant in await service.grants()] == ["2100-03-02T00:00:40.000Z"]


async def test_a_suggestion_can_be_stopped(ship: Ship) -> None:
    await ship.ask("git push")
    begun = asyncio.Event()

    async def suggest(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
        begun.set()
        await asyncio.Event().wait()

    service = ship.service(suggest)
    assert not service.stop(THREAD)
    answering = asyncio.ensure_future(service.answer(say("hm"), await service.pending(THREAD)))
    await begun.wait()
    assert not service.stop("telegram:group:8")
    assert service.stop(THREAD)
    answer = await answering
    assert (answer.stopped, answer.consumed, answer.decisions) == (True, False, [])
    assert not service.stop(THREAD)


async def test_words_of_someone_who_may_not_decide_change_nothing(ship: Ship) -> None:
    await ship.ask("git push")
    service = ship.service()
    answer = await service.answer(say("yes", user="bob"), await service.pending(THREAD))
    assert (answer.decisions, answer.consumed) == ([], True)
    assert "Only the person who asked" in (answer.say or "")
    assert not (await service.answer(say("what is this", user="bob"), await service.pending(THREAD))).consumed


async def test_asking_the_same_again_supersedes_the_older_question(ship: Ship) -> None:
    (older,) = await ship.ask("git push")
    service = ship.service()
    call = ship.call(call_id="call-7", message_id="msg-2")
    newer = await service.request(call, await service.judge(call))
    assert [each.id for each in await service.pending(THREAD)] == [newer.id]
    refused = await service.answer(press(older.id, True), [])
    assert "newer question" in (refused.say or "")
    assert (await service.get(older.id)).superseded_by == newer.id
    assert [each.reason for each in await service.decisions_for(THREAD)] == ["something newer took its place"]


async def test_a_crash_while_superseding_leaves_one_question_open(ship: Ship) -> None:
    (older,) = await ship.ask("git push")
    service = ship.service()
    call = ship.call(call_id="call-7", message_id="msg-2")
    newer = await service.request(call, await service.judge(call))
    # As if the process had ended before the older question was closed; the run asks once more.
    path = Layout(ship.root).approval(older.id)
    path.write_bytes(path.read_bytes().replace(b'"superseded"', b'"requested"'))
    await ship.stores[-1].reconcile()
    assert (await service.request(call, await service.judge(call))).id == newer.id
    assert [each.id for each in await service.pending(THREAD)] == [newer.id]


async def test_the_questions_of_a_replaced_message_are_closed(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    await ship.service().supersede(THREAD, "another message")
    assert len(await ship.service().pending(THREAD)) == 1
    await ship.service().supersede(THREAD, asked.message_id)
    assert await ship.service().pending(THREAD) == []


async def test_the_same_call_requested_again_is_the_same_question(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service()
    again = await service.request(ship.call(), await service.judge(ship.call()))
    assert again == asked


async def test_a_window_grants_exactly_the_words_named(ship: Ship) -> None:
    await ship.ask("git status")
    decisions, words, _ = await ship.answer("在 10 分钟内都同意 git status")
    assert decisions == {"call-1": True}
    assert "I run `exec(git status)`" in words
    service = ship.service()
    (grant,) = await service.grants()
    assert (grant.rule, grant.scope, grant.granted_by, grant.words) == (
        "exec(git status)",
        "thread",
        "telegram:ann",
        "在 10 分钟内都同意 git status",
    )
    verdict = await service.judge(ship.call("git status"))
    assert (verdict.action, verdict.grant_id) == ("allow", grant.id)
    for other in ("git status -s", "git push", "git status; id"):
        assert (await service.judge(ship.call(other))).action == "ask"
    assert (await service.judge(ship.call("git status", thread_id="telegram:group:8"))).action == "ask"
    ship.now += timedelta(minutes=10)
    assert await service.grants() == []
    assert (await service.judge(ship.call("git status"))).action == "ask"


@pytest.mark.parametrize("seen_over", [True, False])
async def test_a_clock_that_is_set_back_lengthens_no_window(ship: Ship, seen_over: bool) -> None:
    await ship.ask("git status")
    await ship.answer("allow git status for 10 minutes")
    call, service = ship.call("git status"), ship.service()
    granted = ship.now
    if seen_over:
        ship.now = granted + timedelta(minutes=10)
        assert (await service.judge(call)).action == "ask"
        ship.now = granted + timedelta(minutes=5)
    else:
        ship.now = granted - timedelta(hours=3)
        assert (await service.judge(call)).action == "ask"
        ship.now = granted + timedelta(minutes=1)
    assert (await ship.service().judge(call)).action == "ask"
    assert await service.grants() == []


async def test_a_clock_that_is_set_back_leaves_what_holds_always(ship: Ship) -> None:
    await ship.ask("git status")
    await ship.answer("yes, always")
    ship.now -= timedelta(days=400)
    assert (await ship.service().judge(ship.call("git status"))).action == "allow"


@pytest.mark.parametrize("hours", [-30, 30])
async def test_a_question_closed_as_expired_is_not_opened_by_the_clock(ship: Ship, hours: int) -> None:
    (asked,) = await ship.ask("git push")
    ship.now += timedelta(days=8)
    assert await ship.service().pending(THREAD) == []
    ship.now -= timedelta(days=8, hours=hours)
    assert await ship.answer("yes") == ({}, "", False)
    service = ship.service()
    assert (await service.answer(press(asked.id, True), [])).decisions == []
    assert not await service.confirm(asked.id, ship.call())


async def test_always_holds_in_every_thread_until_revoked(ship: Ship) -> None:
    await ship.ask("git status")
    await ship.answer("yes, always")
    service = ship.service()
    (grant,) = await service.grants()
    assert (grant.scope, grant.expires_at) == ("member", None)
    elsewhere = ship.call("git status", thread_id="web:room:1")
    assert (await service.judge(elsewhere)).action == "allow"
    await service.revoke(grant.id)
    assert (await ship.service().judge(elsewhere)).action == "ask"
    with pytest.raises(NotFoundError):
        await service.revoke(grant.id)


async def test_naming_the_beginning_of_a_command_grants_only_what_was_named(ship: Ship) -> None:
    await ship.ask("git push origin main")
    decisions, _, _ = await ship.answer("allow git push for 10 minutes")
    assert decisions == {"call-1": True}
    service = ship.service()
    assert [grant.rule for grant in await service.grants()] == ["exec(git push)"]
    assert (await service.judge(ship.call("git push"))).action == "allow"
    assert (await service.judge(ship.call("git push origin main"))).action == "ask"


async def test_c11_a_grant_of_what_waits_is_one_of_the_very_call(ship: Ship) -> None:
    """Only such a grant lifts taint: a rule of the same words, or a grant of other words, does not."""
    await ship.ask("git push")
    await ship.answer("allow git push for 10 minutes")
    service = ship.service()
    for command, action in (("git push", "allow"), ("git  push", "ask")):
        tainted = make_call(ship.root, "exec", {"command": command}, tainted=True)
        assert (await service.judge(tainted)).action == action, command


@pytest.mark.parametrize("command", ["git push && ls", "ls *", "echo $HOME", "cd docs"])
async def test_what_needs_a_shell_is_granted_as_that_very_text(ship: Ship, command: str) -> None:
    await ship.ask(command)
    decisions, _, _ = await ship.answer("始终同意")
    assert decisions == {"call-1": True}
    (grant,) = await ship.service().grants()
    assert (grant.pattern, grant.digest) == (None, ship.call(command).call_digest)
    assert (await ship.service().judge(ship.call(command))).action == "allow"
    for other in (f"{command} ", f"{command} x", f"{command}; ls"):
        assert (await ship.service().judge(ship.call(other))).action == "ask"


async def test_what_lies_outside_is_approved_once_and_never_granted(ship: Ship) -> None:
    service = ship.service()
    call = make_call(ship.root, "write", {"path": "../a.md", "content": "x"})
    asked = await service.request(call, await service.judge(call))
    assert describe_scope(asked) is None
    answer = await service.answer(say("always yes"), [asked])
    assert [decision.approved for decision in answer.decisions] == [True]
    assert "will ask again" in (answer.say or "")
    assert await service.grants() == []


async def test_u6_a_scope_that_was_not_offered_is_not_granted(ship: Ship) -> None:
    """A grant of it would stand in the list and let nothing through."""
    deny = ("read(secrets/**)",)
    (asked,) = await ship.ask("grep -r x .", deny=deny)
    assert asked.coverage is None
    service = ship.service(deny=deny)
    answer = await service.answer(press(asked.id, True, scope="always"), [])
    assert [decision.approved for decision in answer.decisions] == [True]
    assert "will ask again" in (answer.say or "")
    assert await service.grants() == []


@pytest.mark.parametrize(
    "words", ["approve `git push` but not `git push origin`", "deny `git push`, approve `git push origin`"]
)
async def test_two_names_of_one_call_that_say_different_things_decide_nothing(ship: Ship, words: str) -> None:
    await ship.ask("git push origin main", "make test")
    decisions, said, consumed = await ship.answer(words)
    assert (decisions, consumed) == ({}, True)
    assert "git push origin main" in said


async def test_what_expired_while_an_answer_was_read_is_not_decided_by_it(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")

    async def take_long(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
        ship.now += timedelta(days=8)
        return Suggestion(False, (asked.id,))

    service = ship.service(take_long)
    answer = await service.answer(say("rather leave it be"), await service.pending(THREAD))
    assert (answer.decisions, answer.consumed) == ([], True)
    assert (await service.list())[0].status == "expired"


async def test_the_same_message_id_of_another_platform_is_another_message(ship: Ship) -> None:
    await ship.ask("git push", "make test")
    service = ship.service()
    first = await service.answer(say("yes to 1", message_id="m-1"), await service.pending(THREAD))
    repeated = await service.answer(say("yes to 1", message_id="m-1"), await service.pending(THREAD))
    assert [each.call_id for each in first.decisions] == ["call-1"]
    assert repeated.decisions == first.decisions
    elsewhere = msgspec.structs.replace(say("yes", message_id="m-1"), platform="cli")
    answer = await service.answer(elsewhere, await service.pending(THREAD))
    assert [each.call_id for each in answer.decisions] == ["call-2"]


async def test_a_scope_says_exactly_what_it_will_cover(ship: Ship) -> None:
    service = ship.service()
    expected = {
        "exec(git  status)": ("exec", {"command": "git  status"}),
        "exec(this very call)": ("exec", {"command": "ls | wc -l"}),
        "write(docs/a.md)": ("write", {"path": "./docs/../docs/a.md", "content": "x"}),
        "web_fetch(this very call)": ("web_fetch", {"url": "https://example.com/a"}),
        "mcp__notes__add(this very call)": ("mcp__notes__add", {"text": "x"}),
    }
    for scope, (tool, arguments) in expected.items():
        call = make_call(ship.root, tool, arguments, tainted=True)
        asked = await service.request(call, await service.judge(call))
        assert describe_scope(asked) == scope


async def test_grants_of_paths_hosts_and_other_tools_are_as_narrow_as_the_call(ship: Ship) -> None:
    service = ship.service()
    calls = [
        make_call(ship.root, "write", {"path": "./docs/../docs/a.md", "content": "x"}, call_id="a"),
        make_call(ship.root, "web_fetch", {"url": "https://example.com/a"}, call_id="b", tainted=True),
        make_call(ship.root, "mcp__notes__add", {"text": "x"}, call_id="c"),
        make_call(ship.root, "exec", {"command": "git fetch", "network": True}, call_id="d"),
    ]
    for call in calls:
        await service.request(call, await service.judge(call))
        await service.answer(say("yes, in this thread"), await service.pending(THREAD))
    assert [grant.pattern for grant in await service.grants()] == ["docs/a.md", None, None, None]
    assert [(await service.judge(call)).action for call in calls] == ["allow"] * 4
    others = [
        make_call(ship.root, "write", {"path": "docs/b.md", "content": "x"}),
        make_call(ship.root, "web_fetch", {"url": "https://example.com/b"}, tainted=True),
        make_call(ship.root, "mcp__notes__add", {"text": "y"}),
        make_call(ship.root, "exec", {"command": "git fetch origin", "network": True}),
        make_call(ship.root, "exec", {"command": "git fetch"}),
    ]
    assert [(await service.judge(call)).action for call in others] == ["ask"] * 5


async def test_a_window_beyond_a_week_changes_nothing(ship: Ship) -> None:
    await ship.ask("git status")
    decisions, words, consumed = await ship.answer("allow git status for 30 days")
    assert (decisions, consumed) == ({}, True)
    assert "at most 7 days" in words


@pytest.mark.parametrize(
    ("scope", "expected"), [("once", []), ("thread", [None]), ("10m", ["2100-03-01T12:10:00.000Z"])]
)
async def test_buttons_carry_a_scope(ship: Ship, scope: str, expected: list[str | None]) -> None:
    (asked,) = await ship.ask("git status")
    service = ship.service()
    assert (await service.answer(press(asked.id, True, scope=scope), [])).decisions
    assert [grant.expires_at for grant in await service.grants()] == expected


async def test_what_cannot_be_shown_whole_cannot_be_approved_in_a_chat(ship: Ship) -> None:
    service = ship.service()
    call = make_call(ship.root, "write", {"path": "a.md", "content": "x" * 20_000})
    asked = await service.request(call, await service.judge(call))
    assert "cannot take a yes here" in describe(asked)
    answer = await service.answer(say("yes"), [asked])
    assert (answer.decisions, answer.consumed) == ([], True)
    assert f"shipmate approvals show {asked.id}" in (answer.say or "")
    # A button in a chat stands below the same few lines.
    assert (await service.answer(press(asked.id, True), [])).decisions == []
    typed = msgspec.structs.replace(say("yes"), platform="cli")
    assert (await service.answer(typed, [asked])).decisions == []
    assert (await service.answer(press(asked.id, True, platform="cli"), [])).decisions
    hidden = make_call(ship.root, "mcp__x__y", {"text": "unshowable"}, call_id="c-2")
    asked = await service.request(hidden, await service.judge(hidden))
    assert (await service.answer(press(asked.id, True, platform="cli"), [])).decisions == []
    assert (await service.answer(press(asked.id, False), [])).decisions


async def test_nobody_is_asked_about_a_call_that_can_only_fail(ship: Ship) -> None:
    verdict = await ship.service().judge(
        make_call(ship.root, "edit", {"path": "a.md", "old": "missing", "new": "x"})
    )
    assert (verdict.action, verdict.reason) == ("deny", "The passage does not stand in the file.")


async def test_words_about_one_approval_that_say_nothing_clear_are_answered(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    answer = await ship.service().answer(press(asked.id, None, text="maybe"), [])
    assert (answer.decisions, answer.consumed) == ([], True)
    assert "Say **yes** or **no**" in (answer.say or "")


async def test_a_suggested_approval_is_confirmed_first_also_after_a_restart(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")

    async def suggest(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
        return Suggestion("fine with it" in text, (asked.id,)) if text != "why?" else None

    service = ship.service(suggest)
    first = await service.answer(say("I am quite fine with it I guess"), await service.pending(THREAD))
    assert (first.decisions, first.consumed) == ([], True)
    assert "Say **yes** and I go ahead" in (first.say or "")
    assert not await service.confirm(asked.id, ship.call())
    restarted = ship.service(suggest)
    second = await restarted.answer(say("yes"), await restarted.pending(THREAD))
    assert [each.approved for each in second.decisions] == [True]


async def test_a_suggestion_is_forgotten_when_something_else_is_said(ship: Ship) -> None:
    asked = await ship.ask("git push", "make test")

    async def suggest(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
        return Suggestion(True, (asked[0].id,)) if "guess" in text else None

    service = ship.service(suggest)
    await service.answer(say("the first, I guess"), await service.pending(THREAD))
    assert not (await service.answer(say("what is the weather"), await service.pending(THREAD))).consumed
    answer = await service.answer(say("yes"), await service.pending(THREAD))
    assert answer.decisions == []


@pytest.mark.parametrize(
    ("words", "user", "approved"),
    [
        ("yes", "ann", ["call-1"]),
        # Only whose words were read so can confirm the reading.
        ("yes", "bob", []),
        # What says more than a plain yes says it for itself.
        ("yes to 2", "ann", ["call-2"]),
        ("yes, always", "ann", []),
    ],
)
async def test_a_suggestion_is_confirmed_by_a_plain_yes_of_the_same_person(
    ship: Ship, words: str, user: str, approved: list[str]
) -> None:
    await ship.ask("git push", "make test")
    service = ship.service(suggest_first, deciders="anyone")
    await service.answer(say("the first, I guess"), await service.pending(THREAD))
    answer = await service.answer(say(words, user=user), await service.pending(THREAD))
    assert [each.call_id for each in answer.decisions if each.approved] == approved
    assert await service.grants() == []


@pytest.mark.parametrize("pressed", ["one", "several"])
async def test_a_suggestion_is_forgotten_when_a_button_was_pressed_in_vain(ship: Ship, pressed: str) -> None:
    asked = await ship.ask("git push", "make test")
    service = ship.service(suggest_first)
    await service.answer(say("the first, I guess"), await service.pending(THREAD))
    # For longer than is allowed, so that it decides nothing.
    button = press(asked[0].id, True, scope="99999m")
    if pressed == "several":
        ids = tuple(each.id for each in asked)
        button = msgspec.structs.replace(button, approval_id=None, approval_ids=ids)
    assert (await service.answer(button, [])).decisions == []
    assert (await service.answer(say("yes"), await service.pending(THREAD))).decisions == []


async def test_a_reading_of_what_cannot_be_shown_is_not_put_back_as_a_question(ship: Ship) -> None:
    service = ship.service(suggest_first)
    call = make_call(ship.root, "write", {"path": "a.md", "content": "x" * 20_000})
    asked = await service.request(call, await service.judge(call))
    answer = await service.answer(say("fine, I guess"), [asked])
    assert (answer.decisions, answer.consumed) == ([], True)
    assert f"shipmate approvals show {asked.id}" in (answer.say or "")
    assert (await service.get(asked.id)).proposed is None


@pytest.mark.parametrize(
    ("text", "user", "read"),
    [("fine, I guess", "ann", 1), ("fine, I guess", "bob", 0), ("fine, I guess " * 30, "ann", 0)],
)
async def test_a_model_reads_only_short_words_of_those_who_may_decide(
    ship: Ship, text: str, user: str, read: int
) -> None:
    asked: list[str] = []

    async def suggest(words: str, waiting: Sequence[Approval]) -> Suggestion | None:
        asked.append(words)
        return Suggestion(True, (waiting[0].id,))

    (question,) = await ship.ask("git push")
    service = ship.service(suggest)
    answer = await service.answer(say(text, user=user), await service.pending(THREAD))
    assert (len(asked), answer.consumed) == (read, bool(read))
    assert ((await service.get(question.id)).proposed is None) == (not read)


async def test_an_answer_is_about_what_waits_when_it_is_read(ship: Ship) -> None:
    asked = await ship.ask("git push", "make test")
    service = ship.service()
    seen_before = await service.pending(THREAD)
    await service.answer(press(asked[0].id, False), [])
    answer = await service.answer(say("yes"), seen_before)
    assert [(each.call_id, each.approved) for each in answer.decisions] == [("call-2", True)]


async def suggest_first(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
    return Suggestion(True, (waiting[0].id,)) if "guess" in text else None


async def test_a_suggested_refusal_counts_at_once_and_a_broken_model_never_does(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")

    async def refuse(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
        return Suggestion(False, (asked.id,))

    async def fail(text: str, waiting: Sequence[Approval]) -> Suggestion | None:
        raise ModelDownError

    broken = ship.service(fail)
    assert not (await broken.answer(say("rather leave it be"), await broken.pending(THREAD))).consumed
    service = ship.service(refuse)
    answer = await service.answer(say("rather leave it be"), await service.pending(THREAD))
    assert [(each.approved, each.reason) for each in answer.decisions] == [(False, "rather leave it be")]


async def test_a_crash_between_file_and_index_loses_nothing(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    service = ship.service()
    approved = await service.answer(say("yes"), await service.pending(THREAD))
    await ship.stores[-1].consents.put_approval(
        asked.id, THREAD, "requested", asked.requested_at, asked.expires_at
    )
    restarted = ship.service()
    assert await restarted.pending(THREAD) == []
    assert await restarted.decisions_for(THREAD) == approved.decisions
    await ship.stores[-1].consents.put_approval(
        "apr_without_file", THREAD, "requested", asked.requested_at, None
    )
    assert await restarted.pending(THREAD) == []


async def test_d4_what_waits_is_known_without_the_index(ship: Ship) -> None:
    asked = await ship.ask("git push", "make test")
    for store in ship.stores:
        await store.close()
    ship.stores.clear()
    for path in ship.root.glob(".ship/state.db*"):
        path.unlink()
    service = ship.service()
    assert [each.id for each in await service.pending()] == [each.id for each in asked]


async def test_a_hundred_restarts_keep_every_question_answerable(ship: Ship) -> None:
    for round_ in range(100):
        call = make_call(ship.root, "exec", {"command": f"make step-{round_}"}, call_id=f"c-{round_}")
        service = ship.service()
        asked = await service.request(call, await service.judge(call))
        await ship.stores.pop().close()
        service = ship.service()
        assert not await service.confirm(asked.id, call)
        assert [each.id for each in await service.pending(THREAD)] == [asked.id]
        approved = round_ % 3 != 0
        event = say("yes" if approved else "不行，先等等") if round_ % 2 else press(asked.id, approved)
        answer = await service.answer(event, await service.pending(THREAD))
        assert [each.approved for each in answer.decisions] == [approved]
        await ship.stores.pop().close()
        service = ship.service()
        assert bool(await service.confirm(asked.id, call)) == approved
        other = make_call(ship.root, "exec", {"command": f"make step-{round_} x"}, call_id=f"c-{round_}")
        assert not await service.confirm(asked.id, other)
        assert (await service.answer(press(asked.id, not approved), [])).decisions == []
        await ship.stores.pop().close()
    assert len(await ship.service().list()) == 100


def _press_in_process(root: str, approval_id: str, approved: bool, results: Any) -> None:
    async def answer() -> int:
        store = open_store(Layout(Path(root)))
        service = ApprovalService(Layout(Path(root)), Permissions(), store)
        given = await service.answer(press(approval_id, approved), [])
        await store.close()
        return len(given.decisions)

    results.put(asyncio.run(answer()))


async def test_answers_from_several_processes_decide_once(tmp_path: Path) -> None:
    ship = Ship(tmp_path)
    ship.now = datetime.now(UTC)
    (asked,) = await ship.ask("git push")
    await ship.stores.pop().close()
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    workers = [
        context.Process(target=_press_in_process, args=(str(tmp_path), asked.id, bool(number % 2), results))
        for number in range(4)
    ]
    for worker in workers:
        worker.start()
    counts = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sorted(counts) == [0, 0, 0, 1]


async def test_a_decision_made_elsewhere_in_the_same_moment_stands(ship: Ship) -> None:
    (asked,) = await ship.ask("git push")
    store = open_store(Layout(ship.root))
    ship.stores.append(store)
    looks: list[datetime] = []

    def clock() -> datetime:
        # The second look at the clock comes after the question was read and before the answer is stored.
        looks.append(ship.now)
        if len(looks) == 2:
            ApprovalFiles(Layout(ship.root)).write(msgspec.structs.replace(asked, status="superseded"))
        return ship.now

    service = ApprovalService(Layout(ship.root), Permissions(), store, clock=clock)
    answer = await service.answer(press(asked.id, True), [])
    assert (answer.decisions, answer.consumed) == ([], True)
    assert not await service.confirm(asked.id, ship.call())


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_reason_and_refusal_has_words_in_both_languages(ship: Ship, language: str) -> None:
    service = ship.service(language=language)
    verdict = await service.judge(ship.call("git push && ls", tainted=True))
    asked = await service.request(ship.call("git push && ls"), verdict)
    text = describe(asked, language)
    assert "git push && ls" in text
    assert verdict.reason in text
    assert ("同意" in text) == (language == "zh")


async def test_d16_a_disk_that_refuses_an_approval_is_told_in_words_without_a_machine_path(
    ship: Ship,
) -> None:
    class Full(OsDisk):
        def write(self, handle: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "full")

    (asked,) = await ship.ask("git push")
    store = open_store(Layout(ship.root))
    ship.stores.append(store)
    service = ApprovalService(Layout(ship.root), Permissions(), store, clock=lambda: ship.now, disk=Full())
    with pytest.raises(StorageError, match=r"cannot use \.ship/approvals/\S+: No space left") as caught:
        await service.answer(press(asked.id, True), [])
    assert str(ship.root) not in str(caught.value)
    # Nothing was decided.
    assert [each.id for each in await ship.service().pending(THREAD)] == [asked.id]
    Layout(ship.root).approval(asked.id).write_text("{")
    with pytest.raises(StorageError, match=r"^\.ship/approvals/\S+ is not a readable approval"):
        await ship.service().get(asked.id)
