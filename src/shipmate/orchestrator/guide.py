"""Tell a member, with the result of its first call in a folder, what the AGENTS.md nearest to it says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from shipmate.approvals.value import Call
from shipmate.orchestrator.turn import Turn
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import metadata_of
from shipmate.values.saying import fill
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.layout import Layout

# The first of these that a folder has is its guide.
NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
# The tools that work on a file or in a folder of the workspace.
TOOLS = frozenset({"read", "write", "edit", "grep", "glob"})
# What forms members has its own place in prompts.
OUTSIDE = frozenset({".ship", ".git", "members", "skills", "memory"})
TEXT_LIMIT = 4_000
# The key in a message's metadata that says what was told in it.
TOLD = "guides"


class Guides:
    """The guides in the folders of a workspace, each told once in a course."""

    def __init__(self) -> None:
        self._files: dict[Path, FileCache] = {}

    def add_to(self, turn: Turn, call: Call, told: list[Chunk]) -> list[Chunk]:
        """Return the chunks of a result with the guide of its place, unless that was told in this course."""
        output = told[0].get("output")
        if call.tool.name not in TOOLS or not isinstance(output, str):
            return told
        layout = call.context.layout
        guide = self._find(layout, getattr(call.arguments, "path", ""))
        if guide is None or (path := layout.name_of(Path(guide.path))) in _told(turn):
            return told
        turn.guides.add(path)
        values = {"path": path, "folder": path.rpartition("/")[0], "text": _shorten(guide.text, path)}
        words = fill(_wording(), values)
        result = chunks.tool_output(call.call_id, f"{output}\n\n{words.rstrip()}")
        return [result, *told[1:], chunks.message_metadata({TOLD: {path: call.call_id}})]

    def _find(self, layout: Layout, path: str) -> FileText | None:
        """Return the guide nearest to a path, below the top of the workspace, whose own are in the prompt."""
        root = os.path.realpath(layout.root)
        files = self._files.setdefault(layout.root, FileCache(layout.root))
        place = os.path.realpath(os.path.join(root, path)) if path and "\0" not in path else root  # noqa: PTH118
        for folder in _folders(layout, root, place):
            for name in NAMES:
                if f"{folder}/{name}" == place:
                    return None
                file = files.read(f"{folder}/{name}")
                if file.text.strip():
                    return file
        return None


def _folders(layout: Layout, root: str, place: str) -> Iterator[str]:
    """Go over the folders a place lies in, from the innermost, as far as they are ordinary ones."""
    inner = os.path.relpath(place, root).split(os.sep)  # noqa: PTH206
    homes = {f"{root}/{home}" for _, home in layout.homes}
    if inner[0] in (os.pardir, *OUTSIDE):
        return
    folder = place
    while folder.startswith(f"{root}{os.sep}") and folder not in homes:
        yield folder
        folder = os.path.dirname(folder)  # noqa: PTH120


def _told(turn: Turn) -> set[str]:
    """Return what was told in this course."""
    messages = [*turn.thread.history(), turn.message]
    found = [metadata_of(message).get(TOLD) for message in messages]
    return turn.guides.union(*(each for each in found if isinstance(each, dict)))


def _shorten(text: str, path: str) -> str:
    text = text.strip()
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT].rstrip()}\n[It goes on: read {path}.]"


@cache
def _wording() -> str:
    return Path(__file__).with_name("guide.md").read_text(encoding="utf-8")
