"""Write the names of the member's private variables; their values never enter a prompt."""

from __future__ import annotations

from shipmate.context.section import Draft, Omission, Scene, SectionKind


def write(scene: Scene) -> Draft | Omission:
    """List the names, sorted."""
    names = sorted(scene.config.env)
    if not names:
        return Omission("ship.json sets no variables")
    return Draft(
        text="\n".join(f"- {name}" for name in names), source="ship.json", reason="names only, no values"
    )


KINDS = (SectionKind("environment", "Environment", "stable", write),)
