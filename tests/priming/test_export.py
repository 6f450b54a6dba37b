from __future__ import annotations

import re
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.errors import NotFoundError, PrimingError, StorageError
from shipmate.priming.convert import to_messages
from shipmate.priming.export import (
    SHARED,
    ScriptExistsError,
    SourceDialog,
    make_script,
    offer_slug,
    save_script,
    write_file,
)
from shipmate.priming.library import Library
from shipmate.priming.pinned import without_pins
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.parse import parse_script, read_script
from shipmate.priming.script.writer import write_script
from shipmate.store.transient_store import TransientStore
from shipmate.thread.log import FileLog
from shipmate.thread.pin import Pin
from shipmate.thread.service import ThreadService
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.priming.test_convert import exact
from tests.support import priming_strategy, thread_strategy
from tests.support.priming_script import Put
from tests.support.search import examples

THREAD = ThreadId("web", "room", "1")


def said(number: int, course: int, role: str = "user") -> UIMessage:
    return {
        "id": f"m{number}",
        "role": role,  # pyright: ignore[reportReturnType]  (given by the tests below)
        "parts": [{"type": "text", "text": f"text {number}\r\n``````\n"}],
        "metadata": {"course": course},
    }


ROWS = [said(1, 1), said(2, 1, "assistant"), said(3, 2, "system"), said(4, 2), said(5, 2, "assistant")]


@pytest.fixture
def threads(layout: Layout) -> ThreadService:
    return ThreadService(FileLog(layout))


@pytest.fixture
async def store() -> AsyncGenerator[TransientStore]:
    store = TransientStore()
    yield store
    await store.close()


@pytest.fixture(autouse=True)
async def _thread(threads: ThreadService, store: TransientStore) -> None:
    await threads.create(THREAD, ROWS)
    await store.threads.create(str(THREAD), member="ux")


async def test_saves_the_current_course(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout
) -> None:
    saved = await save_script(library, threads, store, thread_id=THREAD, slug="deep/probe.md")
    assert (saved.path, saved.script_ref, saved.records) == (
        ".minds/priming/individual/ux/deep/probe.md",
        "individual/ux/deep/probe",
        3,
    )
    script = read_script(layout.root / saved.path)
    source = script.frontmatter.pop("sourceDialog")
    assert to_messages(script.records) == ROWS[2:]
    assert list(source) == ["rootId", "selfId", "course", "status"]
    assert (source["course"], source["status"]) == (2, "running")
    assert re.fullmatch("[0-9a-f]{16}", source["rootId"])
    assert source["rootId"] == source["selfId"]
    assert script.frontmatter == {
        "kind": "agent_priming_script",
        "version": 3,
        "title": "probe",
        "ownerAgentId": "ux",
    }
    # Saving is no use: only a created dialog counts as one.
    assert Recents(layout).read("ux") == ([], [])
    assert [entry.slug for entry in library.list("ux").entries] == ["deep/probe"]


async def test_saves_a_named_course_and_title(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout
) -> None:
    await store.threads.set(str(THREAD), archived=True)
    await save_script(library, threads, store, thread_id=THREAD, slug="a", course=1, title="第一")
    script = read_script(ScriptRef("ux", "a").path(layout))
    assert to_messages(script.records) == ROWS[:2]
    assert (script.title, script.frontmatter["sourceDialog"]["status"]) == ("第一", "archived")
    for course in (0, 3):
        with pytest.raises(NotFoundError, match=f"no course {course}; this thread has 2"):
            await save_script(library, threads, store, thread_id=THREAD, slug="b", course=course)


