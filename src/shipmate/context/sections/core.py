"""Write the core identity: name, workspace, tools, rules of behaviour."""

from __future__ import annotations

import re

from shipmate.context.section import Draft, Scene, SectionKind, read_bootstrap
from shipmate.context.style import find_wording
from shipmate.workspace.layout import CAPTAIN

_TITLE = re.compile(r"^#[ \t]+(\S.{0,79})$", re.MULTILINE)


def write(scene: Scene) -> Draft:
    """Say who the member is and how it behaves; always there."""
    member = scene.member
    is_captain = member.id == CAPTAIN
    described = (scene.config.description if is_captain else None) or member.settings.description
    named = (scene.config.name if is_captain else None) or member.settings.name
    tools = ", ".join(tool.name for tool in scene.request.tools)
    return Draft(
        fields={
            "name": named or _title(scene) or member.name,
            "description": f" {' '.join(described.split())}" if described else "",
            "workspace": str(scene.layout.root),
            "tools": f"Tools: {tools}.\n" if tools else "",
            "tool_names": tools or "none",
            "now": f"{scene.now:%Y-%m-%d %H:%M (%A)}",
        },
        source="built in",
        reason="always there",
        # A style that tells the time here can have no stable prefix.
        stability="volatile" if "{now}" in find_wording(scene.style, "core") else None,
    )


def _title(scene: Scene) -> str:
    """Return the first heading of the member's Agent.md."""
    match = _TITLE.search(read_bootstrap(scene, "Agent.md", is_shared=False).text)
    return match[1].strip() if match else ""


KINDS = (SectionKind("core", "Core identity", "stable", write),)
