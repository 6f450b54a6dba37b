"""Write the shared projects and what the member may do in them."""

from __future__ import annotations

from shipmate.context.section import FILE_TOKENS, Draft, Omission, Scene, SectionKind
from shipmate.context.style import word
from shipmate.workspace.project import read_projects


def write(scene: Scene) -> Draft | Omission:
    """List the projects, one line each."""
    projects = read_projects(scene.layout, scene.files)
    if not projects:
        return Omission("there are no shared projects")
    lines = [
        word(
            scene.style,
            "project-writable" if project.may_write(scene.member.id) else "project-readable",
            id=project.id,
            name=project.name,
            description=f" — {project.description}" if project.description else "",
        )
        for project in projects
    ]
    problems = "; ".join(f"projects/{each.id}/meta.json: {each.problem}" for each in projects if each.problem)
    return Draft(
        text="\n".join(lines), source="projects/", reason=problems or f"{len(lines)} found", problem=problems
    )


KINDS = (SectionKind("projects", "Shared projects", "slow", write, FILE_TOKENS // 4),)