async def test_p7_a_script_names_no_person_place_run_or_time_unless_it_is_full(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout
) -> None:
    thread_id = ThreadId("telegram", "group", "-100777")
    await threads.create(thread_id, TALK)
    await store.threads.create(str(thread_id), member="ux")
    await store.threads.rename(str(thread_id), "Sail at noon")

    async def save(slug: str, *, full: bool) -> str:
        saved = await save_script(library, threads, store, thread_id=thread_id, slug=slug, full=full)
        return (layout.root / saved.path).read_text("utf-8")

    text = await save("shared", full=False)
    for told in ("4711", "4712", "777", "telegram", "run_", "2026-", "t-1", "toolMs", "generatedAt", "begun"):
        assert told not in text, told
    script = parse_script(text)
    shared = to_messages(script.records)
    assert [message.get("metadata", {}).get("userId") for message in shared] == ["s1", None, "s2", "s1"]
    assert [part for message in shared[:1] for part in message["parts"]] == TALK[0]["parts"]
    assert shared[1]["parts"][:2] == TALK[1]["parts"][:2]
    assert shared[1]["parts"][2]["data"] == {"text": "yes", "userId": "s2"}
    assert shared[1]["id"] == "msg_9"
    assert shared[1].get("metadata") == {"course": 1, "model": "m"}
    assert script.title == "Sail at noon"
    # The same talk gives the same bytes, whenever and under whatever name it is saved.
    assert await save("again", full=False) == text

    full = parse_script(await save("full", full=True))
    assert to_messages(full.records) == TALK
    assert full.frontmatter["sourceDialog"]["rootId"] == str(thread_id)
    assert len(full.frontmatter["generatedAt"]) == len("2026-03-01 09:30:00")


def _said_by(user: str, number: int, **metadata: object) -> UIMessage:
    message_id = f"777-{number}"
    return {
        "id": f"telegram-{message_id}",
        "role": "user",
        "parts": [{"type": "text", "text": f"words {number}"}],
        "metadata": {
            "timestamp": "2026-03-01T09:30:00.000Z",
            "platform": "telegram",
            "userId": user,
            "messageId": message_id,
            "threadId": "telegram:group:-100777",
            "course": 1,
            "runId": "run_9",
            "correlationId": "t-1",
            **metadata,
        },
    }


CALL: JsonObject = {
    "type": "tool-exec",
    "toolCallId": "call_1",
    "state": "output-available",
    "input": {"command": "date"},
    "output": {"code": 0},
}
TALK: list[UIMessage] = [
    _said_by("4711", 1),
    {
        "id": "msg_9",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            CALL,
            {
                "type": "data-reply",
                "id": "reply-telegram-777-8",
                "data": {"text": "yes", "userId": "4712", "runId": "run_9"},
            },
        ],
        "metadata": {
            "timestamp": "2026-03-01T09:30:01.000Z",
            "course": 1,
            "model": "m",
            "runId": "run_9",
            "toolMs": {"call_1": 12},
            "begun": {"call_1": "2026-03-01T09:30:01.000Z"},
        },
    },
    _said_by("4712", 2),
    _said_by("4711", 3),
]


def test_p7_what_the_program_keeps_in_parts_names_nobody() -> None:
    kept: list[JsonObject] = [
        {
            "type": "data-request",
            "id": "request",
            "data": {"thread": "telegram:chat:777", "count": 2, "body": "b4711"},
        },
        {"type": "data-replaced", "id": "replaced", "data": {"by": "msg_10", "key": "telegram-777-9"}},
        {"type": "data-resumed", "data": {"reason": "stopped", "runId": "run_9"}},
    ]
    talk: list[UIMessage] = [_said_by("4711", 1), {"id": "msg_9", "role": "assistant", "parts": kept}]
    shared = _write(talk, full=False)
    for private in ("777", "4711", "run_9"):
        assert private not in shared, private
    back = to_messages(parse_script(shared).records)[1]["parts"]
    assert [part["data"] for part in back] == [
        {"count": 2},
        {"by": "msg_10"},
        {"reason": "stopped"},
    ]
    assert to_messages(parse_script(_write(talk, full=True)).records)[1]["parts"] == kept


def _shared(part: JsonObject) -> JsonObject:
    """Return a part with what an approval says of the talk alone."""
    approval = part.get("approval")
    if not isinstance(approval, dict):
        return part
    answered: JsonObject = approval
    known = ("id", "approved", "reason")
    return {**part, "approval": {key: value for key, value in answered.items() if key in known}}


