from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from shipmate.context.kept import request_log
from shipmate.context.kept.account import read_account
from shipmate.context.kept.bound import rewrite, sweep
from shipmate.context.kept.kept_file import KeptStep, open_folder, parse_lines, read_kept, write_line
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.layout import Layout
from tests.support.kept import THREAD, build, make_log, said, send
from tests.support.prompt import write_files

DAY = 86_400


def keep(layout: Layout, name: str, *, has_thread: bool = True, days: float = 0, words: str = "hi") -> Path:
    thread_id = ThreadId("web", "room", name)
    layout.threads.mkdir(parents=True, exist_ok=True)
    layout.thread(thread_id).touch()
    make_log(layout.root).write(send(build(layout.root), said(words), thread_id=str(thread_id)))
    if not has_thread:
        layout.thread(thread_id).unlink()
    path = layout.kept_requests(str(thread_id))
    at = time.time() - days * DAY
    os.utime(path, (at, at))
    return path


def clean_up(layout: Layout, megabytes: int = 256) -> None:
    folder = open_folder(layout.kept_requests(THREAD).parent)
    try:
        sweep(layout, ContextSettings(keep_megabytes=megabytes), folder)
    finally:
        os.close(folder)


def test_u5_what_is_old_or_of_no_thread_goes_and_the_bin_keeps(tmp_path: Path) -> None:
    layout = Layout(write_files(tmp_path, Agent="x"))
    young, old, gone = (
        keep(layout, "young"),
        keep(layout, "old", days=31),
        keep(layout, "gone", has_thread=False),
    )
    binned = keep(layout, "binned")
    layout.bin.mkdir()
    layout.thread(ThreadId("web", "room", "binned")).rename(
        layout.thread_bin(ThreadId("web", "room", "binned"))
    )
    half = young.with_name(".half.jsonl.1.ab.tmp")
    half.touch()
    os.utime(half, (0, 0))
    clean_up(layout)
    assert [path.exists() for path in (young, old, gone, binned, half)] == [True, False, False, True, False]
    # The bin is emptied.
    layout.thread_bin(ThreadId("web", "room", "binned")).unlink()
    clean_up(layout)
    assert not binned.exists()


def test_u5_what_is_too_much_goes_the_oldest_first(tmp_path: Path) -> None:
    layout = Layout(write_files(tmp_path, Agent="x"))
    noise = os.urandom(300_000).hex()
    files = [keep(layout, str(number), days=5 - number, words=noise) for number in range(5)]
    clean_up(layout, megabytes=1)
    assert [path.exists() for path in files] == [False, False, False, True, True]
    assert sum(path.stat().st_size for path in files[3:]) <= 1_000_000


def test_u5_old_steps_of_a_thread_that_goes_on_are_dropped(tmp_path: Path) -> None:
    layout = Layout(write_files(tmp_path, Agent="x"))
    path = keep(layout, "1", words="first words")
    lines = [
        msgspec.structs.replace(line, at="2020-01-01T00:00:00.000Z") if isinstance(line, KeptStep) else line
        for line in parse_lines(path.read_bytes())
    ]
    path.write_bytes(b"".join(map(write_line, lines)))
    make_log(tmp_path).write(send(build(tmp_path), said("first words", "then"), "run_2"))
    make_log(tmp_path).write(send(build(tmp_path), said("first words", "then", "now"), "run_3"))
    clean_up(layout)
    kept = read_kept(layout, THREAD)
    assert [step.run_id for step in kept.steps] == ["run_2", "run_3"]
    for place, count in enumerate((2, 3)):
        rows = read_account(kept, place).rows
        assert all(row.is_known for row in rows)
        assert [row.text for row in rows if row.kind == "message"] == ["first words", "then", "now"][:count]


def test_u5_a_long_thread_keeps_its_later_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(write_files(tmp_path, Agent="x"))
    monkeypatch.setattr(request_log, "THREAD_BYTES", 40_000)
    log = make_log(tmp_path)
    talk: list[str] = []
    largest = 0
    for number in range(100):
        talk += [f"question {number}", os.urandom(200).hex()]
        log.write(send(build(tmp_path), said(*talk), f"run_{number}"))
        largest = max(largest, layout.kept_requests(THREAD).stat().st_size)
    # The last step stays, whatever its history takes.
    assert largest < 120_000
    kept = read_kept(layout, THREAD)
    assert kept.steps[-1].run_id == "run_99"
    assert kept.steps[0].run_id != "run_0"
    for place in range(len(kept.steps)):
        assert all(row.is_known for row in read_account(kept, place).rows)
    assert [row.text for row in read_account(kept, len(kept.steps) - 1).of("message")] == talk


def test_u5_a_reader_has_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    layout = Layout(write_files(tmp_path, Agent="x"))
    path = keep(layout, "1")
    with path.open("rb") as reader:
        make_log(tmp_path).write(send(build(tmp_path), said("hi", "ho"), "run_2"))
        before = path.read_bytes()
        folder = open_folder(path.parent)
        rewrite(layout, THREAD, folder, 1)
        os.close(folder)
        assert reader.read() == before
    assert [step.run_id for step in read_kept(layout, THREAD).steps] == ["run_2"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]
