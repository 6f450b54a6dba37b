"""Name a script: `individual/<member>/<slug>` or `team_shared/<slug>`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shipmate.errors import PrimingError
from shipmate.workspace.layout import MEMBER_ID, Layout

_SEGMENT = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SLUG_LIMIT = 400
_SHAPE = "individual/<member>/<slug> or team_shared/<slug>"


@dataclass(frozen=True, slots=True, order=True)
class ScriptRef:
    """The name of one script; `member` is None for a shared one."""

    member: str | None
    slug: str

    def __post_init__(self) -> None:
        check_slug(self.slug)
        if self.member is not None and (not MEMBER_ID.fullmatch(self.member) or ".." in self.member):
            raise PrimingError(f"{self.member!r} is not a member id: letters, digits, '.', '_' and '-' only")

    @classmethod
    def parse(cls, text: str) -> ScriptRef:
        """Read a ref; one `.md` at its end may be given and is dropped."""
        segments = text.strip().removesuffix(".md").split("/")
        if segments[0] == "team_shared" and len(segments) >= 2:
            return cls(None, "/".join(segments[1:]))
        if segments[0] == "individual" and len(segments) >= 3:
            return cls(segments[1], "/".join(segments[2:]))
        raise PrimingError(f"{text!r} is not a script ref. Write {_SHAPE}.")

    def __str__(self) -> str:
        return f"team_shared/{self.slug}" if self.member is None else f"individual/{self.member}/{self.slug}"

    def folder(self, layout: Layout) -> Path:
        """Return the folder the script must stay in."""
        return layout.shared_priming if self.member is None else layout.member_priming(self.member)

    def path(self, layout: Layout) -> Path:
        """Return the script's path, refusing one that a link leads out of its folder."""
        folder = self.folder(layout)
        path = folder / f"{self.slug}.md"
        if not is_own_place(path, folder, layout):
            raise PrimingError(f"{self} is a link that leads out of {folder}. Put the file itself there.")
        return path


def is_own_place(path: Path, folder: Path, layout: Layout) -> bool:
    """Return whether a path lies in a folder of the workspace, and no link on its way leads elsewhere."""
    try:
        own = layout.root.resolve() / folder.relative_to(layout.root)
        return path.resolve().is_relative_to(own)
    except (RuntimeError, OSError, ValueError):
        # A link that leads back to itself leads nowhere.
        return False


def read_slug(text: str) -> str:
    """Read a slug as a person gives it; one `.md` at its end is dropped."""
    slug = text.strip().removesuffix(".md")
    check_slug(slug)
    return slug


def check_slug(slug: str) -> None:
    """Refuse anything but plain path segments."""
    segments = slug.split("/")
    if len(slug) > _SLUG_LIMIT or not all(map(_SEGMENT.fullmatch, segments)):
        raise PrimingError(
            f"{slug!r} is not a slug. Write segments of letters, digits, '.', '_' and '-', parted by '/'."
        )
    if ".." in slug or "." in segments or segments[-1].endswith(".md"):
        raise PrimingError(f"{slug!r} is not a slug: no '..', no '.' segment and no second '.md'.")
