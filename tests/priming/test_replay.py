from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from shipmate.app import Shipmate
from shipmate.errors import NotFoundError, PrimingError, StorageError, UserError
from shipmate.models.scripted import ScriptedModel
from shipmate.models.to_model import to_model_messages
from shipmate.priming.convert import to_messages, to_records
from shipmate.priming.library import Library
from shipmate.priming.recent import Recents
from shipmate.priming.replay import NO_RESULT, Priming, build_rows, create_dialog, hides_priming, renumber
from shipmate.priming.script.parse import parse_script, read_script
from shipmate.priming.script.record import Record, Script
from shipmate.priming.script.writer import write_script
from shipmate.store.file_store import open_store
from shipmate.store.transient_store import TransientStore
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.event import TextEvent
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    is_settled,
    metadata_of,
    text_of,
    timestamp,
    tool_parts,
)
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.priming_script import Put, words
from tests.support.priming_strategy import scripts
from tests.support.priming_strategy import threads as any_thread
from tests.support.search import examples

FIXTURES = Path(__file__).parent / "fixtures"
THREAD = ThreadId("web", "room", "1")
CALL = (
    '### record func_call_record\n```json\n{"genseq": 1, "id": "c1", "name": "read", "arguments": {}}\n```\n'
)
RESULT = "### record func_result_record\n```\n---\ngenseq: 1\nid: c1\nname: read\n---\nseen\n```\n"


@pytest.fixture
def threads(layout: Layout) -> ThreadService:
    return ThreadService(FileLog(layout))


@pytest.fixture
async def store() -> AsyncGenerator[TransientStore]:
    store = TransientStore()
    yield store
    await store.close()


def prime(*refs: str, show: bool = True) -> Priming:
    return Priming(script_refs=refs, show_in_ui=show)


async def test_a_dialog_begins_with_the_script(
    library: Library, threads: ThreadService, store: TransientStore, put: Put
) -> None:
    put("team_shared/a", body=words("先做环境探针。", "好的。"))
    dialog = await create_dialog(
        library, threads, store, thread_id=THREAD, member="ux", priming=prime("team_shared/a")
    )
    thread = await threads.read(THREAD)
    assert (dialog.messages, dialog.problems, thread.course) == (2, [], 1)
    assert [(m["role"], m["parts"][0]["text"]) for m in thread.current()] == [
        ("user", "先做环境探针。"),
        ("assistant", "好的。"),
    ]
    for message in thread.messages:
        metadata = metadata_of(message)
        assert (metadata["sourceTag"], metadata["course"], metadata["threadId"]) == (
            "priming_script",
            1,
            str(THREAD),
        )
    info = await store.threads.find(str(THREAD))
    assert info is not None
    assert (info.member, info.message_count, info.title) == ("ux", 2, "先做环境探针。")
    assert not hides_priming(info.settings)
    assert [recent.script_ref for recent in Recents(library.layout).read("ux")[0]] == ["team_shared/a"]
    assert [hit.message_id for hit in await store.search.find("环境探针")] == ["m-1"]


async def test_hidden_priming_is_stored_all_the_same(
    library: Library, threads: ThreadService, store: TransientStore, put: Put
) -> None:
    put("team_shared/a")
    await create_dialog(
        library, threads, store, thread_id=THREAD, priming=prime("team_shared/a", show=False), title="T"
    )
    info = await store.threads.find(str(THREAD))
    assert info is not None
    assert hides_priming(info.settings)
    assert info.settings["priming"] == {"scriptRefs": ["team_shared/a"], "showInUi": False}
    assert (info.title, len((await threads.read(THREAD)).messages)) == ("T", 2)


@pytest.mark.parametrize("given", ["", "Mine"])
async def test_p7_hidden_priming_titles_no_thread(layout: Layout, put: Put, given: str) -> None:
    put("team_shared/a", body=words("secret words", "fine"))
    ship = await Shipmate.open(layout.root, model=ScriptedModel(["It is Linux."]))
    try:
        await create_dialog(
            Library(layout),
            ship.threads,
            ship.store,
            thread_id=THREAD,
            priming=prime("team_shared/a", show=False),
            title=given,
        )
        info = await ship.store.threads.find(str(THREAD))
        assert info is not None
        assert (info.title, info.message_count) == (given, 2)
        event = TextEvent(
            platform="web",
            thread_id=str(THREAD),
            user_id="u",
            message_id="in",
            timestamp=timestamp(),
            text="And now?",
        )
        await (await ship.receive(event)).outcome()
        info = await ship.store.threads.find(str(THREAD))
        assert info is not None
        assert info.title == (given or "And now?")
    finally:
        await ship.close()


