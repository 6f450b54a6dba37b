"""Tell a member, with the result of its first call there, the guide of a folder and the rules for a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from shipmate.approvals.value import Call
from shipmate.errors import ToolError
from shipmate.orchestrator.turn import Turn
from shipmate.tools.file.search.wildcard import Wildcard
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
        known = _told(turn)
        words = {path: text for path, text in self._find_words(call) if path not in known}
        if not words:
            return told
        turn.guides.update(words)
        result = chunks.tool_output(call.call_id, "\n\n".join((output, *words.values())))
        return [result, *told[1:], chunks.message_metadata({TOLD: dict.fromkeys(words, call.call_id)})]

    def _find_words(self, call: Call) -> Iterator[tuple[str, str]]:
        """Go over what holds for the place of a call: the guide of its folder, and rules for such files."""
        layout, place = call.context.layout, getattr(call.arguments, "path", "")
        if (guide := self._find(layout, place)) is not None:
            path = layout.name_of(Path(guide.path))
            folder = path.rpartition("/")[0]
            yield path, _word("guide.md", path, guide.text, folder=folder)
        used = call.context.member.config.context.instructions
        for path, globs in self._find_rules(layout, place):
            text = self._files[layout.root].make(layout.root / path, "body", _without_settings)
            if path not in used and text.strip():
                yield path, _word("rule.md", path, text, globs=", ".join(globs))

    def _find_rules(self, layout: Layout, path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Go over the rules of another program that hold for a file."""
        rules = layout.recognised.rules if layout.recognised is not None else {}
        parts = Path(os.path.relpath(_resolve(layout, path), os.path.realpath(layout.root))).parts
        if not rules or parts[:1] in ((), (os.pardir,)):
            return
        yield from ((rule, globs) for rule, globs in rules.items() if _holds(globs, parts))

    def _find(self, layout: Layout, path: str) -> FileText | None:
        """Return the guide nearest to a path, below the top of the workspace, whose own are in the prompt."""
        root, place = os.path.realpath(layout.root), _resolve(layout, path)
        files = self._files.setdefault(layout.root, FileCache(layout.root))
        for folder in _folders(layout, root, place):
            for name in NAMES:
                if f"{folder}/{name}" == place:
                    return None
                file = files.read(f"{folder}/{name}")
                if file.text.strip():
                    return file
        return None


def _resolve(layout: Layout, path: str) -> str:
    root = os.path.realpath(layout.root)
    return os.path.realpath(os.path.join(root, path)) if path and "\0" not in path else root  # noqa: PTH118


def _holds(globs: tuple[str, ...], parts: Sequence[str]) -> bool:
    """Return whether a file fits one of the patterns; one without a folder fits in every folder."""
    return any(_wildcard(each).matches(parts) for each in globs)


@lru_cache(maxsize=256)
def _wildcard(pattern: str) -> Wildcard:
    whole = f"{pattern}**" if pattern.endswith("/") else pattern
    try:
        return Wildcard(whole if "/" in whole else f"**/{whole}")
    except ToolError:
        # A pattern that cannot be read fits no file.
        return Wildcard("")


def _without_settings(file: FileText) -> str:
    # Few workspaces have rules, and YAML takes long to load.
    from shipmate.workspace.frontmatter import read_frontmatter

    return read_frontmatter(file.text).body


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


def _word(wording: str, path: str, text: str, **fields: str) -> str:
    return fill(_wording(wording), {"path": path, **fields, "text": _shorten(text, path)}).rstrip()


def _shorten(text: str, path: str) -> str:
    text = text.strip()
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT].rstrip()}\n[It goes on: read {path}.]"


@cache
def _wording(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
