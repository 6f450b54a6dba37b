"""Write what is known of the project and of the person, and what was recalled for their words."""

from __future__ import annotations

from shipmate.context.section import FILE_TOKENS, Draft, Scene, SectionKind, Silence, draft_file


def write_project(scene: Scene) -> Draft | Silence:
    """Write .ship/memory/project.md."""
    return draft_file(scene, scene.memory.project())


def write_user(scene: Scene) -> Draft | Silence:
    """Write what is known of the person who speaks."""
    if not scene.request.user_id:
        return Silence("nobody is named")
    return draft_file(scene, scene.memory.user(scene.request.platform, scene.request.user_id))


def write_recall(scene: Scene) -> Draft | Silence:
    """Write the pieces of memory found for the person's words."""
    pieces = [piece.strip() for piece in scene.request.recalled if piece.strip()]
    if not pieces:
        return Silence("nothing was recalled")
    return Draft(
        text="\n".join(f"- {piece}" for piece in pieces), source="recall", reason="found for these words"
    )


KINDS = (
    SectionKind("project-memory", "Project memory", "slow", write_project, FILE_TOKENS // 2),
    SectionKind("user-memory", "User memory", "slow", write_user, FILE_TOKENS // 4),
    SectionKind("recall", "Recalled", "volatile", write_recall, FILE_TOKENS // 4),
)
