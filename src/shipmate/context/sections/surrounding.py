"""Write what is around the member: where it runs, variables, projects, the time, the words of the caller."""

from __future__ import annotations

from shipmate.context.section import FILE_TOKENS, Draft, Omission, Scene, SectionKind
from shipmate.context.style import word
from shipmate.workspace.project import read_projects


def write_runtime(scene: Scene) -> Draft:
    """Write one line about where this runs."""
    request = scene.request
    return Draft(
        fields={
            "model": request.model or "not set",
            "member": scene.member.id,
            "workspace": str(scene.own.root),
            "platform": f" | Platform: {request.platform}" if request.platform else "",
        },
        source="built in",
        reason="always there",
    )


def write_environment(scene: Scene) -> Draft | Omission:
    """List the names, sorted."""
    names = sorted(scene.config.env)
    if not names:
        return Omission("ship.json sets no variables")
    return Draft(
        text="\n".join(f"- {name}" for name in names), source="ship.json", reason="names only, no values"
    )


def write_time(scene: Scene) -> Draft:
    """Write date and time; what changes most often comes last in the default wording."""
    now = scene.now
    return Draft(
        fields={
            "date": f"{now:%Y-%m-%d}",
            "weekday": f"{now:%A}",
            "minute": f"{now:%H:%M}",
            "second": f"{now:%H:%M:%S}",
            "zone": now.tzname() or f"{now:%z}",
            "offset": now.isoformat()[-6:],
        },
        source="the clock",
        reason="always there",
    )


def write_extra(scene: Scene) -> Draft | Omission:
    """Write the caller's text."""
    text = (scene.request.extra_context or "").strip()
    return (
        Draft(text=text, source="the caller", reason="given") if text else Omission("the caller adds nothing")
    )


def write_projects(scene: Scene) -> Draft | Omission:
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


KINDS = (
    SectionKind("runtime", "Runtime", "slow", write_runtime),
    SectionKind("environment", "Environment", "stable", write_environment),
    SectionKind("time", "Current time", "volatile", write_time),
    SectionKind("extra", "Extra context", "volatile", write_extra, FILE_TOKENS // 2),
    SectionKind("projects", "Shared projects", "slow", write_projects, FILE_TOKENS // 4),
)
