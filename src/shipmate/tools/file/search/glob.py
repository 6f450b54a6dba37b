"""List files of the workspace by pattern."""

from __future__ import annotations

import asyncio
import stat
import time

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.confine import open_file
from shipmate.tools.file.read import describe_folder, labels_by_path
from shipmate.tools.file.search.tree import files_below, list_folder
from shipmate.tools.file.search.wildcard import Wildcard
from shipmate.tools.file.shared_project import in_project
from shipmate.tools.file.target import real_path
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject

PATH_LIMIT = 500
SECONDS = 10
WILD = frozenset("*?[{")


class GlobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str = "."


class Glob(Tool[GlobArguments]):
    """The tool that finds files by name."""

    name = "glob"
    description = "List files matching a pattern such as src/**/*.py, sorted."
    arguments = GlobArguments
    labels = Labels(reads_private=True)

    def translate(self, arguments: JsonObject) -> JsonObject:
        return in_project(super().translate(arguments))

    def parse(self, arguments: JsonObject) -> GlobArguments:
        # `list_dir` gives a folder and no pattern.
        return super().parse({"pattern": "", **arguments})

    def labels_for(self, arguments: GlobArguments) -> Labels:
        return labels_by_path(f"{arguments.path}/{arguments.pattern}")

    async def picture(self, arguments: GlobArguments, context: ToolContext) -> Picture:
        return Picture((await super().picture(arguments, context)).text, real_path(context, arguments.path))

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolResult:
        if context.expected is not None:
            real_path(context, arguments.path)
        return ToolResult(output=await asyncio.to_thread(_find, arguments, context))


def _find(arguments: GlobArguments, context: ToolContext) -> str:
    if not arguments.pattern:
        with open_file(context.folder, arguments.path) as (handle, status, place):
            if not stat.S_ISDIR(status.st_mode):
                raise ToolError(f"{place.path} is a file; use read.")
            return describe_folder(list_folder(handle, place.parts))
    path, pattern = narrow(arguments.path, arguments.pattern)
    wildcard = Wildcard(pattern)
    deadline = time.monotonic() + SECONDS
    found: list[str] = []
    for file in files_below(context.folder, path):
        if time.monotonic() > deadline:
            return _list(found, f"stopped after {SECONDS} s; give a narrower path")
        if wildcard.matches(file.below):
            found.append(file.path)
        if len(found) > PATH_LIMIT:
            return _list(found[:PATH_LIMIT], f"more than {PATH_LIMIT} files match; give a narrower pattern")
    return _list(found, "" if found else f"no file matches {arguments.pattern}")


def narrow(path: str, pattern: str) -> tuple[str, str]:
    """Move the leading plain names of a pattern into the path, so that less is walked."""
    if pattern.startswith("/"):
        path, pattern = "/", pattern.lstrip("/")
    while (head := pattern.partition("/"))[1] and not set(head[0]) & WILD:
        path, pattern = f"{path.rstrip('/')}/{head[0]}", head[2]
    return path, pattern


def _list(found: list[str], note: str) -> str:
    return "\n".join([*found, f"[{note}]"] if note else found)
