"""Write what is known of the project and of the person, and what was recalled for their words."""

from __future__ import annotations

import msgspec

from shipmate.context.section import FILE_TOKENS, Draft, Omission, Scene, SectionKind, draft_file
from shipmate.values.thread_id import ThreadId


def write_project(scene: Scene) -> Draft | Omission:
    """Write .ship/memory/project.md."""
    return draft_file(scene, scene.memory.project())


def write_user(scene: Scene) -> Draft | Omission:
    """Write what is known of the person who speaks."""
    if not scene.request.user_id:
        return Omission("nobody is named")
    draft = draft_file(scene, scene.memory.user(scene.request.platform, scene.request.user_id))
    if isinstance(draft, Omission) or not _is_shared(scene.request.thread_id):
        return draft
    return msgspec.structs.replace(draft, stability="volatile")


def _is_shared(thread_id: str | None) -> bool:
    """Return whether people take turns in a thread, so that each turn may be about another of them."""
    return thread_id is not None and ThreadId.parse(thread_id).scope_type in ("group", "channel")


def write_recall(scene: Scene) -> Draft | Omission:
    """Write the pieces of memory found for the person's words."""
    pieces = [piece.strip() for piece in scene.request.recalled if piece.strip()]
    if not pieces:
        return Omission("nothing was recalled")
    return Draft(
        text="\n".join(f"- {piece}" for piece in pieces), source="recall", reason="found for these words"
    )


KINDS = (
    SectionKind("project-memory", "Project memory", "slow", write_project, FILE_TOKENS // 2),
    SectionKind("user-memory", "User memory", "slow", write_user, FILE_TOKENS // 4),
    SectionKind("recall", "Recalled", "volatile", write_recall, FILE_TOKENS // 4),
)
