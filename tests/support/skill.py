"""Write skills and load them on a known machine."""

from __future__ import annotations

from pathlib import Path

from shipmate.skills.loader import SkillList, SkillsLoader
from shipmate.workspace.config import Config, Skills
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import CAPTAIN, Layout


def put(root: Path, place: str, text: str | bytes) -> None:
    """Write a file below a folder."""
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def make_loader(
    root: Path,
    settings: Skills | None = None,
    environ: dict[str, str] | None = None,
    *,
    config: Config | None = None,
    member: str = CAPTAIN,
    folders: tuple[str, ...] = (),
) -> SkillsLoader:
    """Make the loader of a member's skills."""
    layout = Layout(root)
    return SkillsLoader(
        layout,
        config or Config(skills=settings or Skills()),
        FileCache(root),
        environ or {"PATH": "/nowhere"},
        own=layout.member(member),
        folders=folders,
    )


def own(found: SkillList) -> list[str]:
    """Return the names of the skills that are not the package's."""
    return [skill.name for skill in found.skills if skill.origin != "package"]
