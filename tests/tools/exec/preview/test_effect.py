"""What a trial did that is never put in place, whatever a person says."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.tools.exec.preview.effect import Effect, refuse
from shipmate.tools.file.change.state import ABSENT, UNREACHABLE, State

FILE = State("file", 0o644, 1, "x")
FOLDER = State("folder", 0o755)


def refusals(root: Path, *effects: Effect) -> list[str]:
    return [effect.refusal for effect in refuse(effects, root)]


@pytest.mark.parametrize(
    ("before", "after", "refusal"),
    [
        (ABSENT, FILE, ""),
        # Its folder is no folder of the workspace any more: nobody knows what would be overwritten.
        (UNREACHABLE, FILE, "unreachable"),
        (ABSENT, State("special", 0o644), "special"),
        (State("special", 0o644), ABSENT, "special"),
        (FILE, State("file", 0o4755, 1, "x"), "set-id"),
        # Also where the old file had the bit: its new content would get it.
        (State("file", 0o4755, 1, "x"), State("file", 0o4755, 1, "y"), "set-id"),
        (FOLDER, State("folder", 0o2755), "set-id"),
        (State("folder", 0o2755), State("folder", 0o2700), ""),
    ],
)
def test_states_that_are_refused(tmp_path: Path, before: State, after: State, refusal: str) -> None:
    assert refusals(tmp_path, Effect("a", before, after)) == [refusal]


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        ("b", ""),
        ("d/../b", ""),
        ("", "leads-out"),
        ("/etc/passwd", "leads-out"),
        ("../x", "leads-out"),
        ("d/../../x", "leads-out"),
        # By the text it stays inside; by the links that are there it does not.
        ("out/passwd", "leads-out"),
        ("b\u202e", "leads-out"),
        ("Agent.md", "protected"),
        ("d/../Agent.md", "protected"),
        # Another name of it, through a link that is there.
        ("also/Agent.md", "protected"),
        ("captain", "protected"),
    ],
)
def test_links_that_are_refused(tmp_path: Path, target: str, refusal: str) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "also").symlink_to(".")
    (tmp_path / "captain").symlink_to("Agent.md")
    assert refusals(tmp_path, Effect("a", ABSENT, State("link", digest=target))) == [refusal]


def test_what_is_in_a_refused_folder_goes_with_it_and_what_stays_keeps_its_folder(tmp_path: Path) -> None:
    made = Effect(".husky", ABSENT, FOLDER), Effect(".husky/pre-commit", ABSENT, FILE)
    assert refusals(tmp_path, *made)[0] == "protected"
    assert all(refusals(tmp_path, *made))
    closed = Effect("new\u200b", ABSENT, FOLDER), Effect("new\u200b/a", ABSENT, FILE)
    assert refusals(tmp_path, *closed) == ["name", "name"]
    special = Effect("pipe", State("special", 0o644), FOLDER), Effect("pipe/a", ABSENT, FILE)
    assert refusals(tmp_path, *special) == ["special", "inside"]
    gone = Effect("d", FOLDER, ABSENT), Effect("d/pipe", State("special", 0o644), ABSENT)
    assert refusals(tmp_path, *gone) == ["holds", "special"]
