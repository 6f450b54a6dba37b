"""Write the bootstrap files: each is a section of its own, under its name."""

from __future__ import annotations

from functools import partial

from shipmate.context.section import (
    FILE_TOKENS,
    Draft,
    Scene,
    SectionKind,
    Silence,
    draft_file,
    read_bootstrap,
)

# Files about the place rather than the member: a member without its own gets the workspace's.
SHARED = frozenset({"USER.md", "TOOLS.md"})


def write(name: str, scene: Scene) -> Draft | Silence:
    """Write one bootstrap file."""
    return draft_file(scene, read_bootstrap(scene, name, is_shared=name in SHARED))


KINDS = tuple(
    SectionKind(name.removesuffix(".md").lower(), name, "stable", partial(write, name), FILE_TOKENS)
    for name in ("Agent.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "RELATIONS.md")
)
