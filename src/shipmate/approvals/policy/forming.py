"""Know what forms a member of one workspace: by its name, by ship.json, or because AGENTS.md pulls it in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from shipmate.approvals.policy.subject import PathSubject
from shipmate.context.reference import find_places
from shipmate.tools.file.protection import fold, forms_member
from shipmate.workspace.config import Config, McpServer
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout

# A program has its other parts beside it.
CODE_ENDINGS = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".php", ".lua"})
GUIDES = frozenset({"agents.md", "claude.md", "gemini.md"})
# A folder that holds one of these can be run.
RUNNABLE = ("__main__.py", "index.js", "package.json", "pyproject.toml")


def forms_by_name(place: PathSubject) -> bool:
    """Return whether a path forms a member in every workspace."""
    return any(forms_member(way) for way in place.ways)


class Forming:
    """What forms the members of one workspace."""

    def __init__(self, layout: Layout, config: Config) -> None:
        self._layout = layout
        self._root = os.path.realpath(layout.root)
        self._files = FileCache(layout.root)
        skills = [Path(layout.root / path) for path in config.skills.paths]
        programs = [path for server in config.mcp.servers.values() for path in self._programs(server)]
        self._instructions = [Path(layout.root / path) for path in config.context.instructions]
        self._is_bare = config.context.profile == "zyhive"
        self._places = frozenset(self._fold(path) for path in (*skills, *programs, *self._instructions))

    def covers(self, place: PathSubject) -> bool:
        """Return whether changing a path changes what a member is."""
        # Further down such a file is told to whoever works beside it.
        if forms_by_name(place) or any(fold(way[-1]) in GUIDES for way in place.ways if way):
            return True
        found = [fold("/".join((self._root, *way))) for way in place.ways]
        if any(path == kept or path.startswith(f"{kept}/") for path in found for kept in self._places):
            return True
        return not self._pulled_in().isdisjoint(found)

    def _pulled_in(self) -> set[str]:
        """Return the files that the AGENTS.md of anybody refers to, present or not."""
        homes = [self._layout.root / folder / "AGENTS.md" for _, folder in self._layout.homes]
        paths = [self._layout.bootstrap("AGENTS.md"), *homes, *self._instructions]
        paths += self._layout.members.glob("*/AGENTS.md")
        return {
            fold(place)
            for path in paths
            for place in find_places(
                self._files.read(path), self._layout.root, self._files, is_bare=self._is_bare
            )
        }

    def _programs(self, server: McpServer) -> Iterator[Path]:
        """Return what of the workspace a server of tools runs, which it does unconfined."""
        words = [server.command or "", *server.args]
        for before, word in zip(["", *words], words, strict=False):
            if not word or word.startswith("-"):
                continue
            if before == "-m":
                top = self._layout.root / word.partition(".")[0]
                yield from (top, top.with_suffix(".py"))
            else:
                yield from self._program(Path(os.path.realpath(self._layout.root / word)))

    def _program(self, path: Path) -> Iterator[Path]:
        if not str(path).startswith(f"{self._root}/"):
            return
        if path.is_dir():
            yield from [path] if any((path / name).exists() for name in RUNNABLE) else []
            return
        yield path
        if path.suffix in CODE_ENDINGS and str(path.parent) != self._root:
            yield path.parent
        elif path.suffix in CODE_ENDINGS:
            yield from path.parent.glob(f"*{path.suffix}")

    def _fold(self, path: Path) -> str:
        return fold(os.path.realpath(path))
