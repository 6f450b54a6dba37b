"""Replace an exact passage of a file."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.change.replace import replace_bytes
from shipmate.tools.file.change.rewind import keep_before
from shipmate.tools.file.confine import locate
from shipmate.tools.file.diff import unified
from shipmate.tools.file.protection import refuse_change
from shipmate.tools.file.shared_project import in_project
from shipmate.tools.file.target import FileState, approved_path, check_target, file_target, read_state
from shipmate.tools.file.write import encode
from shipmate.tools.output import keep
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

FILE_LIMIT = 5_000_000
# What a file may become by one call.
RESULT_LIMIT = 20_000_000
PLACES_SHOWN = 20
# What nanobot and Claude Code call the arguments.
SYNONYMS = {
    "file_path": "path",
    "old_text": "old",
    "new_text": "new",
    "old_string": "old",
    "new_string": "new",
    "replace_all": "all",
}


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    old: str
    new: str
    all: bool = False


class Edit(Tool[EditArguments]):
    """The tool that changes a file where one passage stands."""

    name = "edit"
    description = "Replace the one passage that is exactly `old`; `all` replaces every one."
    arguments = EditArguments
    synonyms = SYNONYMS
    labels = Labels(acts=True)

    def translate(self, arguments: JsonObject) -> JsonObject:
        return in_project(super().translate(arguments))

    budget = 4_000

    async def picture(self, arguments: EditArguments, context: ToolContext) -> Picture:
        diff, target = await asyncio.to_thread(_change, arguments, context, False)
        return Picture(reveal(diff), target)

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        diff, _ = await asyncio.to_thread(_change, arguments, context, True)
        return ToolResult(output=keep(diff, context, self.budget))


def _change(arguments: EditArguments, context: ToolContext, is_meant: bool) -> tuple[str, JsonObject]:
    """Work the change out, carry it out when it is meant, and return the diff and what it is made from."""
    expected = approved_path(context) if is_meant else None
    with locate(context.folder, arguments.path, refuse_change(context), expected=expected) as place:
        state = read_state(place, FILE_LIMIT)
        target = file_target(place.path, state)
        if is_meant:
            check_target(context, target)
        before = _text_of(state, place.path)
        after = replace(before, arguments)
        data = encode(after)
        if is_meant:
            keep_before(context, "edit", place, data)
            replace_bytes(place, data, state)
        return unified(place.path, before, after), target


def _text_of(state: FileState | None, path: str) -> str:
    if state is None:
        raise ToolError(f"{path}: there is no such file or folder. Use glob to see what exists.")
    if state.content is None:
        raise ToolError(f"{path} is larger than {FILE_LIMIT:,} bytes, the most this tool takes.")
    try:
        return state.content.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is not UTF-8 text. Change it with exec.") from error


def replace(text: str, arguments: EditArguments) -> str:
    """Replace the passage, or say why it cannot be done."""
    old, new = arguments.old, arguments.new
    if not old or old == new:
        raise ToolError("`old` must not be empty, and must differ from `new`. Nothing was changed.")
    if old not in text and "\r\n" in text:
        # `read` shows Windows line ends as plain ones; the file keeps its own.
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        raise ToolError(f"{arguments.path} has no such passage{_nearest(text, old)}. Nothing was changed.")
    if count > 1 and not arguments.all:
        raise ToolError(
            f"The passage stands {count} times in {arguments.path}, at lines {_lines_of(text, old)}. "
            "Give more text around it, or set `all`. Nothing was changed."
        )
    if len(text) + count * (len(new) - len(old)) > RESULT_LIMIT:
        raise ToolError(
            f"{arguments.path} would grow past {RESULT_LIMIT // 1_000_000} MB: {count:,} passages become "
            f"{len(new):,} characters each. Nothing was changed."
        )
    return text.replace(old, new)


def _lines_of(text: str, passage: str) -> str:
    lines: list[str] = []
    at = text.find(passage)
    while at >= 0 and len(lines) < PLACES_SHOWN:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(passage, at + len(passage))
    return ", ".join(lines) + (", …" if at >= 0 else "")


def _nearest(text: str, passage: str) -> str:
    """Point at a line that differs from the passage's first one in white space only."""
    wanted = "".join(passage.strip().partition("\n")[0].split())
    for number, line in enumerate(text.splitlines(), 1):
        if wanted and "".join(line.split()) == wanted:
            return f"; line {number} begins alike but for white space"
    return ""
