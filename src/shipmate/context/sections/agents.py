"""Write AGENTS.md and the files its `@path` lines name."""

from __future__ import annotations

from shipmate.context.reference import follow
from shipmate.context.section import (
    FILE_TOKENS,
    Draft,
    Omission,
    Scene,
    SectionKind,
    draft_file,
    read_bootstrap,
)
from shipmate.context.wording import word


def write(scene: Scene) -> Draft | Omission:
    """Write AGENTS.md, then each file it refers to under its path."""
    file = read_bootstrap(scene, "AGENTS.md", is_shared=True)
    draft = draft_file(scene, file)
    if isinstance(draft, Omission):
        return draft
    found, problems = follow(file, scene.layout.root, scene.files)
    texts = [draft.text]
    for each in found:
        path = scene.path(each)
        texts.append(word(scene.style, "file", source=path, title=path, text=each.text.strip()))
    problems = [text for text in (draft.problem, *problems) if text]
    return Draft(
        text="\n\n".join(texts),
        fields=draft.fields,
        source=", ".join([draft.source, *(scene.path(each) for each in found)]),
        reason="; ".join(problems) or draft.reason,
        problem="; ".join(problems),
    )


KINDS = (SectionKind("agents", "AGENTS.md", "stable", write, 2 * FILE_TOKENS),)
