"""Find the folder that is the workspace of whoever stands in one of its folders."""

from __future__ import annotations

from pathlib import Path

from shipmate.workspace.foreign.foreign_file import is_file, is_there
from shipmate.workspace.foreign.program.coding_agent import is_hint
from shipmate.workspace.foreign.program.ship_my_agent import AGENT, SHIP
from shipmate.workspace.foreign.recognised import Recognised
from shipmate.workspace.foreign.recognition import recognise

# Folders of a workspace that may hold whole layouts of others and stay part of it.
PARTS = frozenset({"members", "projects", "skills", "memory", ".ship", ".minds"})


def find_root(start: Path) -> tuple[Path, Recognised | None] | None:
    """Return the workspace a folder lies in, and what it was recognised as; None when it lies in none.

    The nearest one counts. An Agent.md, or the folder of an agent of another program, counts from anywhere
    below it. A file such as AGENTS.md or CLAUDE.md is no more than a hint: it counts in the folder somebody
    stands in, and above it as far as the same repository goes; it never makes a workspace of a part of one.
    """
    repository = next((folder for folder in (start, *start.parents) if is_there(folder / ".git")), None)
    nearest: Recognised | None = None
    at = start
    for folder in (start, *start.parents):
        if is_file(folder / AGENT):
            if nearest is None or _is_part(nearest, at, folder):
                return folder, recognise(folder)
            break
        if (
            nearest is None
            and (found := recognise(folder))
            and (folder == start or _reaches(found, folder, repository))
        ):
            nearest, at = found, folder
    return (nearest.root, nearest) if nearest else None


def _reaches(found: Recognised, folder: Path, repository: Path | None) -> bool:
    """Return whether a folder that somebody stands below is their workspace."""
    home = _home()
    if folder == home or folder.parent == folder or (home and home.is_relative_to(folder)):
        return False
    if _is_chosen(found):
        return True
    if repository is not None and repository != home:
        return folder.is_relative_to(repository)
    return not is_hint(found.signs)


def _is_chosen(found: Recognised) -> bool:
    """Return whether a folder was made for an agent, or adopted."""
    return found.kind == "agent" or is_file(found.root / SHIP)


def _is_part(found: Recognised, at: Path, workspace: Path) -> bool:
    """Return whether a recognised folder is a part of the workspace above it."""
    way = at.relative_to(workspace).parts
    if way[0] in PARTS:
        return True
    if _is_chosen(found):
        return False
    between = [
        at,
        *(parent for parent in at.parents if parent.is_relative_to(workspace) and parent != workspace),
    ]
    return not any(is_there(folder / ".git") for folder in between)


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None
