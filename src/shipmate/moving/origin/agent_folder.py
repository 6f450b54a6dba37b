"""Take the files that agents of several programs share: words, memory, skills."""

from __future__ import annotations

from shipmate.moving.move_plan import MovePlan
from shipmate.workspace.foreign.agent_file import IDLE
from shipmate.workspace.foreign.template import find_template
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.relation import FILE, MOVED, read_relations, write_relations

BOOTSTRAP = ("AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md")
MEMORY = ("MEMORY.md",)
# What a skill brings along is small; a folder of a program's own that lies there is not.
SKIPPED = ("node_modules", ".git", "__pycache__", ".venv")


def take_agent(
    plan: MovePlan, folder: str, owner: tuple[str, ...] = (), known: tuple[str, ...] = ()
) -> dict[str, bytes]:
    """Return the files of an agent by their path in its folder; `known` are those who come along."""
    before, plan.files = plan.files, {}
    try:
        for name in (*BOOTSTRAP, *MEMORY):
            path = _join(folder, name)
            text = plan.source.text(path) if plan.source.has(path) else ""
            if text.strip() and name != "SOUL.md" and find_template(name, text):
                plan.leave(path, "template")
            elif text.strip():
                plan.words(name, path)
        for path in plan.source.walk(_join(folder, "memory"), ".md"):
            inner = path.removeprefix(f"{folder}/") if folder else path
            if inner != "memory/MEMORY.md" or not find_template("MEMORY.md", plan.source.text(path)):
                plan.words(inner, path)
        _take_skills(plan, folder)
        _take_relations(plan, folder, owner, known)
        for name in IDLE:
            if plan.source.has(_join(folder, name)):
                plan.leave(_join(folder, name), "idle-file")
        return plan.files
    finally:
        plan.files = before


def _take_skills(plan: MovePlan, folder: str) -> None:
    place = _join(folder, "skills")
    for name in plan.source.folders(place):
        if not plan.source.has(f"{place}/{name}/SKILL.md"):
            plan.leave(f"{place}/{name}", "skill-none")
            continue
        for path in plan.source.walk(f"{place}/{name}"):
            if not any(part in SKIPPED for part in path.split("/")):
                plan.file(path.removeprefix(f"{folder}/") if folder else path, path)


def _take_relations(plan: MovePlan, folder: str, owner: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Take who stands to whom how: only to members that come along, and to people."""
    path = next((each for name in (FILE, MOVED) if plan.source.has(each := _join(folder, name))), "")
    if not path:
        return
    rows = read_relations(plan.source.text(path), owner)
    kept = [row for row in rows if row.is_contact or row.target_id in known]
    for row in rows:
        if row not in kept:
            plan.leave(f"{path}: {row.target_id}", "relation-unknown")
    if kept:
        plan.files[FILE] = write_relations(kept).encode()


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def place_agent(plan: MovePlan, files: dict[str, bytes], name: str, description: str = "") -> None:
    """Put the files of a program's only agent where its member lives."""
    if plan.member == CAPTAIN:
        plan.files |= files
        return
    settings = {key: value for key, value in (("name", name), ("description", description)) if value}
    plan.member = plan.add_member(plan.member, settings, files)
