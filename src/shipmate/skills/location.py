"""Name the place of a skill so that `read` can load it."""

from __future__ import annotations

from pathlib import Path

BUILTIN = Path(__file__).parent / "builtin"
# Skills of the package lie outside the workspace; this prefix stands for their folder.
PREFIX = "skill:"


def resolve(location: str) -> Path | None:
    """Return the file a `skill:<name>` or `skill:<name>/<file>` stands for; None when it stands for none."""
    name, _, inner = location.removeprefix(PREFIX).partition("/")
    if not location.startswith(PREFIX) or name not in {folder.name for folder in BUILTIN.iterdir()}:
        return None
    path = (BUILTIN / name / (inner or "SKILL.md")).resolve()
    return path if path.is_relative_to((BUILTIN / name).resolve()) and path.is_file() else None
