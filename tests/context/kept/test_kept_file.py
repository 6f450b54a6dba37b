from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.context.kept.account import list_turns, read_account
from shipmate.context.kept.kept_file import (
    PIECE_LIMIT,
    KeptStep,
    KeptThread,
    PieceLine,
    digest_of,
    parse_lines,
    read_kept,
    unpack,
    write_line,
)
from shipmate.errors import StorageError
from shipmate.workspace.layout import Layout
from tests.support.kept import THREAD

STEP = KeptStep(at="2026-01-01T00:00:00.000Z", run_id="run_1", step=1, model="m", prompt="p", tools="t")


def test_a_thread_of_which_nothing_is_kept_has_no_steps(tmp_path: Path) -> None:
    assert read_kept(Layout(tmp_path), THREAD).steps == []


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "huge", "folder link"])
def test_u5_what_is_no_file_of_ours_is_refused_with_a_line(tmp_path: Path, kind: str) -> None:
    path = Layout(tmp_path).kept_requests(THREAD)
    path.parent.parent.mkdir()
    if kind == "folder link":
        (tmp_path / "else").mkdir()
        (tmp_path / "else" / path.name).touch()
        path.parent.symlink_to(tmp_path / "else")
    else:
        path.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        path.touch()
        os.truncate(path, 10**12)
    with pytest.raises(
        StorageError, match=r"^\.ship/context/web%3Aroom%3A1\.jsonl cannot be read: .* Move it"
    ):
        read_kept(Layout(tmp_path), THREAD)


def test_u5_a_piece_that_unpacks_to_far_more_is_as_good_as_none() -> None:
    bomb = zlib.compress(b"\0" * (PIECE_LIMIT + 1))
    assert len(bomb) < 100_000
    assert unpack(bomb) is None
    assert unpack(zlib.compress(b"words")) == b"words"
    assert unpack(zlib.compress(b"words")[:-5]) is None
    kept = KeptThread([PieceLine(digest_of(b"words"), zlib.compress(b"other"))])
    assert kept.piece(digest_of(b"words")) is None


def test_u5_a_request_of_many_large_pieces_is_refused() -> None:
    data = b" " * (PIECE_LIMIT - 1)
    name = digest_of(data)
    step = msgspec.structs.replace(STEP, messages=[name] * 10)
    with pytest.raises(StorageError, match="more than any"):
        read_account(KeptThread([PieceLine(name, zlib.compress(data)), step]), 0)


@given(st.lists(st.tuples(st.integers(-1, 6), st.lists(st.sampled_from("abc"), max_size=3)), max_size=8))
def test_histories_are_those_the_steps_tell(told: list[tuple[int, list[str]]]) -> None:
    histories: list[list[str]] = []
    steps: list[KeptStep] = []
    for same, messages in told:
        steps.append(msgspec.structs.replace(STEP, same=same, messages=messages))
        before = histories[-1] if histories else []
        if 0 <= same <= len(before):
            histories.append([*before[:same], *messages])
    kept = KeptThread(steps)
    assert [kept.history(place) for place in range(len(kept.steps))] == histories


@given(st.lists(st.binary(max_size=40) | st.just(write_line(STEP)), max_size=6))
def test_whatever_stands_in_the_file_it_can_be_read(pieces: list[bytes]) -> None:
    kept = KeptThread(parse_lines(b"".join(pieces)))
    for turn in list_turns(kept):
        assert read_account(kept, turn.places[0]).rows == []
