from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.workspace.file import READ_LIMIT, TAIL, FileCache, FileText
from tests.support.search import examples


def test_gives_the_same_text_until_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "SOUL.md"
    path.write_text("one")
    files = FileCache(tmp_path)
    assert files.read(path).text == "one"
    path.write_text("two")
    assert files.read(path).text == "two"
    path.write_text("six")
    assert files.read(path).text == "six"


def test_notices_deletion_and_return(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    files = FileCache(tmp_path)
    assert files.read(path).is_missing
    path.write_text("here")
    assert files.read(path).text == "here"
    path.unlink()
    assert files.read(path).is_missing


def test_reads_an_old_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipmate.workspace.file.YOUNG_NS", 0)
    path = tmp_path / "a.md"
    path.write_text("here")
    files = FileCache(tmp_path)
    assert files.read(path) is files.read(path)
    made: list[FileText] = []
    files.make(path, "count", made.append)
    files.make(path, "count", made.append)
    assert len(made) == 1


def test_lists_a_folder_anew_when_it_changes(tmp_path: Path) -> None:
    files = FileCache(tmp_path)
    assert files.names(tmp_path / "skills") == ()
    (tmp_path / "skills" / "b").mkdir(parents=True)
    (tmp_path / "skills" / "a").mkdir()
    assert files.names(tmp_path / "skills") == ("a", "b")
    (tmp_path / "skills" / "c").mkdir()
    assert files.names(tmp_path / "skills") == ("a", "b", "c")


@pytest.mark.parametrize(
    ("data", "text", "problem"),
    [
        (b"", "", "empty"),
        (b" \n", " \n", "empty"),
        (b"\x89PNG\0\0", "", "binary"),
        ("caf\u00e9".encode("latin-1"), "caf\ufffd", "not UTF-8 at byte 3"),
        ("\ufeffhi".encode(), "hi", ""),
        ("hi".encode("utf-16"), "hi", "UTF-16"),
    ],
)
def test_says_what_is_wrong_with_a_file(tmp_path: Path, data: bytes, text: str, problem: str) -> None:
    (tmp_path / "a.md").write_bytes(data)
    found = FileCache(tmp_path).read(tmp_path / "a.md")
    assert found.text == text
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)


def test_never_waits_for_a_pipe_nor_reads_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    files = FileCache(tmp_path)
    assert "not a file" in files.read(tmp_path / "pipe.md").problem
    assert "cannot be read" in files.read(tmp_path / "folder.md").problem


def test_follows_links_only_inside_the_root(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "secret").write_text("key")
    (root / "inside.md").write_text("fine")
    (root / "good.md").symlink_to("inside.md")
    (root / "bad.md").symlink_to(tmp_path / "secret")
    (root / "gone.md").symlink_to("nowhere")
    files = FileCache(root)
    assert files.read(root / "good.md").text == "fine"
    assert files.read(root / "bad.md").text == ""
    assert "outside the workspace" in files.read(root / "bad.md").problem
    assert "leads nowhere" in files.read(root / "gone.md").problem
    (root / "gone.md").unlink()
    assert files.read(root / "gone.md").is_missing


def test_accepts_a_root_that_is_itself_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "a.md").write_text("fine")
    assert FileCache(tmp_path / "link").read(tmp_path / "link" / "a.md").text == "fine"


def test_survives_names_no_file_system_takes(tmp_path: Path) -> None:
    files = FileCache(tmp_path)
    assert files.read(tmp_path / ("x" * 5000)).is_missing
    assert files.read(f"{tmp_path}/a\0b").is_missing


@settings(max_examples=examples(40))
@given(pad=st.integers(0, 3), character=st.sampled_from("aé中😀"))
def test_reads_both_ends_of_a_huge_file_without_splitting_a_character(
    tmp_path_factory: pytest.TempPathFactory, pad: int, character: str
) -> None:
    folder = tmp_path_factory.mktemp("huge")
    path = folder / "MEMORY.md"
    path.write_text("x" * pad + character * ((READ_LIMIT + TAIL) // len(character.encode())))
    found = FileCache(folder).read(path)
    assert "\ufffd" not in found.text
    assert "both ends" in found.problem
    assert found.text.startswith("x" * pad + character)
    assert found.text.endswith(character)
    assert len(found.text.encode()) < READ_LIMIT + 200


def test_a_file_written_twice_in_one_tick_of_the_clock_is_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = time.time_ns()

    def stamp(place: str) -> tuple[int, int, int, int]:
        return (moment, moment, 3, 1)

    monkeypatch.setattr("shipmate.workspace.file._stamp", stamp)
    monkeypatch.setattr("shipmate.workspace.file.YOUNG_NS", 60_000_000_000)
    path = tmp_path / "a.md"
    files = FileCache(tmp_path)
    path.write_text("one")
    assert files.read(path).text == "one"
    path.write_text("two")
    assert files.read(path).text == "two"
