"""Write what is remembered: by the member, of the project and of the person, and what was recalled."""

from __future__ import annotations

import msgspec

from shipmate.context.section import (
    FILE_TOKENS,
    Draft,
    Omission,
    Scene,
    SectionKind,
    cover_keys,
    draft_file,
)
from shipmate.context.style import word
from shipmate.values.message import estimate_tokens
from shipmate.values.thread_id import ThreadId

RECALL_TOKENS = FILE_TOKENS // 4
# What a heading takes.
RECALL_HEADING = 20


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
    """Write what the caller found, and the passages of memory that best meet the person's words.

    A file that stands in the prompt whole is not recalled from: it is there.
    """
    request = scene.request
    given = [piece.strip() for piece in request.recalled if piece.strip()]
    limit = scene.config.context.section_tokens.get("recall", RECALL_TOKENS)
    found = scene.recall.find(
        request.last_text, request.platform, request.user_id, _shown_whole(scene), limit - RECALL_HEADING
    )
    if not given and not found:
        return Omission("nothing was recalled")
    lines = [*given, *(cover_keys(scene, str(each.passage)) for each in found)]
    return Draft(
        text="\n".join(f"- {line}" for line in lines),
        source=", ".join(dict.fromkeys(each.passage.path for each in found)) or "recall",
        reason=f"found for these words: {'; '.join(each.reason for each in found)}"
        if found
        else "found for these words",
    )


def _shown_whole(scene: Scene) -> set[str]:
    """Return the files of memory that the sections above show, unless they are too long for that."""
    memory, request = scene.memory, scene.request
    index, long_term, today = memory.index(), memory.long_term(), memory.today(scene.now.date())
    shown = {
        "memory-index": (index if index.text.strip() else long_term,),
        "memory-notes": (long_term, today),
        "today": (today,),
        "project-memory": (memory.project(),),
        "user-memory": (memory.user(request.platform, request.user_id),),
    }
    limits = {kind.name: kind.limit or 0 for kind in KINDS} | dict(scene.config.context.section_tokens)
    return {
        file.path
        for name in shown.keys() & scene.sections
        for file in shown[name]
        if sum(estimate_tokens(each.text) for each in shown[name]) + RECALL_HEADING < limits[name]
    }


KINDS = (
    SectionKind("memory-index", "Memory index", "slow", write_index, FILE_TOKENS),
    SectionKind("memory-tree", "Memory tree", "slow", write_tree),
    SectionKind("today", "Today's note", "slow", write_today, FILE_TOKENS // 3),
    SectionKind("memory-notes", "Long-term memory and today's note", "slow", write_notes, FILE_TOKENS),
    SectionKind("project-memory", "Project memory", "slow", write_project, FILE_TOKENS // 2),
    SectionKind("user-memory", "User memory", "slow", write_user, FILE_TOKENS // 4),
    SectionKind("recall", "Recalled", "volatile", write_recall, RECALL_TOKENS),
)
