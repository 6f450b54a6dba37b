"""The room one command runs in: its own empty home, and what it may reach from there."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """Where the writes of a trial go instead of the workspace; both folders lie on one file system."""

    upper: Path
    work: Path


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What one command gets; it is made by `Sandbox.open_room` and ended by `Sandbox.close_room`."""

    # Fresh and empty. It lies in a folder of its own, outside the workspace, which goes with the command.
    home: Path
    network: bool = False
    # The command is git itself, run without a shell: it may write the repository, but no hook and no setting.
    writes_repository: bool = False
    overlay: Overlay | None = None
    # A copy that a trial changes in the workspace's place, where no overlay works.
    stand_in: Path | None = None

    @property
    def folder(self) -> Path:
        """Return the folder that holds all that is made for this room."""
        return self.home.parent

    @property
    def temporary(self) -> Path:
        """Return the command's folder for temporary files."""
        return self.folder / "tmp"

    @property
    def name(self) -> str:
        """Return the name no other room has."""
        return self.folder.name
