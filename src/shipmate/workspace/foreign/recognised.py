"""Describe a folder of another program: what it is, and what of it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from shipmate.values.message import JsonObject


class Unused(msgspec.Struct, frozen=True, kw_only=True):
    """Something of another program that is seen and not used, with the reason."""

    # A file or a setting, named from the workspace.
    what: str
    why: str
    # What ship.json needs to use it; empty when it cannot be used.
    lines: JsonObject = {}


class Recognised(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A folder of another program that opens as a workspace."""

    program: str
    # The folder that is the workspace: of a home folder, the one inside it.
    root: Path
    # An `agent` lives there, or it is a `project` with words for whichever agent works in it.
    kind: Literal["agent", "project"]
    # The files it was recognised by.
    signs: tuple[str, ...]
    profile: Literal["shipmate", "nanobot", "zyhive"] = "shipmate"
    name: str = ""
    description: str = ""
    # Files that are read as AGENTS.md is, from the workspace.
    instructions: tuple[str, ...] = ()
    # Files that are told when a tool works on a file that fits one of their patterns, from the workspace.
    rules: dict[str, tuple[str, ...]] = {}
    # Folders of skills beside `skills/`, from the workspace.
    skill_folders: tuple[str, ...] = ()
    # The folder or file of each further agent by its id, from the workspace.
    members: dict[str, str] = {}
    # The folder of the agent the workspace itself stands for, where that is not the workspace.
    captain: str = ""
    # Rules of what its program may not do: they bind here too. What it may do unasked is not taken over.
    denied: tuple[str, ...] = ()
    unused: tuple[Unused, ...] = ()
    # Keys that stand in the clear in the program's settings; they are masked wherever text is shown.
    secrets: tuple[str, ...] = ()

    def defaults(self) -> JsonObject:
        """Return what ship.json would say to open the folder in the same way."""
        context: JsonObject = {"profile": self.profile} if self.profile != "shipmate" else {}
        if self.instructions:
            context["instructions"] = list(self.instructions)
        found: JsonObject = {"name": self.name, "description": self.description, "context": context}
        if self.skill_folders:
            found["skills"] = {"paths": list(self.skill_folders)}
        if self.denied:
            found["permissions"] = {"deny": list(self.denied)}
        return {key: value for key, value in found.items() if value}
