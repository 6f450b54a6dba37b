"""A chained log: whatever is cut, edited, removed or moved shows, and a crash is told from a cut."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipmate.errors import StorageError
from shipmate.store import chain as chain_module
from shipmate.store.chain import Chain
from shipmate.workspace.disk.disk import OsDisk
from tests.support.search import examples
from tests.support.sync import record_syncs


def fill(folder: Path, count: int = 6) -> Chain:
    chain = Chain(folder)
    for number in range(count):
        chain.append({"event": "ran", "what": f"call {number}"})
    return chain


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_log_holds_and_reads_newest_first(tmp_path: Path) -> None:
    chain = fill(tmp_path / "audit")
    assert chain.verify().holds
    assert chain.verify().entries == 6
    assert [entry["what"] for entry in chain.backward()] == [f"call {number}" for number in range(5, -1, -1)]
    assert [entry["seq"] for entry in Chain(tmp_path / "audit").backward()] == [6, 5, 4, 3, 2, 1]


def test_a_log_that_is_not_there_holds(tmp_path: Path) -> None:
    assert Chain(tmp_path / "none").verify().holds
    assert list(Chain(tmp_path / "none").backward()) == []


def test_each_entry_is_on_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = record_syncs(monkeypatch)
    monkeypatch.setattr(chain_module, "FILE_LIMIT", 400)
    chain = Chain(tmp_path / "audit")
    for number in range(5):
        chain.append({"event": "ran", "what": f"call {number}"})
        assert disk.holds(files(tmp_path / "audit")[-1])
    assert disk.holds(tmp_path / "audit" / "head")
    assert len(files(tmp_path / "audit")) > 1


def test_what_was_cut_off_stays_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = fill(tmp_path / "audit", 2)
    (newest,) = files(tmp_path / "audit")
    whole = newest.stat().st_size
    with newest.open("ab") as file:
        file.write(b'{"torn": ')
    sizes: list[int] = []
    monkeypatch.setattr("os.fsync", lambda _: sizes.append(newest.stat().st_size))
    chain.append({"event": "ran", "what": "call 2"})
    assert sizes[0] == whole


def test_files_are_private(tmp_path: Path) -> None:
    fill(tmp_path / "audit", 1)
    assert (tmp_path / "audit").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "audit").iterdir())


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("how", ["edit", "remove", "repeat", "swap", "blank", "reseal"])
def test_every_change_of_a_line_shows_with_its_place(tmp_path: Path, number: int, how: str) -> None:
    chain = fill(tmp_path)
    (path,) = files(tmp_path)
    lines = lines_of(path)
    match how:
        case "edit":
            lines[number] = lines[number].replace(b"call", b"cull")
        case "remove":
            del lines[number]
        case "repeat":
            lines.insert(number, lines[number])
        case "swap":
            other = (number + 1) % 6
            lines[number], lines[other] = lines[other], lines[number]
        case "blank":
            lines[number] = b"\n"
        case _:
            # Whoever edits a line and mends its own hash still breaks the line behind it, or the head.
            entry = msgspec.json.decode(lines[number])
            bare = {key: value for key, value in entry.items() if key not in ("hash", "seq", "prev")}
            link = chain_module.ChainLink(entry["seq"] - 1, entry["prev"])
            lines[number] = chain_module.encode(chain_module.seal({**bare, "what": "x"}, link)) + b"\n"
    path.write_bytes(b"".join(lines))
    for verification in (chain.verify(), Chain(tmp_path).verify()):
        assert not verification.holds
        assert verification.breaks[0].file in (path.name, "head")
    if how == "edit":
        assert str(chain.verify().breaks[0]).startswith(
            f"{path.name}:{number + 1}: entry {number + 1} was changed"
        )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(data=st.data())
def test_every_changed_byte_and_every_cut_shows(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("log")
    fill(folder, 4)
    (path,) = files(folder)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
    else:
        path.write_bytes(whole[:place])
    assert not Chain(folder).verify().holds


def test_a_cut_stays_visible_after_further_entries(tmp_path: Path) -> None:
    fill(tmp_path)
    (path,) = files(tmp_path)
    path.write_bytes(b"".join(lines_of(path)[:4]))
    assert "6 were written" in str(Chain(tmp_path).verify().breaks[0])
    Chain(tmp_path).append({"event": "ran"})
    events = [entry["event"] for entry in Chain(tmp_path).backward()]
    assert events[:2] == ["ran", "broken"]
    (found,) = Chain(tmp_path).verify().breaks
    assert found.line == 5
    assert "entry 7 follows entry 4: 2 missing" in found.message


def test_a_cut_with_its_head_removed_stays_visible(tmp_path: Path) -> None:
    fill(tmp_path)
    (path,) = files(tmp_path)
    path.write_bytes(b"".join(lines_of(path)[:4]))
    (tmp_path / "head").unlink()
    assert not Chain(tmp_path).verify().holds
    Chain(tmp_path).append({"event": "ran"})
    assert not Chain(tmp_path).verify().holds


def test_a_removed_file_shows_whichever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "FILE_LIMIT", 500)
    fill(tmp_path, 9)
    assert len(files(tmp_path)) >= 3
    assert Chain(tmp_path).verify().holds
    assert Chain(tmp_path).verify().entries == 9
    for path in files(tmp_path):
        data = path.read_bytes()
        path.unlink()
        assert not Chain(tmp_path).verify().holds, path.name
        path.write_bytes(data)
    assert Chain(tmp_path).verify().holds


def test_what_hangs_behind_an_older_file_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the newest file can have been cut off by a crash."""
    monkeypatch.setattr(chain_module, "FILE_LIMIT", 500)
    fill(tmp_path, 6)
    first, *_, last = files(tmp_path)
    for path, holds in ((last, True), (first, False)):
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"torn": ')
        assert Chain(tmp_path).verify().holds == holds, path.name
        path.write_bytes(whole)


