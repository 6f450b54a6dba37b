from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from shipmate.priming.library import Library
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.workspace.layout import Layout
from tests.support.priming_script import Put


@pytest.fixture
def recents(layout: Layout) -> Recents:
    return Recents(layout)


def names(recents: Recents) -> list[str]:
    return [recent.script_ref.rpartition("/")[2] for recent in recents.read("ux")[0]]


def test_the_newest_stands_first_even_within_one_second(recents: Recents) -> None:
    for name in ("b", "a", "c", "b"):
        recents.note("ux", [ScriptRef(None, name)])
    assert names(recents) == ["b", "c", "a"]


def test_twenty_are_kept_and_they_are_the_newest(recents: Recents) -> None:
    for number in range(30):
        recents.note("ux", [ScriptRef(None, f"s{number:02}")])
    assert names(recents) == [f"s{number:02}" for number in range(29, 9, -1)]


def test_the_file_has_the_documented_shape(recents: Recents, layout: Layout) -> None:
    recents.note("ux", [ScriptRef("ux", "a"), ScriptRef(None, "b")])
    file = json.loads(layout.recent_priming("ux").read_text(encoding="utf-8"))
    assert file["version"] == 1
    assert [entry["scriptRef"] for entry in file["entries"]] == ["team_shared/b", "individual/ux/a"]
    assert len(file["entries"][0]["lastUsedAt"]) == len("2026-03-01 09:30:00")


def test_a_list_of_the_origin_is_read_in_its_order(recents: Recents, layout: Layout) -> None:
    path = layout.recent_priming("ux")
    path.parent.mkdir(parents=True)
    entries = [{"scriptRef": f"team_shared/{name}", "lastUsedAt": "2026-01-01 00:00:00"} for name in "ba"]
    path.write_text(json.dumps({"version": 1, "entries": entries}), encoding="utf-8")
    assert names(recents) == ["b", "a"]
    recents.note("ux", [ScriptRef(None, "a")])
    assert names(recents) == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b'{"version": 2, "entries": []}',
        b'{"version": 1, "entries": [{}]}',
        b'{"version": 1, "entries": [{"scriptRef": "../x", "lastUsedAt": ""}]}',
        b" " * 1_048_577,
    ],
    ids=range(8),
)
def test_a_damaged_file_is_reported_and_set_aside(recents: Recents, layout: Layout, content: bytes) -> None:
    path = layout.recent_priming("ux")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    found, problems = recents.read("ux")
    assert found == []
    assert "set aside" in problems[0]
    (aside,) = path.parent.glob("ux.json.damaged-*")
    assert aside.read_bytes() == content
    assert recents.read("ux") == ([], [])


def test_a_use_is_noted_beside_a_damaged_file(recents: Recents, layout: Layout) -> None:
    path = layout.recent_priming("ux")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{")
    assert "set aside" in recents.note("ux", [ScriptRef(None, "a")])[0]
    assert names(recents) == ["a"]


def test_uses_at_once_are_all_kept(recents: Recents) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: recents.note("ux", [ScriptRef(None, f"s{n}")]), range(16)))
    assert sorted(names(recents)) == sorted(f"s{number}" for number in range(16))


def test_p7_a_used_script_that_broke_is_said(recents: Recents, library: Library, put: Put) -> None:
    put("team_shared/bad", body="### user\n")
    recents.note("ux", [ScriptRef(None, "bad"), ScriptRef(None, "gone")])
    listing = recents.list(library, "ux")
    assert (listing.entries, len(listing.problems)) == ([], 1)
    assert "bad.md:1: record 1:" in listing.problems[0]


def test_p7_a_list_that_lies_elsewhere_is_neither_read_nor_written(recents: Recents, layout: Layout) -> None:
    outside = layout.root.with_name(f"{layout.root.name}-outside")
    outside.mkdir()
    (layout.root / ".dialogs").symlink_to(outside)
    assert "leads elsewhere" in recents.note("ux", [ScriptRef(None, "a")])[0]
    found, problems = recents.read("ux")
    assert (found, "leads elsewhere" in problems[0], list(outside.iterdir())) == ([], True, [])


def test_lists_the_scripts_that_still_fit(recents: Recents, library: Library, put: Put) -> None:
    put("team_shared/a", "title: A")
    put("team_shared/theirs", "applicableMemberIds: [other]")
    put("team_shared/bad", body="### user\n")
    for name in ("a", "theirs", "bad", "gone"):
        recents.note("ux", [ScriptRef(None, name)])
    (entry,) = recents.list(library, "ux").entries
    assert (entry.script_ref, entry.title) == ("team_shared/a", "A")
    assert entry.used_at is not None
