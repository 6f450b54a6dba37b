"""Know in which shared projects a member may not write; every way to change a file asks here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from shipmate.tools.file.confine import Check
from shipmate.tools.file.protection import fold, refuse_writing
from shipmate.tools.tool import ToolContext
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from shipmate.workspace.project import read_projects


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
