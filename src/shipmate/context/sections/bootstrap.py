"""Write the bootstrap files, each a section under its name, and what AGENTS.md refers to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from shipmate.context.reference import follow_all
from shipmate.context.section import (
    FILE_TOKENS,
    Draft,
    Omission,
    Scene,
    SectionKind,
    cover_keys,
    draft_file,
    read_bootstrap,
)
from shipmate.context.style import word
from shipmate.workspace.file import FileText
from shipmate.workspace.relation import FILE
from shipmate.workspace.relation import MOVED as MOVED_FILE

# Files about the place rather than the member: a member without its own gets the workspace's.
AGENT = "Agent.md"
SHARED = frozenset({"USER.md", "TOOLS.md"})
MOVED = {FILE: MOVED_FILE}

AGENTS = "AGENTS.md"
# What a line with a path means by itself: document 003.
BARE_STYLE = "zyhive"


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


def write_agents(scene: Scene) -> Draft | Omission:
    """Write AGENTS.md and the like, then each file they refer to under its path."""
    files = [read_bootstrap(scene, AGENTS, is_shared=True), *_read_instructions(scene)]
    drafts = [(file, draft_file(scene, file)) for file in files]
    written = [(file, draft) for file, draft in drafts if isinstance(draft, Draft)]
    if not written:
        return drafts[0][1]
    found, problems = follow_all(
        [file for file, _ in written], scene.layout.root, scene.files, is_bare=scene.style == BARE_STYLE
    )
    first = written[0][1]
    texts = [first.text, *(_under_path(scene, file, draft.text) for file, draft in written[1:])]
    texts += [_under_path(scene, each, cover_keys(scene, each.text.strip())) for each in found]
    own = [_name_problem(scene, file, draft.problem) for file, draft in drafts if draft.problem]
    problems = [*own, *problems]
    return Draft(
        text="\n\n".join(texts),
        fields=first.fields,
        source=", ".join([*(draft.source for _, draft in written), *(scene.path(each) for each in found)]),
        reason="; ".join(problems) or first.reason,
        problem="; ".join(problems),
    )


def _read_instructions(scene: Scene) -> list[FileText]:
    """Read the files that ship.json names beside AGENTS.md."""
    paths = [scene.layout.root / name for name in scene.config.context.instructions]
    return [scene.files.make(path, "words", _without_condition) for path in paths]


def _without_condition(file: FileText) -> FileText:
    """Return a rule of Cursor without its front matter, which says only when the rule holds."""
    if not file.path.endswith(".mdc") or not file.text.startswith("---"):
        return file
    from shipmate.workspace.frontmatter import read_frontmatter

    return replace(file, text=read_frontmatter(file.text).body)


def _name_problem(scene: Scene, file: FileText, problem: str) -> str:
    """Return what is wrong with a file, with its name where that is not the section's."""
    path = scene.path(file)
    return problem if path.endswith(AGENTS) else f"{path}: {problem}"


def _under_path(scene: Scene, file: FileText, text: str) -> str:
    path = scene.path(file)
    return word(scene.style, "file", source=path, title=path, text=text)


KINDS = (
    *(
        SectionKind(name.removesuffix(".md").lower(), name, "stable", partial(write, name), FILE_TOKENS)
        for name in ("Agent.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "RELATIONS.md")
    ),
    SectionKind("agents", AGENTS, "stable", write_agents, 2 * FILE_TOKENS),
)
