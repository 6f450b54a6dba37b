from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.file.change import replace
from shipmate.tools.file.change.replace import replace_bytes
from shipmate.tools.file.confine import locate
from shipmate.tools.file.protection import refuse_writing
from shipmate.tools.file.target import read_state
from tests.support.sync import record_syncs

ROUNDS = 600


@pytest.fixture(params=["exchange", "plain"])
def renaming(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rename as this system does, and as one that cannot exchange two names."""
    if request.param == "plain":
        monkeypatch.setattr(replace, "_call", lambda: None)
    return str(request.param)


def listing(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.usefixtures("renaming")
@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755])
def test_a_file_that_stands_as_read_is_replaced_and_keeps_its_mode(root: Path, mode: int) -> None:
    (root / "a.md").write_bytes(b"old")
    (root / "a.md").chmod(mode)
    with locate(root, "a.md", refuse_writing) as place:
        replace_bytes(place, b"new", read_state(place))
    assert (root / "a.md").read_bytes() == b"new"
    assert stat.S_IMODE((root / "a.md").stat().st_mode) == mode
    assert listing(root) == {"Agent.md", "a.md"}


@pytest.mark.usefixtures("renaming")
def test_a_new_file_takes_a_free_name(root: Path) -> None:
    with locate(root, "deep/a.md", refuse_writing, parents="made") as place:
        replace_bytes(place, b"new", None)
    assert (root / "deep" / "a.md").read_bytes() == b"new"
    assert listing(root / "deep") == {"a.md"}


@pytest.mark.usefixtures("renaming")
def test_what_is_written_is_on_disk_when_the_call_returns(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = record_syncs(monkeypatch)
    (root / "a.md").write_bytes(b"old")
    with locate(root, "a.md", refuse_writing) as place:
        replace_bytes(place, b"newer", read_state(place))
    with locate(root, "deep/er/b.md", refuse_writing, parents="made") as place:
        replace_bytes(place, b"new", None)
    for name in ("a.md", "deep", "deep/er", "deep/er/b.md"):
        assert disk.holds(root / name), name


def change_content(path: Path) -> None:
    path.write_bytes(b"theirs")


def change_to_link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("canary")


def change_to_dangling_link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("nothing")


def change_to_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "inside").write_bytes(b"theirs")


def change_mode(path: Path) -> None:
    path.touch()
    path.chmod(0o711)


def remove(path: Path) -> None:
    path.unlink()


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.mkdir()


def snapshot(root: Path) -> dict[str, tuple[int, bytes | str]]:
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        content: bytes | str = (
            str(path.readlink()) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        )
        found[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return found


@pytest.mark.usefixtures("renaming")
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        change_content, change_to_link, change_to_dangling_link, change_to_folder, change_mode, remove,
        move_folder,
    ],
)  # fmt: skip
def test_c7_what_changed_since_it_was_read_is_left_as_it_is(
    root: Path, change: Callable[[Path], None], is_there: bool
) -> None:
    if change is remove and not is_there:
        pytest.skip("there is nothing to remove")
    (root / "docs").mkdir()
    (root / "docs" / "canary").write_bytes(b"alive")
    if is_there:
        (root / "docs" / "a.md").write_bytes(b"old")
    with locate(root, "docs/a.md", refuse_writing) as place:
        before = read_state(place)
        change(root / "docs" / "a.md")
        standing = snapshot(root)
        with pytest.raises(TargetChangedError):
            replace_bytes(place, b"new", before)
    assert snapshot(root) == standing


def test_c7_a_path_that_leads_elsewhere_than_approved_makes_no_folder(root: Path) -> None:
    (root / "other").mkdir()
    (root / "docs").symlink_to("other")
    with (
        pytest.raises(TargetChangedError),
        locate(root, "docs/deep/a.md", refuse_writing, parents="made", expected="docs/deep/a.md"),
    ):
        pass
    assert listing(root / "other") == set()


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_c7_hammered_with_links_only_the_approved_file_is_ever_written(root: Path, swapped: str) -> None:
    """Swap the target for a link to a canary as fast as possible while approved writes go on."""
    docs, vault = root / "docs", root / "vault"
    docs.mkdir()
    vault.mkdir()
    (vault / "a.md").write_bytes(b"canary")
    (docs / "a.md").write_bytes(b"approved")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            if swapped == "file":
                (root / "trap").symlink_to("../vault/a.md")
                (root / "trap").replace(docs / "a.md")
                (root / "harmless").write_bytes(b"approved")
                (root / "harmless").replace(docs / "a.md")
            else:
                docs.rename(root / "aside")
                docs.symlink_to("vault")
                docs.unlink()
                (root / "aside").rename(docs)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(ROUNDS):
            with (
                suppress(ToolError),
                locate(root, "docs/a.md", refuse_writing, expected="docs/a.md") as place,
            ):
                replace_bytes(place, b"approved", read_state(place))
    finally:
        stop.set()
        thread.join()
    assert (vault / "a.md").read_bytes() == b"canary"
    assert listing(vault) == {"a.md"}
    assert (docs / "a.md").read_bytes() == b"approved"
    with locate(root, "docs/a.md", refuse_writing, expected="docs/a.md") as place:
        replace_bytes(place, b"done", read_state(place))
    assert (docs / "a.md").read_bytes() == b"done"


def test_c7_no_version_somebody_else_wrote_is_lost_unseen(root: Path) -> None:
    """A write that succeeds took the place of the very version it was approved for, never of a newer one."""
    (root / "a.md").write_bytes(b"first")
    stop, written, seen = threading.Event(), list[bytes](), list[bytes]()

    def rewrite() -> None:
        handle = os.open(root, os.O_RDONLY)
        while not stop.is_set():
            written.append(b"theirs-%d" % len(written))
            (root / "next").write_bytes(written[-1])
            # In exchange, so that it shows which version was replaced.
            replace.exchange(handle, "next", "a.md")
            seen.append((root / "next").read_bytes())
        os.close(handle)

    thread = threading.Thread(target=rewrite)
    thread.start()
    taken, ours = list[bytes](), list[bytes]()
    try:
        for number in range(ROUNDS):
            try:
                with locate(root, "a.md", refuse_writing) as place:
                    before = read_state(place, 100)
                    replace_bytes(place, b"ours-%d" % number, before)
            except ToolError:
                continue
            assert before is not None
            taken.append(before.content or b"")
            ours.append(b"ours-%d" % number)
    finally:
        stop.set()
        thread.join()
    lost = set(written) - set(seen) - set(taken) - {(root / "a.md").read_bytes()}
    # Where they replaced a write of ours that was just being taken back, theirs went in place of what it hid.
    hidden = {data for data in seen if data.startswith(b"ours")} - set(ours)
    assert len(taken) == len(set(taken))
    assert len(lost) <= len(hidden)
    assert not any(name.endswith(".tmp") for name in listing(root))
