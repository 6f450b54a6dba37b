"""Read the shared projects of a workspace, and who may write in them."""

from __future__ import annotations

from typing import Any

import msgspec

from shipmate.values.nesting import check_nesting
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.layout import CAPTAIN, Layout

NOBODY = "__none__"


class Project(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One project folder, as its meta.json describes it."""

    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    # Members who may write; empty means all, `__none__` means nobody.
    editors: tuple[str, ...] = ()
    problem: str = ""

    def may_write(self, member: str) -> bool:
        """Return whether a member may write in this project."""
        return not self.editors or member in self.editors


def read_projects(layout: Layout, files: FileCache) -> list[Project]:
    """Read every project by id; one whose meta.json is broken stays listed, for reading only."""
    found: list[Project] = []
    for name in files.names(layout.projects):
        folder = layout.projects / name
        if name.startswith(".") or not folder.is_dir():
            continue
        found.append(files.make(folder / "meta.json", "project", lambda file, name=name: _read(name, file)))
    return (
        [_name_captain(project, layout.captain_alias) for project in found] if layout.captain_alias else found
    )


def _name_captain(project: Project, alias: str) -> Project:
    """Return a project in which whoever another program calls by this id is the captain."""
    editors = (CAPTAIN if name == alias else name for name in project.editors)
    return msgspec.structs.replace(project, editors=tuple(editors))


def _read(folder: str, file: FileText) -> Project:
    if file.is_missing:
        return Project(id=folder, name=folder)
    try:
        data = msgspec.json.decode(check_nesting(file.text.encode()))
    except (msgspec.DecodeError, UnicodeEncodeError):
        data = None
    if not isinstance(data, dict):
        # Who may write cannot be known, so nobody may.
        return Project(
            id=folder, name=folder, editors=(NOBODY,), problem=file.problem or "not a JSON object; mend it"
        )
    editors, problem = _read_editors(data)
    return Project(
        id=folder,
        name=_line(data.get("name")) or folder,
        description=_line(data.get("description")),
        tags=_lines(data.get("tags")),
        editors=editors,
        problem=problem,
    )


def _read_editors(data: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return who may write; what names nobody for certain lets nobody."""
    stated = [value for key, value in data.items() if key.lower() == "editors" and value is not None]
    if not stated or stated == [[]]:
        return (), ""
    editors = _lines(stated[0])
    is_whole = len(stated) == 1 and isinstance(stated[0], list) and len(editors) == len(stated[0])
    problem = "" if is_whole else 'editors is no list of member ids, such as ["nina"]; mend it'
    return editors or (NOBODY,), problem


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _lines(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    return tuple(line for item in items if (line := _line(item)))
