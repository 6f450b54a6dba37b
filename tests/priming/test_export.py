from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError, PrimingError, StorageError
from shipmate.priming.convert import to_messages
from shipmate.priming.export import ScriptExistsError, save_script, write_file
from shipmate.priming.library import Library
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.parse import read_script
from shipmate.store.transient_store import TransientStore
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

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
    generated = script.frontmatter.pop("generatedAt")
    assert to_messages(script.records) == ROWS[2:]
    assert len(generated) == len("2026-03-01 09:30:00")
    assert script.frontmatter == {
        "kind": "agent_priming_script",
        "version": 3,
        "title": "probe",
        "ownerAgentId": "ux",
        "sourceDialog": {"rootId": str(THREAD), "selfId": str(THREAD), "course": 2, "status": "running"},
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
