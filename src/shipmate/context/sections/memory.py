"""Write what the member's own memory holds."""

from __future__ import annotations

import msgspec

from shipmate.context.section import FILE_TOKENS, Draft, Omission, Scene, SectionKind, draft_file
from shipmate.context.style import word


def write_index(scene: Scene) -> Draft | Omission:
    """Write memory/INDEX.md; without one, the whole of MEMORY.md."""
    index = scene.memory.index()
    if index.text.strip():
        return draft_file(scene, index)
    draft = draft_file(scene, scene.memory.long_term())
    if isinstance(draft, Omission):
        return Omission(
            f"there is neither {scene.path(index)} nor MEMORY.md", problem=draft.problem or index.problem
        )
    problem = "; ".join(text for text in (index.problem, draft.problem) if text)
    return msgspec.structs.replace(draft, problem=problem, reason=problem or draft.reason)


def write_tree(scene: Scene) -> Draft | Omission:
    """Name the folders of memory that `read` can open."""
    folders = scene.memory.folders()
    if not folders:
        return Omission("memory has no folders")
    place = scene.path(scene.memory.index()).removesuffix("/INDEX.md")
    return Draft(
        fields={"folders": ", ".join(folders), "place": place},
        source=f"{place}/",
        reason="memory has folders",
    )


def write_today(scene: Scene) -> Draft | Omission:
    """Write today's note."""
    return draft_file(scene, scene.memory.today(scene.now.date()))


def write_notes(scene: Scene) -> Draft | Omission:
    """Write long-term memory and today's note as one."""
    parts = [
        ("long-term", draft_file(scene, scene.memory.long_term())),
        ("today", write_today(scene)),
    ]
    drafts = [(name, draft) for name, draft in parts if isinstance(draft, Draft)]
    problems = "; ".join(draft.problem for _, draft in parts if draft.problem)
    if not drafts:
        return Omission("there is neither MEMORY.md nor a note of today", problem=problems)
    return Draft(
        text="\n\n".join(word(scene.style, name, text=draft.text, **draft.fields) for name, draft in drafts),
        source=", ".join(draft.source for _, draft in drafts),
        reason=problems or "the file is there",
        problem=problems,
    )


KINDS = (
    SectionKind("memory-index", "Memory index", "slow", write_index, FILE_TOKENS),
    SectionKind("memory-tree", "Memory tree", "slow", write_tree),
    SectionKind("today", "Today's note", "slow", write_today, FILE_TOKENS // 3),
    SectionKind("memory-notes", "Long-term memory and today's note", "slow", write_notes, FILE_TOKENS),
)
