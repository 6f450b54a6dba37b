"""Decide what tools may not read or change in a workspace, and in which projects a member may not write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

from shipmate.tools.tool import ToolContext
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from shipmate.workspace.project import read_projects
from shipmate.workspace.secret.secret import SECRET_NAMES, fold, is_secret, is_settings

__all__ = [
    "SECRET_NAMES",
    "Check",
    "ProjectRights",
    "find_rights",
    "fold",
    "forms_member",
    "is_locked",
    "is_placed",
    "is_secret",
    "names_state",
    "refuse_change",
    "refuse_reading",
    "refuse_writing",
]

# Says why a path may not be used.
Check = Callable[[Sequence[str]], str | None]
# What members may see of `.ship`; approvals, threads, the token and the database are Shipmate's own.
READABLE_OF_SHIP = frozenset({"memory", "uploads", "scratch"})
WRITABLE_OF_SHIP = frozenset({"scratch"})
# At the top of a workspace or of a member's folder these form a prompt, a right or a tool.
FORMING_FILES = frozenset(
    {
        "agent.md", "agents.md", "soul.md", "user.md", "tools.md", "identity.md", "relations.md", "memory.md",
        "heartbeat.md", "claude.md", "claude.local.md", "gemini.md", ".cursorrules", "member.json",
        "ship.json", ".mcp.json",
    }
)  # fmt: skip
FORMING_FOLDERS = frozenset({"members", "skills", "memory", ".minds", ".dialogs"})
# Wherever they lie, editors, git and other agents run what these say.
HOOK_FOLDERS = frozenset(
    {
        ".git", ".githooks", ".husky", ".vscode", ".idea", ".devcontainer", ".claude", ".agents", ".codex",
        ".gemini", ".cursor", ".github", ".gitlab", ".circleci",
    }
)  # fmt: skip
HOOK_FILES = frozenset(
    {".gitmodules", ".pre-commit-config.yaml", ".lefthook.yml", "lefthook.yml", ".gitlab-ci.yml", ".envrc"}
)
# Beside this file git takes any folder for a repository, and runs what the `config` there says.
REPOSITORY_FILE = "HEAD"
REPOSITORY_ENDING = ".git"


def refuse_reading(parts: Sequence[str]) -> str | None:
    """Return the reason why no tool may read a path, or None."""
    names = [fold(part) for part in parts]
    if any(is_secret(name) for name in names):
        return "it holds secrets"
    if names[-1:] == ["ship.json"]:
        return "Shipmate's configuration may hold secrets; `shipmate doctor` shows it without them"
    if names[-2:] == [".git", "config"]:
        return "it may hold credentials"
    if is_settings(names) and names[-1] != "ship.json":
        return "settings of agents may hold keys; `shipmate adopt` shows what they say without them"
    return None if _may_see(names, READABLE_OF_SHIP) else "it is Shipmate's own state"


def refuse_writing(parts: Sequence[str]) -> str | None:
    """Return the reason why no tool may change a path, or None."""
    names = [fold(part) for part in parts]
    if names[-1:] == ["ship.json"]:
        return "Shipmate's configuration is changed by people only"
    if ".git" in names:
        return "git's own files are changed by git only; use exec"
    if not _may_see(names, WRITABLE_OF_SHIP):
        return "it is Shipmate's own state"
    # Settings of other agents form what those do: writing them asks, though nobody may read them.
    return None if is_settings(names) else refuse_reading(parts)


def forms_member(parts: Sequence[str]) -> bool:
    """Return whether a path forms a prompt, a right, a tool or a hook: what a member is made of."""
    names = [fold(part) for part in parts]
    if not names:
        return False
    if any(name in HOOK_FOLDERS or name.endswith(REPOSITORY_ENDING) for name in names):
        return True
    # Elsewhere `head` is another name, and a usual one.
    last = parts[-1].upper() if sys.platform == "darwin" else parts[-1]
    if names[-1] in HOOK_FILES or last == REPOSITORY_FILE:
        return True
    if names[0] == "projects":
        # Who may write in a project stands in its meta.json.
        return len(names) == 3 and names[2] == "meta.json"
    if names[0] == "agents" and names[2:3] in (["workspace"], ["config.json"]):
        # ZyHive keeps each of its agents in such a folder.
        return names[2] == "config.json" or forms_member(parts[3:])
    if names == ["network", "relations.md"]:
        # Where ZyHive moved it; it says whom a member may ask.
        return True
    return names[0] in FORMING_FOLDERS or (len(names) == 1 and names[0] in FORMING_FILES)


def is_placed(parts: Sequence[str]) -> bool:
    """Return whether it matters for what lies in an open folder that it is this one and no other."""
    return not parts or fold(parts[0]) in FORMING_FOLDERS or fold(parts[0]) in ("projects", "agents")


def is_locked(parts: Sequence[str]) -> bool:
    """Return whether commands may never change a path, whoever approved them."""
    return forms_member(parts) or refuse_writing(parts) is not None


def names_state(parts: Sequence[str]) -> bool:
    """Return whether a path names `.ship`, where what strangers sent lies."""
    return any(fold(part) == ".ship" for part in parts)


def _may_see(names: Sequence[str], allowed: frozenset[str]) -> bool:
    """Return whether a path stays out of `.ship`, or within the folders of it that are allowed."""
    if ".ship" not in names:
        return True
    rest = names[names.index(".ship") + 1 :]
    return bool(rest) and (
        rest[0] in allowed or (allowed is READABLE_OF_SHIP and rest[:2] == ["logs", "calls"])
    )


class ProjectRights:
    """The rights that the meta.json of each project states; each is read once per change."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._files = FileCache(layout.root)

    def closed(self, member: str) -> dict[str, str]:
        """Return the folders in which a member may not write, links resolved, with the projects' ids."""
        return {
            os.path.realpath(self._layout.projects / project.id): project.id
            for project in read_projects(self._layout, self._files)
            if not project.may_write(member)
        }

    def find_closed(self, member: str, ways: Sequence[Sequence[str]]) -> str | None:
        """Return the project that closes a place to a member, given the ways it lies in the workspace.

        A folder around such a project counts: whoever moves or removes it moves or removes the project.
        """
        root = os.path.realpath(self._layout.root)
        places = [fold("/".join((root, *way))) for way in ways if way]
        for folder, project in self.closed(member).items() if places else ():
            names = (fold(folder), fold(f"{root}/projects/{project}"))
            if any(_meet(place, name) for place in places for name in names):
                return project
        return None


def _meet(place: str, folder: str) -> bool:
    return f"{place}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{place}/")


@lru_cache(maxsize=64)
def find_rights(layout: Layout) -> ProjectRights:
    """Return the rights in a workspace, kept from call to call."""
    return ProjectRights(layout)


def refuse_change(context: ToolContext) -> Check:
    """Return what says why a tool may not change a path for the member it works for."""
    rights = find_rights(context.layout)

    def check(parts: Sequence[str]) -> str | None:
        if reason := refuse_writing(parts):
            return reason
        project = rights.find_closed(context.member.id, [parts])
        return f"{context.member.id} may only read in project {project}" if project else None

    return check
