"""Keep a list of steps that everyone in the thread sees."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.text import clean
from shipmate.tools.tool import Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject

COUNT_LIMIT = 50
TEXT_LIMIT = 200
# As Markdown marks a task.
MARK = re.compile(r"\s*(?:[-*]\s+)?\[( |x|X)\]\s*")


class StepsArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    steps: tuple[str, ...]


class Steps(Tool[StepsArguments]):
    """The tool that shows what a member means to do and has done. It changes nothing but what is shown."""

    name = "steps"
    description = "Show everyone your list of steps, whole each time; [x] before those that are done."
    arguments = StepsArguments

    async def run(self, arguments: StepsArguments, context: ToolContext) -> ToolResult:
        found = [each for each in map(_read, arguments.steps) if each["text"]]
        if len(found) > COUNT_LIMIT:
            raise ToolError(f"A list has at most {COUNT_LIMIT} steps. Nothing has changed.")
        done = sum(each["done"] for each in found)
        data: JsonObject = {"steps": found, "member": context.member.id}
        return ToolResult(output=f"{done} of {len(found)} done.", data=("steps", data))


def write_steps(steps: Iterable[JsonObject]) -> str:
    """Write steps as a list that shows which are done."""
    return "\n".join(f"{'☑' if each.get('done') else '☐'} {each.get('text', '')}" for each in steps)


def _read(line: str) -> JsonObject:
    mark = MARK.match(line)
    text = " ".join(clean(line[mark.end() :] if mark else line).split())
    return {"text": text[:TEXT_LIMIT], "done": mark is not None and mark[1] != " "}
