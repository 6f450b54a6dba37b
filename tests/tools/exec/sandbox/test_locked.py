from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

import pytest

from shipmate.tools.exec.sandbox import locked
from shipmate.tools.exec.sandbox.locked import LockedTree, closed_places, hidden_places, state_folders
from shipmate.tools.file.protection import is_locked, refuse_reading

NAMES = [
    "a", "b", ".git", ".env", "ship.json", ".vscode", "Agent.md", "members", "projects", "meta.json", ".ship",
    "scratch", ".env.example", ".GitHub",
]  # fmt: skip


def expected(folder: Path, root: Path, *, is_closed: bool = False) -> set[str]:
    """Return the outermost locked paths, and the hidden ones in them, by walking everything anew."""
    found: set[str] = set()
    for path in folder.iterdir():
        parts = path.relative_to(root).parts
        is_hidden = refuse_reading(parts) is not None
        locks = is_hidden or (is_locked(parts) and not is_closed)
        if locks:
            found.add(str(path))
        if path.is_symlink() or not path.is_dir() or path.name == ".git":
            continue
        if path.name == ".ship":
            if (path / "scratch").is_dir():
                found |= expected(path / "scratch", path.parent)
        elif not is_hidden:
            found |= expected(path, root, is_closed=is_closed or locks)
    return found


def change(root: Path, chance: random.Random) -> None:
    """Make, remove, move or replace something."""
    folders = [Path(folder) for folder, _, _ in os.walk(root)]
    place = chance.choice(folders) / chance.choice(NAMES)
    other = chance.choice(folders) / chance.choice(NAMES)
    try:
        match chance.randrange(6):
            case 0:
                place.mkdir()
            case 1:
                place.write_text("x")
            case 2:
                place.rename(other)
            case 3:
                place.unlink()
            case 4:
                shutil.rmtree(place)
                place.mkdir()
                (place / chance.choice(NAMES)).mkdir()
            case _:
                place.symlink_to(other)
    except OSError:
        return


@pytest.mark.parametrize("watched", [0, sys.maxsize], ids=["told by the kernel", "asked for each"])
@pytest.mark.parametrize("seed", range(12))
def test_after_any_changes_all_that_is_locked_is_found(
    root: Path, monkeypatch: pytest.MonkeyPatch, watched: int, seed: int
) -> None:
    monkeypatch.setattr(locked, "WATCHED_FOLDERS", watched)
    chance = random.Random(seed)
    tree = LockedTree(root)
    for _ in range(40):
        for _ in range(chance.randrange(1, 8)):
            change(root, chance)
        assert {entry.path for entry in tree.look()} == expected(root, root)


def test_a_time_stamp_set_back_hides_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "WATCHED_FOLDERS", sys.maxsize)
    monkeypatch.setattr(locked, "SETTLING_NS", 0)
    (root / "sub").mkdir()
    tree = LockedTree(root)
    tree.look()
    before = (root / "sub").stat()
    (root / "sub/.git").mkdir()
    os.utime(root / "sub", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert str(root / "sub/.git") in {entry.path for entry in tree.look()}


def test_too_many_changes_to_be_told_are_asked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "WATCHED_FOLDERS", 0)
    (root / "sub").mkdir()
    tree = LockedTree(root)
    tree.look()
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit // 2 + 10):
        (root / f"{number % 2}").touch()
        (root / f"{number % 2}").unlink()
    (root / "sub/.env").touch()
    assert str(root / "sub/.env") in {entry.path for entry in tree.look()}


def test_what_is_closed_and_what_is_hidden(root: Path) -> None:
    for name in ("members/bo/.ship/scratch", "members/bo/memory", "sub/.git", ".ship/scratch"):
        (root / name).mkdir(parents=True)
    for name in ("members/bo/.env", "sub/ship.json", "sub/a.txt"):
        (root / name).touch()
    entries = LockedTree(root).look()
    names = {str(Path(place).relative_to(root)) for place in closed_places(entries, root)}
    assert names == {"Agent.md", "members", "sub/.git"}
    assert {str(Path(place).relative_to(root)) for place in hidden_places(entries)} == {
        "members/bo/.env",
        "sub/ship.json",
    }
    assert set(state_folders(entries)) == {root / ".ship", root / "members/bo/.ship"}


def test_m1_settings_of_other_agents_are_hidden_and_their_members_closed(root: Path) -> None:
    hidden = {".mcp.json", ".claude/settings.json", "sub/.codex/config.toml", "agents/a/config.json"}
    closed = {"agents/a/workspace/SOUL.md", ".claude/skills/x/SKILL.md"}
    for name in (*hidden, *closed, "agents/a/workspace/notes/SOUL.md", "agents/readme.md", "src/config.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    entries = LockedTree(root).look()
    assert {str(Path(place).relative_to(root)) for place in hidden_places(entries)} == hidden
    places = {str(Path(place).relative_to(root)) for place in closed_places(entries, root)}
    assert places == {"Agent.md", "agents/a/workspace/SOUL.md", ".claude", "sub/.codex"}


def test_many_places_are_closed_by_a_folder_around_them(root: Path) -> None:
    for number in range(30):
        (root / f"node_modules/p{number}/.github").mkdir(parents=True)
    (root / "sub/.git").mkdir(parents=True)
    entries = LockedTree(root).look()
    places = {str(Path(place).relative_to(root)) for place in closed_places(entries, root, limit=10)}
    assert places == {"Agent.md", "node_modules", "sub/.git"}


def test_a_folder_that_cannot_be_read_is_hidden_whole(root: Path) -> None:
    deep = root / "deep"
    deep.mkdir()
    here = os.open(deep, os.O_RDONLY)
    # Deeper than any path can name.
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.mkdir(".git", dir_fd=here)
    os.close(here)
    assert any("/deep/" in place for place in hidden_places(LockedTree(root).look()))
    shutil.rmtree(deep, ignore_errors=True)