def test_p7_an_approval_says_what_was_answered_and_nothing_else() -> None:
    answered: JsonObject = {"id": "apr_1", "approved": False, "reason": "not that one"}
    call: JsonObject = {
        "type": "tool-exec",
        "toolCallId": "c1",
        "state": "output-denied",
        "input": {"command": "ls"},
        "approval": {**answered, "by": "4711", "at": "2026-03-01", "chat": {"id": "777"}},
    }
    talk: list[UIMessage] = [_said_by("4711", 1), {"id": "msg_9", "role": "assistant", "parts": [call]}]
    shared = to_messages(parse_script(_write(talk)).records)[1]["parts"][0]
    assert shared["approval"] == answered
    full = to_messages(parse_script(_write(talk, full=True)).records)[1]["parts"][0]
    assert full["approval"] == call["approval"]


@settings(max_examples=examples(40))
@given(priming_strategy.threads, st.booleans())
def test_p7_parts_are_never_lost_and_metadata_stays_in_a_full_script(
    messages: list[UIMessage], full: bool
) -> None:
    spoken: UIMessage = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    thread = [spoken, *messages]
    said = without_pins(thread)
    texts = [_write(thread, full=full) for _ in range(2)]
    back = to_messages(parse_script(texts[0]).records)
    assert exact([[message["id"], message["role"], message["parts"]] for message in back]) == exact(
        [
            [message["id"], message["role"], [part if full else _shared(part) for part in message["parts"]]]
            for message in said
        ]
    )
    if full:
        assert exact(back) == exact(said)
    else:
        assert texts[0] == texts[1]
        assert all(set(message.get("metadata", {})) <= SHARED for message in back)


@settings(max_examples=examples(40))
@given(thread_strategy.threads(), st.integers(1, 9))
def test_p7_a_talk_that_went_on_changes_nothing_of_what_was_saved(
    messages: list[UIMessage], other: int
) -> None:
    """Times, runs and people of another day make no difference to a script."""
    spoken: UIMessage = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hello"}]}

    def lived(day: int) -> list[UIMessage]:
        return [
            {
                **message,
                "metadata": {
                    "course": 1,
                    "timestamp": f"2026-03-0{day}T00:00:00.000Z",
                    "userId": f"person-{day}",
                    "runId": f"run_{day}",
                    f"unheard-of-{day}": day,
                },
            }
            for message in [spoken, *messages]
        ]

    assert _write(lived(1)) == _write(lived(other))


def _write(messages: list[UIMessage], *, full: bool = False) -> str:
    source = SourceDialog(thread_id=THREAD, course=1)
    return write_script(make_script(messages, ScriptRef("ux", "a"), source, full=full))


@pytest.mark.parametrize("full", [False, True])
async def test_secrets_are_masked_wherever_they_stand(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout, full: bool
) -> None:
    layout.env.write_text("SHIP_TOKEN=harbour-of-my-birth\n", encoding="utf-8")
    picture = "data:image/png;base64,AAAA/sk012345678901234/BBBB"
    thread_id = ThreadId("web", "room", "9")
    call = {**CALL, "input": {"harbour-of-my-birth": ["sk-abcdefghijklmnopqrst"]}}
    rows: list[UIMessage] = [
        {
            "id": "u",
            "role": "user",
            "parts": [
                {"type": "text", "text": "harbour-of-my-birth and bearer keyboard-shortcuts"},
                {"type": "text", "text": "keyboard-shortcuts, skip-connections, pkg-config-path"},
                {"type": "file", "mediaType": "image/png", "url": picture},
            ],
        },
        {"id": "a", "role": "assistant", "parts": [call]},
    ]
    await threads.create(thread_id, rows)
    await store.threads.create(str(thread_id), member="ux", title="about harbour-of-my-birth")
    saved = await save_script(library, threads, store, thread_id=thread_id, slug="x", full=full)
    text = (layout.root / saved.path).read_text("utf-8")
    assert "harbour-of-my-birth" not in text
    assert "sk-abcdefghijklmnopqrst" not in text
    said, answered = to_messages(parse_script(text).records)
    assert said["parts"][0]["text"] == "••• and bearer •••"
    # Words that merely begin like a key stay, and so do pictures.
    assert said["parts"][1:] == rows[0]["parts"][1:]
    assert answered["parts"][0]["toolCallId"] == "call_1"