async def test_a_dialog_without_scripts_is_empty_and_notes_nothing(
    library: Library, threads: ThreadService, store: TransientStore
) -> None:
    dialog = await create_dialog(library, threads, store, thread_id=THREAD, priming=prime())
    info = await store.threads.find(str(THREAD))
    assert (dialog.messages, info and info.settings) == (0, {})
    assert not library.layout.recent_priming("captain").exists()


@pytest.mark.parametrize(
    ("refs", "error"),
    [
        (("team_shared/good", "team_shared/none"), NotFoundError),
        (("team_shared/good", "team_shared/bad"), PrimingError),
        (("team_shared/good", "individual/other/theirs"), PrimingError),
        (("team_shared/good", "../../etc/passwd"), PrimingError),
    ],
)
async def test_a_failure_leaves_nothing_behind(
    library: Library,
    threads: ThreadService,
    store: TransientStore,
    put: Put,
    refs: tuple[str, ...],
    error: type[Exception],
) -> None:
    put("team_shared/good")
    put("team_shared/bad", body=f"{words('a', 'b')}### user\n")
    put("individual/other/theirs")
    with pytest.raises(error):
        await create_dialog(library, threads, store, thread_id=THREAD, priming=prime(*refs))
    assert not await threads.exists(THREAD)
    assert await store.threads.find(str(THREAD)) is None
    assert not library.layout.recent_priming("captain").exists()


async def test_a_disk_that_refuses_leaves_nothing_behind(
    library: Library, layout: Layout, store: TransientStore, put: Put
) -> None:
    class FullLog(FileLog):
        async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
            raise StorageError

    put("team_shared/a")
    threads = ThreadService(FullLog(layout))
    with pytest.raises(StorageError):
        await create_dialog(library, threads, store, thread_id=THREAD, priming=prime("team_shared/a"))
    assert not await threads.exists(THREAD)
    assert await store.threads.find(str(THREAD)) is None
    assert await store.search.find("hello") == []
    assert Recents(layout).read("captain") == ([], [])


