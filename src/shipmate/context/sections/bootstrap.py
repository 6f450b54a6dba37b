"""Write the bootstrap files: each is a section of its own, under its name."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from shipmate.context.section import (
    FILE_TOKENS,
    Draft,
    Omission,
    Scene,
    SectionKind,
    draft_file,
    read_bootstrap,
)
from shipmate.workspace.file import FileText

# Files about the place rather than the member: a member without its own gets the workspace's.
AGENT = "Agent.md"
SHARED = frozenset({"USER.md", "TOOLS.md"})
# Where later versions of ZyHive keep a file.
MOVED = {"RELATIONS.md": "network/RELATIONS.md"}


def write(name: str, scene: Scene) -> Draft | Omission:
    """Write one bootstrap file."""
    file = read_bootstrap(scene, name, is_shared=name in SHARED)
    if file.is_missing and name in MOVED:
        moved = read_bootstrap(scene, MOVED[name], is_shared=False)
        file = file if moved.is_missing else moved
    return draft_file(
        scene, scene.files.make(file.path, "body", _without_settings) if name == AGENT else file
    )


def _without_settings(file: FileText) -> FileText:
    """Return an Agent.md without its front matter: that is for Shipmate, not for the model."""
    if not file.text.lstrip("\ufeff").startswith("---"):
        return file
    # Most files have none, and YAML takes long to load.
    from shipmate.workspace.frontmatter import read_frontmatter

    found = read_frontmatter(file.text)
    # What stands between two rules and is no settings at all belongs to the text.
    is_settings = not found.problem or "approvals:" in found.raw
    return replace(file, text=found.body) if is_settings else file


KINDS = tuple(
    SectionKind(name.removesuffix(".md").lower(), name, "stable", partial(write, name), FILE_TOKENS)
    for name in ("Agent.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "RELATIONS.md")
)