async def test_a_slug_is_offered_that_is_free(library: Library, put: Put) -> None:
    assert offer_slug(library, "ux", "Sail at noon, please!", 1) == "sail-at-noon-please"
    put("individual/ux/sail-at-noon-please")
    put("individual/ux/sail-at-noon-please-2")
    assert offer_slug(library, "ux", "Sail at noon, please!", 1) == "sail-at-noon-please-3"
    assert offer_slug(library, "captain", "晨检", 3) == "course-3"
    assert offer_slug(library, "captain", "a" * 500, 3) == "a" * 40
    assert offer_slug(library, "captain", "../../etc/passwd", 3) == "etc-passwd"


async def test_an_empty_course_is_refused(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout
) -> None:
    empty = ThreadId("web", "room", "2")
    await threads.create(empty, [])
    reset = ThreadId("web", "room", "3")
    await threads.create(reset, [said(1, 1), said(2, 2, "system")])
    for thread_id in (empty, reset):
        with pytest.raises(PrimingError, match="is empty"):
            await save_script(library, threads, store, thread_id=thread_id, slug="a")
    with pytest.raises(NotFoundError):
        await save_script(library, threads, store, thread_id=ThreadId("web", "room", "4"), slug="a")
    assert not layout.priming.exists()


async def test_an_existing_script_is_kept_unless_told_otherwise(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout
) -> None:
    path = ScriptRef("ux", "a").path(layout)
    await save_script(library, threads, store, thread_id=THREAD, slug="a", title="first")
    with pytest.raises(ScriptExistsError, match="--overwrite"):
        await save_script(library, threads, store, thread_id=THREAD, slug="a", title="second")
    assert read_script(path).title == "first"
    await save_script(library, threads, store, thread_id=THREAD, slug="a", title="second", overwrite=True)
    assert read_script(path).title == "second"
    assert [file.name for file in path.parent.iterdir()] == ["a.md"]


@pytest.mark.parametrize("slug", ["", "../x", "/x", "a/../b", "a b", "x\0", "探针"])
async def test_a_bad_slug_is_refused(
    library: Library, threads: ThreadService, store: TransientStore, slug: str
) -> None:
    with pytest.raises(PrimingError, match="slug"):
        await save_script(library, threads, store, thread_id=THREAD, slug=slug)


async def test_a_linked_folder_cannot_lead_out(
    library: Library, threads: ThreadService, store: TransientStore, layout: Layout, tmp_path: Path
) -> None:
    layout.member_priming("ux").mkdir(parents=True)
    (layout.member_priming("ux") / "out").symlink_to(tmp_path)
    with pytest.raises(PrimingError, match="leads out"):
        await save_script(library, threads, store, thread_id=THREAD, slug="out/a")
    (layout.member_priming("ux") / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError):
        await save_script(library, threads, store, thread_id=THREAD, slug="file/a")


def test_of_two_writers_to_one_slug_exactly_one_wins(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def write(number: int) -> bool:
        together.wait()
        try:
            write_file(
                tmp_path / "p" / "a.md", str(number).encode() * 9, ScriptRef(None, "a"), overwrite=False
            )
        except ScriptExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, is_won in enumerate(pool.map(write, range(8))) if is_won]
    assert len(won) == 1
    assert (tmp_path / "p" / "a.md").read_bytes() == str(won[0]).encode() * 9
    assert len(list((tmp_path / "p").iterdir())) == 1


def test_secrets_in_what_is_pinned_are_masked() -> None:
    rows: list[UIMessage] = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]
    source = SourceDialog(thread_id=ThreadId("web", "room", "9"), course=1)
    pins = [Pin(number=1, text="The key is sk-abcdefghijklmnopqrst.", at="")]
    script = make_script(rows, ScriptRef("ux", "x"), source, pins=pins)
    assert [each["content"] for each in script.reminders] == ["The key is •••."]