async def test_d11_a_kill_at_any_step_lists_a_primed_thread_with_its_file_or_not_at_all(
    library: Library, layout: Layout, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        """The process ends here."""

    async def killed(*_: object, **__: object) -> None:
        raise KilledError

    put("team_shared/a")
    for step, is_made in (("create", False), ("note", True)):
        store = open_store(layout)
        threads = ThreadService(FileLog(layout))
        with monkeypatch.context() as patch:
            # As a kill leaves it: nothing is taken back.
            patch.setattr(store.threads, "remove", killed)
            patch.setattr(threads if step == "create" else store.threads, step, killed)
            with pytest.raises(KilledError):
                await create_dialog(
                    library, threads, store, thread_id=THREAD, priming=prime("team_shared/a"), title="Mine"
                )
        await store.close()
        later = open_store(layout)
        assert await ThreadService(FileLog(layout)).exists(THREAD) == is_made
        assert [info.title for info in await later.threads.list()] == (["Mine"] if is_made else [])
        await later.close()


async def test_a_long_script_is_replayed_beside_the_loop(
    library: Library, threads: ThreadService, store: TransientStore, put: Put
) -> None:
    put("team_shared/long", body=words("x" * 100_000, "y"))
    dialog = await create_dialog(library, threads, store, thread_id=THREAD, priming=prime("team_shared/long"))
    assert (dialog.messages, len(text_of((await threads.read(THREAD)).messages[0]))) == (2, 100_000)


async def test_an_existing_thread_is_left_alone(
    library: Library, threads: ThreadService, store: TransientStore, put: Put
) -> None:
    put("team_shared/a")
    await create_dialog(library, threads, store, thread_id=THREAD, member="ux", title="mine")
    with pytest.raises(UserError, match="exists already"):
        await create_dialog(library, threads, store, thread_id=THREAD, priming=prime("team_shared/a"))
    info = await store.threads.find(str(THREAD))
    assert info is not None
    assert (info.member, info.title, info.message_count) == ("ux", "mine", 0)


async def test_a_list_of_recents_that_cannot_be_written_is_no_failure(
    library: Library, threads: ThreadService, store: TransientStore, put: Put, tmp_path: Path
) -> None:
    put("team_shared/a")
    (tmp_path / ".dialogs").write_text("in the way", encoding="utf-8")
    dialog = await create_dialog(library, threads, store, thread_id=THREAD, priming=prime("team_shared/a"))
    assert "could not be written" in dialog.problems[0]
    assert await threads.exists(THREAD)


def test_several_scripts_follow_each_other_with_ids_made_distinct() -> None:
    script = parse_script(words("ask", "tell") + CALL + RESULT)
    rows = build_rows([script, script], THREAD)
    assert [row["id"] for row in rows] == ["m-1", "priming-2", "m-1-2", "priming-4"]
    assert [part["toolCallId"] for row in rows for part in tool_parts(row)] == ["c1", "c1-2"]
    records = to_records(rows)
    assert [record.genseq for record in records] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert [record.fields["id"] for record in records if "id" in record.fields] == [
        "c1",
        "c1",
        "c1-2",
        "c1-2",
    ]


def test_generations_are_numbered_on() -> None:
    def numbered(*numbers: int) -> list[Record]:
        return [Record("gen_start_record", {"genseq": number}) for number in numbers]

    first, last = renumber(numbered(3, 7, 3), 0)
    second, end = renumber([*numbered(1, 2), Record("tellask_result_record", {"callSiteGenseq": 2})], last)
    assert [record.genseq for record in first] == [1, 2, 1]
    assert [record.fields for record in second] == [{"genseq": 3}, {"genseq": 4}, {"callSiteGenseq": 4}]
    assert (last, end) == (2, 4)


def test_no_replayed_call_waits_to_be_run() -> None:
    message: UIMessage = {
        "id": "a",
        "role": "assistant",
        "parts": [
            {"type": "tool-exec", "toolCallId": "1", "state": "input-available", "input": {"command": "x"}},
            {
                "type": "tool-exec",
                "toolCallId": "2",
                "state": "approval-responded",
                "input": {},
                "approval": {"id": "ap", "approved": True},
            },
            {
                "type": "tool-exec",
                "toolCallId": "3",
                "state": "output-available",
                "output": 1,
                "preliminary": True,
            },
            {"type": "tool-exec", "toolCallId": "4", "state": "output-denied", "approval": {"id": "b"}},
        ],
        "metadata": {"course": 4, "runId": "r", "userId": "u", "toolMs": {"1": 5}, "kept": True},
    }
    (row,) = build_rows([Script({}, to_records([message]))], THREAD)
    states = [(part["state"], part.get("errorText"), "approval" in part) for part in row["parts"]]
    assert states == [
        ("output-error", NO_RESULT, False),
        ("output-error", NO_RESULT, False),
        ("output-available", None, False),
        ("output-denied", None, True),
    ]
    metadata = metadata_of(row)
    assert (metadata["course"], metadata["toolMs"], metadata["kept"]) == (1, {"1": 5}, True)
    assert not {"runId", "userId"} & set(metadata)


@pytest.mark.parametrize(
    "besides", [{"title": "T"}, {"preliminary": True}, {"approval": {"id": "a", "approved": True}}]
)
@pytest.mark.parametrize(
    ("ending", "state", "said"),
    [({}, "output-available", "sunny"), ({"uiResult": "error"}, "output-error", "sunny")],
)
def test_p3_a_call_whose_part_says_no_state_is_told_with_its_result(
    besides: JsonObject, ending: JsonObject, state: str, said: str
) -> None:
    records = [
        Record("human_text_record", {"genseq": 1, "msgId": "m", "grammar": "markdown", "content": "look"}),
        Record(
            "func_call_record",
            {"genseq": 1, "id": "c", "name": "look", "rawArgumentsText": "{}"},
            {"uiPart": besides},
        ),
        Record("func_result_record", {"genseq": 1, "id": "c", "name": "look", "content": said}, ending),
    ]
    row = build_rows([Script({}, records)], THREAD)[-1]
    (part,) = [part for part in row["parts"] if part["type"] == "tool-look"]
    assert (part["state"], part.get("output", part.get("errorText"))) == (state, said)


@settings(max_examples=examples(40))
@given(scripts, any_thread)
def test_any_script_replays_into_rows_a_thread_can_hold(
    records: list[Record], messages: list[UIMessage]
) -> None:
    native = to_records(messages)
    parts = [Script({}, records), *([Script({}, native)] if native else []), Script({}, records)]
    rows = build_rows(parts, THREAD)
    ids = [row["id"] for row in rows]
    calls: list[Any] = [part["toolCallId"] for row in rows for part in tool_parts(row)]
    assert len(set(ids)) == len(ids)
    assert len(set(calls)) == len(calls)
    assert all(is_settled(part) for row in rows for part in tool_parts(row))
    assert msgspec.json.decode(msgspec.json.encode(rows)) == rows
    assert to_messages(to_records(rows)) == rows


@pytest.mark.parametrize("key", ["replacedBy", "guides"])
async def test_p3_no_key_of_a_script_keeps_from_the_model_what_it_shows(
    layout: Layout, threads: ThreadService, key: str
) -> None:
    """A message called replaced stays in view, and a guide said to be told is told all the same."""
    metadata = {key: {"docs/AGENTS.md": "c1"} if key == "guides" else "u2", "model": "m"}
    messages: list[UIMessage] = [
        {"id": "u1", "role": "user", "metadata": metadata, "parts": [{"type": "text", "text": "Mind this."}]},
        {"id": "a1", "role": "assistant", "metadata": metadata, "parts": [{"type": "text", "text": "Aye."}]},
    ]
    script = parse_script(write_script(Script({}, to_records(messages))))
    await threads.create(THREAD, build_rows([script], THREAD))
    thread = await threads.read(THREAD)
    assert [text_of(message) for message in thread.history()] == ["Mind this.", "Aye."]
    assert all(key not in metadata_of(message) for message in thread.messages)
    assert all(metadata_of(message)["model"] == "m" for message in thread.messages)


def test_a_role_no_thread_knows_is_refused() -> None:
    text = words("a", "b").replace("msgId: m-1", 'msgId: m-1\nuiMessage: {"id": "x", "role": "tool"}')
    with pytest.raises(PrimingError, match="'tool'"):
        build_rows([parse_script(text)], THREAD)


def test_the_request_is_read_strictly() -> None:
    read = msgspec.convert({"scriptRefs": ["team_shared/a"], "showInUi": False}, Priming)
    assert (read.script_refs, read.show_in_ui) == (("team_shared/a",), False)
    for wrong in ({"scriptRefs": []}, {"scriptRefs": "a", "showInUi": True}, {"showInUi": True}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, Priming)


@pytest.mark.parametrize("show", [True, False])
async def test_the_model_sees_what_was_replayed_shown_or_not(layout: Layout, put: Put, show: bool) -> None:
    put("team_shared/a", body=words("先做环境探针。", "好的。") + CALL + RESULT)
    model = ScriptedModel(["It is Linux."])
    ship = await Shipmate.open(layout.root, model=model)
    try:
        priming = prime("team_shared/a", show=show)
        await create_dialog(Library(layout), ship.threads, ship.store, thread_id=THREAD, priming=priming)
        event = TextEvent(
            platform="web",
            thread_id=str(THREAD),
            user_id="u",
            message_id="in",
            timestamp=timestamp(),
            text="And now?",
        )
        outcome = await (await ship.receive(event)).outcome()
        assert (outcome.status, outcome.text) == ("replied", "It is Linux.")
        assert [text_of(message) for message in model.requests[0].messages][:3] == [
            "先做环境探针。",
            "好的。",
            "And now?",
        ]
        assert (await ship.threads.read(THREAD)).course == 1
    finally:
        await ship.close()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("**/accept/*.md")), ids=lambda path: path.name)
def test_every_fixture_becomes_a_request_a_provider_takes(path: Path) -> None:
    rows = build_rows([read_script(path)], THREAD)
    sent = repr(to_model_messages(rows))
    assert "data-priming" not in sent
    for row in rows:
        for part in row["parts"]:
            if part["type"] == "text" and part["text"].strip():
                assert repr(part["text"].strip())[1:-1] in sent


def test_what_was_not_final_is_so_in_a_new_thread_and_times_go_with_their_calls() -> None:
    part = {"type": "tool-exec", "toolCallId": "1", "state": "output-available", "input": {}, "output": 1}
    message: UIMessage = {
        "id": "a",
        "role": "assistant",
        "parts": [{**part, "preliminary": True}],
        "metadata": {"toolMs": {"1": 5}},
    }
    script = Script({}, to_records([message]))
    first, second = build_rows([script, script], THREAD)
    assert [
        each["preliminary"] for row in (first, second) for each in tool_parts(row) if "preliminary" in each
    ] == []
    assert [metadata_of(row)["toolMs"] for row in (first, second)] == [{"1": 5}, {"1-2": 5}]
