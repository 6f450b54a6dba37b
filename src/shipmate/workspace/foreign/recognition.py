"""Recognise a folder of another program, and survey what of others lies in any workspace."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from shipmate.workspace.foreign.agent_file import find_idle
from shipmate.workspace.foreign.foreign_file import is_broken, is_file, is_folder
from shipmate.workspace.foreign.program.coding_agent import find_agents, recognise_project, survey_project
from shipmate.workspace.foreign.program.nanobot import recognise_nanobot
from shipmate.workspace.foreign.program.openclaw import recognise_openclaw
from shipmate.workspace.foreign.program.ship_my_agent import AGENT, recognise_ship
from shipmate.workspace.foreign.program.zyhive import recognise_zyhive
from shipmate.workspace.foreign.recognised import Recognised, Unused

INNER = "workspace"
# The most telling layout first: each program has files that others have too.
AGENTS = (recognise_zyhive, recognise_openclaw, recognise_nanobot)
HOME_CONFIGS = ("config.json", "openclaw.json")


def recognise(root: Path) -> Recognised | None:
    """Return what a folder of another program is; None for a folder of ours, or of nobody's."""
    if is_file(root / AGENT):
        return recognise_ship(root)
    for recognise_agent in AGENTS:
        if found := recognise_agent(root):
            return _with_project(_tell_damaged(found))
    return _recognise_damaged(root) or recognise_project(root)


def survey(root: Path) -> list[Unused]:
    """Return everything in a workspace that is another program's and has no effect."""
    if found := recognise(root):
        return list(found.unused)
    unused, _ = survey_project(root)
    project = recognise_project(root)
    why = "Agent.md says who the member is; add it to have it read too"
    named = (*project.instructions, *project.rules) if project else ()
    words = [Unused(what=name, why=why, lines={"context": {"instructions": [name]}}) for name in named]
    why = "members lie in members/; copy it to members/<id>/Agent.md to make it one"
    agents = [Unused(what=path, why=why) for path in find_agents(root).values()]
    return [*words, *agents, *unused, *find_idle(root)]


def _recognise_damaged(root: Path) -> Recognised | None:
    """Return a home folder whose settings cannot be read, by the workspace inside."""
    is_damaged = any(is_broken(root / name) for name in HOME_CONFIGS) and is_folder(root / INNER)
    found = recognise(root / INNER) if is_damaged else None
    return found if found and found.kind == "agent" else None


def _tell_damaged(found: Recognised) -> Recognised:
    """Return an agent's workspace and the settings around it that cannot be read."""
    home = found.root.parent
    broken = [name for name in HOME_CONFIGS if found.root.name == INNER and is_broken(home / name)]
    why = "it is no JSON that can be read; nothing of it is used"
    return replace(found, unused=(*(Unused(what=f"../{name}", why=why) for name in broken), *found.unused))


def _with_project(found: Recognised) -> Recognised:
    """Return an agent's folder with what lies in it for coding agents too."""
    project = recognise_project(found.root)
    if project is None:
        return found
    return replace(
        found,
        instructions=project.instructions,
        rules=project.rules,
        skill_folders=project.skill_folders,
        members=found.members or project.members,
        denied=project.denied,
        unused=(*found.unused, *project.unused),
        secrets=(*found.secrets, *project.secrets),
    )
