"""What is written lasts: a power cut takes only what was not acknowledged."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.workspace.disk.disk import (
    DISK,
    OsDisk,
    append_to,
    create_file,
    cut_torn_tail,
    locked,
    make_folder,
    move_file,
    names_in,
    opened,
    read_file,
    refusals,
    remove_file,
    replace_file,
)
from shipmate.workspace.disk.memory_disk import MemoryDisk
from tests.support.sync import ImpatientDisk, record_syncs


@pytest.fixture(params=["os", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[OsDisk | MemoryDisk, Path]:
    return (OsDisk(), tmp_path / ".ship") if request.param == "os" else (MemoryDisk(), Path("/a/.ship"))


def test_d14_every_new_folder_is_on_disk_with_its_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = record_syncs(monkeypatch)
    path = tmp_path / ".ship" / "threads" / "deep" / "a.jsonl"
    append_to(OsDisk(), path, b"one\n")
    for each in (path, *list(path.parents)[:3]):
        assert disk.holds(each), each


@pytest.mark.parametrize("write", [create_file, replace_file])
def test_d14_a_whole_file_is_on_disk_with_its_name_and_its_new_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[OsDisk, Path, bytes], None]
) -> None:
    disk = record_syncs(monkeypatch)
    path = tmp_path / ".ship" / "marks" / "deep" / "a.json"
    write(OsDisk(), path, b"one")
    for each in (path, *list(path.parents)[:3]):
        assert disk.holds(each), each


def test_d14_a_file_that_was_removed_stays_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = record_syncs(monkeypatch)
    path = tmp_path / ".ship" / "marks" / "a.json"
    replace_file(OsDisk(), path, b"one")
    remove_file(OsDisk(), path)
    assert disk.names(path.parent) == set()


def test_d14_a_file_made_anew_under_an_old_name_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded, disk = record_syncs(monkeypatch), OsDisk()
    path = tmp_path / ".ship" / "inbox.jsonl"
    append_to(disk, path, b"one\n")
    remove_file(disk, path)
    append_to(disk, path, b"two\n")
    assert recorded.holds(path)


def test_d14_a_move_is_on_disk_at_both_ends(tmp_path: Path) -> None:
    source, target = tmp_path / "threads" / "a", tmp_path / "bin" / "a"
    held: dict[Path, list[str]] = {}

    class Recording(OsDisk):
        def fsync(self, handle: int) -> None:
            super().fsync(handle)
            folder = Path(f"/proc/self/fd/{handle}").readlink()
            if folder.is_dir():
                held[folder] = os.listdir(handle)

    disk = Recording()
    replace_file(disk, source, b"x")
    move_file(disk, source, target)
    assert (held[source.parent], held[target.parent]) == ([], ["a"])


def test_d14_what_a_killed_process_made_is_put_on_disk_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a process leaves it that ends between making the names and putting them on disk.
    path = tmp_path / ".ship" / "threads" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    disk = record_syncs(monkeypatch)
    append_to(OsDisk(), path, b"one\n")
    for each in (path, path.parent, path.parent.parent):
        assert disk.holds(each), each


@pytest.mark.parametrize("broken", ["write", "fdatasync"])
def test_a_refused_append_leaves_the_file_as_it_was(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "a.jsonl"
    append_to(DISK, path, b"one\n")

    class Full(OsDisk):
        def write(self, handle: int, data: bytes) -> int:
            if broken == "write":
                super().write(handle, data[:2])
                raise OSError(errno.ENOSPC, "full")
            return super().write(handle, data)

        def fdatasync(self, handle: int) -> None:
            raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match=r"full|broken"):
        append_to(Full(), path, b"two\n")
    assert path.read_bytes() == b"one\n"


def test_a_shared_file_is_appended_to_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_to(DISK, path, b"one\n")
    with locked(DISK, path):
        with pytest.raises(BlockingIOError):
            append_to(ImpatientDisk(), path, b"two\n", is_shared=True)
        with pytest.raises(BlockingIOError), locked(ImpatientDisk(), path):
            pass
    assert path.read_bytes() == b"one\n"


def test_a_write_that_takes_a_part_is_gone_on_with(tmp_path: Path) -> None:
    class Slow(OsDisk):
        def write(self, handle: int, data: bytes) -> int:
            return super().write(handle, data[:3])

    append_to(Slow(), tmp_path / "a", b"several words\n")
    replace_file(Slow(), tmp_path / "b", b"several words\n")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"several words\n"


@pytest.mark.parametrize("size", [0, 10, 65536, 200_000])
def test_a_torn_tail_is_cut_however_long(place: tuple[OsDisk | MemoryDisk, Path], size: int) -> None:
    disk, folder = place
    path = folder / "a.jsonl"
    append_to(disk, path, b"one\ntwo\n")
    with opened(disk, path, os.O_RDWR | os.O_APPEND) as handle:
        disk.write(handle, b"x" * size)
        assert cut_torn_tail(disk, handle) == 8
    assert read_file(disk, path) == b"one\ntwo\n"


def test_a_whole_line_that_lacks_its_newline_gets_one(place: tuple[OsDisk | MemoryDisk, Path]) -> None:
    disk, folder = place
    path = folder / "a.jsonl"
    replace_file(disk, path, b"one\nwhole")
    append_to(disk, path, b"three\n", is_whole=lambda line: line == b"whole")
    assert read_file(disk, path) == b"one\nwhole\nthree\n"


def test_files_are_made_replaced_and_removed_whole(place: tuple[OsDisk | MemoryDisk, Path]) -> None:
    disk, folder = place
    path = folder / "deep" / "a"
    create_file(disk, path, b"first")
    with pytest.raises(FileExistsError):
        create_file(disk, path, b"second")
    assert read_file(disk, path) == b"first"
    replace_file(disk, path, b"third")
    assert names_in(disk, path.parent) == ["a"]
    move_file(disk, path, folder / "bin" / "a")
    assert (names_in(disk, path.parent), read_file(disk, folder / "bin" / "a")) == ([], b"third")
    assert remove_file(disk, folder / "bin" / "a")
    assert not remove_file(disk, folder / "bin" / "a")
    assert names_in(disk, folder / "nowhere") == []


def test_a_replacement_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replace_file(DISK, path, b"old")

    class Broken(OsDisk):
        def rename(self, source: Path, target: Path) -> None:
            raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        replace_file(Broken(), path, b"new")
    assert (path.read_bytes(), names_in(DISK, tmp_path)) == (b"old", ["a"])


def test_folders_and_files_are_their_owners_alone(tmp_path: Path) -> None:
    make_folder(DISK, tmp_path / "a" / "b")
    replace_file(DISK, tmp_path / "a" / "b" / "c", b"")
    assert [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "a", tmp_path / "a" / "b" / "c")] == [
        "0o700",
        "0o600",
    ]


def test_a_refusal_names_the_place_in_the_workspace_and_promises_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".ship" / "x"
    with pytest.raises(StorageError) as caught, refusals(path, tmp_path):
        raise OSError(errno.ENOSPC, "whatever", str(path))
    assert str(caught.value).startswith("cannot use .ship/x: No space left on device.")
    assert str(tmp_path) not in str(caught.value)
    assert "lost" not in str(caught.value)
