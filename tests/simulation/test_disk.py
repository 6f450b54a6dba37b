"""The simulated disk behaves as a disk does: what was synced stays, the rest may not."""

from __future__ import annotations

import errno
import fcntl
import os
import random
from pathlib import Path

import pytest

from shipmate.workspace.disk.disk import append_to, exists, names_in, read_file, replace_file
from tests.simulation.disk import Locks, SimDisk, WouldWaitForeverError
from tests.simulation.volume import Volume

ROOT = Path("/ship")


def make_disk(seed: int = 0) -> tuple[SimDisk, Volume]:
    volume = Volume(random.Random(seed), lambda: 1_000_000_000)
    volume.make(ROOT)
    return SimDisk(volume, Locks(), lambda _call, _path: None), volume


def test_what_was_synced_survives_every_power_cut() -> None:
    for seed in range(50):
        disk, volume = make_disk(seed)
        append_to(disk, ROOT / "a" / "log", b"one\n")
        replace_file(disk, ROOT / "a" / "mark", b"1")
        append_to(disk, ROOT / "a" / "log", b"two\n")
        volume.cut_power()
        assert read_file(disk, ROOT / "a" / "log") == b"one\ntwo\n"
        assert read_file(disk, ROOT / "a" / "mark") == b"1"


def test_what_was_not_synced_is_lost_kept_or_torn() -> None:
    seen: set[bytes] = set()
    for seed in range(200):
        disk, volume = make_disk(seed)
        append_to(disk, ROOT / "log", b"one\n")
        append_to(disk, ROOT / "log", b"two\n", waits=False)
        assert read_file(disk, ROOT / "log") == b"one\ntwo\n"
        volume.cut_power()
        seen.add(read_file(disk, ROOT / "log"))
    assert {b"one\n", b"one\ntwo\n", b"one\ntw"} <= seen


def test_names_need_a_sync_of_their_folder() -> None:
    seen: set[tuple[str, ...]] = set()
    for seed in range(200):
        disk, volume = make_disk(seed)
        for name in ("a", "b"):
            handle = disk.open(ROOT / name, os.O_WRONLY | os.O_CREAT)
            disk.write(handle, b"x")
            disk.fsync(handle)
        volume.cut_power()
        seen.add(tuple(names_in(disk, ROOT)))
    assert seen == {(), ("a",), ("b",), ("a", "b")}


def test_a_rename_happens_whole_or_not_at_all() -> None:
    seen: set[tuple[str, ...]] = set()
    for seed in range(100):
        disk, volume = make_disk(seed)
        replace_file(disk, ROOT / "a" / "x", b"x")
        disk.mkdir(ROOT / "b")
        folder = disk.open(ROOT, os.O_RDONLY)
        disk.fsync(folder)
        disk.rename(ROOT / "a" / "x", ROOT / "b" / "x")
        volume.cut_power()
        seen.add((*names_in(disk, ROOT / "a"), *names_in(disk, ROOT / "b")))
        assert exists(disk, ROOT / "a" / "x") != exists(disk, ROOT / "b" / "x")
    assert seen == {("x",)}


def test_a_failed_sync_leaves_in_doubt_what_a_later_one_does_not_mend() -> None:
    seen: set[bytes] = set()
    for seed in range(100):
        disk, volume = make_disk(seed)
        append_to(disk, ROOT / "log", b"one\n")
        handle = disk.open(ROOT / "log", os.O_RDWR | os.O_APPEND)
        disk.write(handle, b"two\n")
        volume.weather.trouble = 1.0
        with pytest.raises(OSError, match="Input/output error"):
            disk.fsync(handle)
        volume.weather.trouble = 0.0
        disk.fsync(handle)
        volume.cut_power()
        seen.add(read_file(disk, ROOT / "log"))
    assert {b"one\n", b"one\ntwo\n"} <= seen


def test_a_full_disk_refuses_and_a_refused_append_leaves_the_file_as_it_was() -> None:
    disk, volume = make_disk()
    append_to(disk, ROOT / "log", b"one\n")
    volume.weather.is_full = True
    for _ in range(20):
        with pytest.raises(OSError, match="No space") as refused:
            append_to(disk, ROOT / "log", b"two two two\n")
        assert refused.value.errno == errno.ENOSPC
    assert read_file(disk, ROOT / "log") == b"one\n"


def test_locks_end_with_the_process_that_holds_them() -> None:
    first, volume = make_disk()
    locks = Locks()
    first = SimDisk(volume, locks, lambda _call, _path: None)
    second = SimDisk(volume, locks, lambda _call, _path: None)
    held = first.open(ROOT / "lock", os.O_RDWR | os.O_CREAT)
    first.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    wanted = second.open(ROOT / "lock", os.O_RDWR | os.O_CREAT)
    with pytest.raises(BlockingIOError):
        second.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with pytest.raises(WouldWaitForeverError):
        second.flock(wanted, fcntl.LOCK_EX)
    first.end()
    second.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_short_write_takes_a_part() -> None:
    disk, volume = make_disk()
    volume.weather.short = 1.0
    handle = disk.open(ROOT / "log", os.O_RDWR | os.O_CREAT)
    assert 0 < disk.write(handle, b"0123456789") < 10
