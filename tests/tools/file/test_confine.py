from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipmate.errors import ToolError
from shipmate.tools.file.change.replace import replace_bytes
from shipmate.tools.file.confine import locate, open_file, read_bytes, read_up_to
from shipmate.tools.file.protection import refuse_writing
from shipmate.tools.file.target import read_state
from tests.support.search import PATIENCE, examples

SECRET = b"outside"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(SECRET)
    return folder


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("~", "home"),
        ("~/.ssh/id_rsa", "home"),
        ("..", "leaves"),
        ("../outside/secret.txt", "leaves"),
        ("sub/../../outside/secret.txt", "leaves"),
        ("./sub/.././../outside/secret.txt", "leaves"),
        ("/etc/passwd", "leaves"),
        ("/", "leaves"),
        ("//etc/passwd", "leaves"),
        ("/proc/self/root/etc/passwd", "leaves"),
        ("a" * 5000, "longer"),
        ("a" * 300, "too long"),
        ("a/" * 200 + "b", "deeper"),
        ("\ud800", "characters"),
        ("none.txt", "no such file"),
        ("Agent.md/..", "needs a folder"),
        ("missing/../Agent.md", "no such file"),
    ],
)
def test_bad_paths_say_what_is_wrong(root: Path, outside: Path, path: str, reason: str) -> None:
    (root / "sub").mkdir()
    with pytest.raises(ToolError, match=reason):
        read_bytes(root, path, 1000)


def test_a_neighbour_with_the_same_beginning_is_outside(root: Path) -> None:
    twin = root.with_name(root.name + "-twin")
    twin.mkdir()
    (twin / "a").write_text("x")
    with pytest.raises(ToolError, match="leaves"):
        read_bytes(root, str(twin / "a"), 10)
    with pytest.raises(ToolError, match="leaves"):
        read_bytes(root, f"{root}/../{twin.name}/a", 10)