def test_a_log_written_anew_shows_though_it_is_longer_than_its_head(tmp_path: Path) -> None:
    fill(tmp_path / "log", 3)
    other = Chain(tmp_path / "other")
    for number in range(5):
        other.append({"event": "ran", "what": f"another {number}"})
    (path,), (forged,) = files(tmp_path / "log"), files(tmp_path / "other")
    path.write_bytes(forged.read_bytes())
    (found,) = Chain(tmp_path / "log").verify().breaks
    assert "entry 3 of the log is not the one that was written" in str(found)


def test_a_new_month_begins_a_new_file_in_the_same_chain(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    for at in ("2026-01-31T23:59:59.000Z", "2026-02-01T00:00:00.000Z", "2026-02-02T00:00:00.000Z"):
        chain.append({"event": "ran", "at": at})
    assert [path.name for path in files(tmp_path)] == ["0000000001-2026-01.jsonl", "0000000002-2026-02.jsonl"]
    assert chain.verify().holds


def test_a_line_a_crash_left_unfinished_is_cut_off_and_told(tmp_path: Path) -> None:
    fill(tmp_path)
    (path,) = files(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"at":"2026-')
    found = Chain(tmp_path).verify()
    assert (found.holds, found.torn) == (True, 12)
    Chain(tmp_path).append({"event": "ran"})
    entries = list(Chain(tmp_path).backward())
    assert [entry["event"] for entry in entries[:2]] == ["ran", "mended"]
    assert "12 bytes" in entries[1]["what"]
    assert Chain(tmp_path).verify() == msgspec.structs.replace(found, entries=8, torn=0)


@pytest.mark.parametrize("lag", [1, 3])
def test_a_head_that_lags_as_after_a_crash_is_mended(tmp_path: Path, lag: int) -> None:
    chain = fill(tmp_path, 5)
    head = (tmp_path / "head").read_bytes()
    for _ in range(lag):
        chain.append({"event": "ran"})
    (tmp_path / "head").write_bytes(head)
    assert chain.verify().holds
    chain.append({"event": "ran"})
    assert chain.verify().holds
    assert all(entry["event"] == "ran" for entry in chain.backward())


def test_a_crash_before_the_first_entry_is_no_break(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    (tmp_path / "head").write_text(f"{0:020d} {'0' * 64}\n")
    assert Chain(tmp_path).verify().holds
    assert fill(tmp_path, 2).verify().holds


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_log_that_lost_its_end_and_its_head_does_not_hold(tmp_path: Path, kept: int) -> None:
    fill(tmp_path)
    (path,) = files(tmp_path)
    path.write_bytes(b"".join(lines_of(path)[:kept]))
    (tmp_path / "head").unlink()
    assert not Chain(tmp_path).verify().holds
    assert not fill(tmp_path, 1).verify().holds


def test_an_empty_file_left_by_a_crash_is_used(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    (tmp_path / "0000000003-2026-12.jsonl").touch()
    Chain(tmp_path).append({"event": "ran"})
    assert Chain(tmp_path).verify().holds


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("a file stands here")
    with pytest.raises(StorageError, match="audit"):
        Chain(tmp_path / "audit").append({"event": "ran"})


@pytest.mark.parametrize("when", ["written in part", "written but not synced"])
def test_what_could_not_be_kept_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """An entry that was refused must not stand in the log: what it would have recorded did not run."""
    chain = fill(tmp_path, 2)
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    with monkeypatch.context() as patch:
        if when == "written in part":
            _refuse_beyond(patch, len(whole) + 20)
        else:
            patch.setattr(OsDisk, "fdatasync", _refuse_sync)
        with pytest.raises(StorageError, match="does not run"):
            chain.append({"event": "ran", "what": "call 2"})
    assert path.read_bytes() == whole
    chain.append({"event": "ran", "what": "call 3"})
    assert [entry["what"] for entry in chain.backward()] == ["call 3", "call 1", "call 0"]
    assert chain.verify().holds


def _refuse_beyond(patch: pytest.MonkeyPatch, size: int) -> None:
    """Make writes fail as on a full disk, once a file is longer than this."""
    write = os.write

    def fill_up(handle: int, data: bytes) -> int:
        room = size - os.fstat(handle).st_size
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[:room])

    patch.setattr(os, "write", fill_up)


def _refuse_sync(_disk: OsDisk, _handle: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


def append_many(folder: Path, count: int) -> None:
    for number in range(count):
        Chain(folder).append({"event": "ran", "what": str(number)})


def test_processes_append_to_one_chain(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=append_many, args=(tmp_path / "audit", 25)) for _ in range(3)]
    for process in others:
        process.start()
    for process in others:
        process.join(60)
    found = Chain(tmp_path / "audit").verify()
    assert found.holds
    assert found.entries == 75
