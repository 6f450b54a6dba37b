"""A throw-away copy of a workspace: what runs there reaches neither the workspace nor its secrets."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from shipmate.errors import UserError
from shipmate.rehearsal.remover import Remover
from shipmate.tools.exec.preview.effect import TooMuchError
from shipmate.tools.exec.preview.replica import Replica
from shipmate.tools.exec.sandbox.readable import readable_places
from shipmate.tools.exec.sandbox.room import choose_place, name_folder, sweep_rooms
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import SHIP, Layout

# What of `.ship` a member sees as its own.
KEPT_OF_SHIP = ("memory", "scratch")


class WorkspaceCopy:
    """A copy outside the workspace, of its files as they stand without its state and its secrets."""

    def __init__(self, layout: Layout) -> None:
        self._workspace = layout
        place = choose_place(layout.root)
        sweep_rooms(place)
        # The process stands in the name: where even the remover was killed, the next one finds it.
        self._folder = place / name_folder()
        self.layout = replace(layout, root=self._folder / (layout.root.name or "workspace"))
        self.sandbox = Sandbox(self.layout)
        self._remover: Remover | None = None
        self._inward = _path_pattern(layout.root)
        self._outward = _path_pattern(self.layout.root)

    def make(self) -> None:
        """Copy the workspace; raise UserError where that cannot be."""
        if self._folder.is_relative_to(self._workspace.root.resolve()):
            raise UserError(
                "the workspace holds the folder for temporary files, so it cannot be copied there."
            )
        self._folder.mkdir(mode=0o700)
        self._remover = Remover(self._folder)
        try:
            Replica(self._workspace.root, self.layout.root).make()
        except TooMuchError as error:
            raise UserError(f"{error}. Rehearse it with `--tools script`.") from error
        self._turn_links()
        self._make_state()

    def remove(self) -> None:
        """Remove the copy, and wait until it is gone."""
        if self._remover is not None:
            self._remover.finish()

    def confines(self) -> bool:
        """Return whether commands are held to the copy, and see nothing of the workspace."""
        root = self._workspace.root.resolve()
        is_shown = any(root.is_relative_to(place) for place in readable_places(self.layout.root))
        return not is_shown and self.sandbox.works

    def enter(self, value: Any) -> Any:
        """Return a JSON value in which the workspace's path is the copy's."""
        return _rewrite(value, self._inward, str(self.layout.root))

    def leave(self, value: Any) -> Any:
        """Return a JSON value in which the copy's path is the workspace's."""
        return _rewrite(value, self._outward, str(self._workspace.root))

    def _turn_links(self) -> None:
        """Point links that name a place of the workspace by its whole path at the same place of the copy."""
        roots = {self._workspace.root, self._workspace.root.resolve()}
        for folder, names, files in os.walk(self.layout.root):
            for link in (Path(folder) / name for name in (*names, *files)):
                if link.is_symlink() and (inner := _find_inside(link.readlink(), roots)) is not None:
                    # In a folder that is closed to us it stays as it is, and leads nowhere.
                    with contextlib.suppress(PermissionError):
                        link.unlink()
                        link.symlink_to(self.layout.root / inner)

    def _make_state(self) -> None:
        """Make the copy's own `.ship`, a folder whatever it is in the workspace."""
        if not self.layout.ship.is_dir() or self.layout.ship.is_symlink():
            self.layout.ship.unlink(missing_ok=True)
        make_private(self.layout.ship)
        for name in KEPT_OF_SHIP:
            _copy_files(self._workspace.root / SHIP / name, self.layout.ship / name)


def _find_inside(target: Path, roots: Collection[Path]) -> Path | None:
    """Return where in a workspace a link leads that names the whole path, None for any other link."""
    plain = Path(os.path.normpath(target))
    own = next((root for root in roots if target.is_absolute() and plain.is_relative_to(root)), None)
    return None if own is None else plain.relative_to(own)


def _copy_files(source: Path, copy: Path) -> None:
    """Copy plain files alone: what Shipmate itself writes there would follow a link out."""
    make_private(copy)
    # Links to folders are not followed.
    for folder, _, names in os.walk(source):
        target = copy / Path(folder).relative_to(source)
        make_private(target)
        for file in (Path(folder) / name for name in names):
            if file.is_file() and not file.is_symlink():
                shutil.copyfile(file, target / file.name, follow_symlinks=False)


def _path_pattern(path: Path) -> re.Pattern[str]:
    """Return what finds a path in a text, but not the longer name of a neighbour."""
    return re.compile(rf"(?<![\w./-]){re.escape(str(path))}(?![\w-]|\.\w)")


def _rewrite(value: Any, path: re.Pattern[str], other: str) -> Any:
    if isinstance(value, str):
        return path.sub(lambda _: other, value)
    if isinstance(value, dict):
        return {key: _rewrite(inner, path, other) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rewrite(inner, path, other) for inner in value]
    return value