def test_links_are_followed_while_they_stay_inside(root: Path, outside: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "a").write_text("inside")
    links = {"rel": "sub/a", "abs": str(root / "sub" / "a"), "dir": "sub", "up": "sub/../sub/a", "two": "rel"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    for path in ("rel", "abs", "dir/a", "up", "two", "dir/../sub/a"):
        assert read_bytes(root, path, 100) == b"inside"


def test_links_that_lead_out_are_refused(root: Path, outside: Path) -> None:
    (root / "sub").mkdir()
    links = {
        "file": outside / "secret.txt",
        "dir": outside,
        "rel": "../outside/secret.txt",
        "proc": "/proc/self/root",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "sub" / "chain").symlink_to("../file")
    for path in ("file", "dir/secret.txt", "rel", "sub/chain", "proc/etc/passwd"):
        with pytest.raises(ToolError, match="leaves"):
            read_bytes(root, path, 100)
        with (
            pytest.raises(ToolError, match="leaves"),
            locate(root, path, refuse_writing, parents="made") as place,
        ):
            replace_bytes(place, b"x", read_state(place))
    assert (outside / "secret.txt").read_bytes() == SECRET


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(ToolError, match="circle"):
        read_bytes(root, "a", 10)


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".ENV", ".env.production", "members/x/.env", ".envrc", ".netrc", "ship.json", "Ship.json",
        ".git/config", ".ship", ".ship/token", ".ship/state.db", ".ship/approvals/a.json",
        ".ship/threads/t.jsonl", ".ship/logs/trace/t.jsonl", ".SHIP/token", ".ſhip/token",
        ".sh\u200bip/token", ".ship/state.db-wal",
        "link-env", "link-ship/token", "members/x/.ship/token", "a/../.env",
    ],
)  # fmt: skip
def test_secrets_and_state_are_never_read(root: Path, path: str) -> None:
    (root / ".env").write_text("KEY=1")
    (root / ".ship").mkdir()
    (root / ".ship" / "token").write_text("t")
    (root / "a").mkdir()
    (root / "link-env").symlink_to(".env")
    (root / "link-ship").symlink_to(".ship")
    with pytest.raises(ToolError):
        read_bytes(root, path, 100)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".ship/memory/project.md",
        ".ship/uploads/a.pdf",
        ".ship/logs/calls/t/c",
        ".ship/scratch/x",
    ],
)
def test_what_members_may_see_is_read(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("open")
    assert read_bytes(root, path, 100) == b"open"


def test_a_secret_behind_a_link_stays_one(root: Path) -> None:
    (root / "config").mkdir()
    (root / "config" / "settings").write_text("KEY=1")
    (root / ".env").symlink_to("config/settings")
    with pytest.raises(ToolError, match="secrets"):
        read_bytes(root, ".env", 100)
    with pytest.raises(ToolError, match="secrets"), locate(root, ".env", refuse_writing) as place:
        replace_bytes(place, b"x", read_state(place))
    assert (root / "config" / "settings").read_text() == "KEY=1"


names = st.sampled_from(
    ["sub", "deep", "file", "out", "loop", "back", "..", ".", "", "secret.txt", "etc", "~", "a\n", "…"]
)


@settings(max_examples=examples(200), suppress_health_check=[*PATIENCE, HealthCheck.function_scoped_fixture])
@given(st.lists(names, max_size=8), st.booleans())
def test_no_path_escapes(root: Path, outside: Path, steps: list[str], is_absolute: bool) -> None:
    build_maze(root, outside)
    path = "/".join(steps)
    if is_absolute:
        path = f"{root}/{path}"
    try:
        with open_file(root, path) as (_, status, place):
            assert os.path.samestat(status, (root / place.path).lstat())
            assert (root / place.path).resolve() == root / place.path
    except ToolError:
        pass
    try:
        with locate(root, path, refuse_writing, parents="made") as place:
            replace_bytes(place, b"written", read_state(place))
    except ToolError:
        pass
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_bytes() == SECRET
    assert {entry.name for entry in root.parent.iterdir()} == {"workspace", "outside"}


def build_maze(root: Path, outside: Path) -> None:
    (root / "sub" / "deep").mkdir(parents=True, exist_ok=True)
    links = {
        "sub/out": outside, "sub/deep/out": "../../../outside", "loop": "sub/loop", "sub/loop": "../loop",
        "sub/back": "..", "sub/deep/back": "../back/sub", "out": "sub/deep/out/..",
    }  # fmt: skip
    for name, target in links.items():
        if not (root / name).is_symlink() and not (root / name).exists():
            (root / name).symlink_to(target)


@pytest.mark.parametrize("target", ["file", "folder"])
def test_a_link_swapped_in_meanwhile_is_not_followed(root: Path, outside: Path, target: str) -> None:
    """Swap the path between a harmless file and a link outside as fast as possible while it is used."""
    (root / "real").mkdir()
    (root / "real" / "secret.txt").write_bytes(b"inside")
    swapped, path = (
        ("real/secret.txt", "real/secret.txt") if target == "file" else ("place", "place/secret.txt")
    )
    stop = threading.Event()

    def swap() -> None:
        link = outside / "secret.txt" if target == "file" else outside
        harmless = root / "harmless"
        while not stop.is_set():
            (root / "trap").symlink_to(link)
            (root / "trap").replace(root / swapped)
            if target == "file":
                harmless.write_bytes(b"inside")
            else:
                harmless.symlink_to("real")
            harmless.replace(root / swapped)

    if target == "folder":
        (root / "place").symlink_to("real")
    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    try:
        for number in range(3000):
            try:
                if number % 3:
                    with open_file(root, path) as (handle, _, _place):
                        seen.add(read_up_to(handle, 100))
                else:
                    with locate(root, path, refuse_writing) as place:
                        replace_bytes(place, b"inside", read_state(place))
            except ToolError:
                seen.add(b"refused")
    finally:
        stop.set()
        thread.join()
    assert SECRET not in seen
    assert seen >= {b"inside", b"refused"}
    assert (outside / "secret.txt").read_bytes() == SECRET
