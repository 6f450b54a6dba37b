"""Remember facts about the project, the people in it, the day and the topics a member works on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from shipmate.context.profile import choose_profile
from shipmate.context.section import tell_time
from shipmate.errors import ToolError, UserError
from shipmate.memory.reader import user_key
from shipmate.tools.file.diff import unified
from shipmate.tools.file.target import check_target
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.reveal import reveal
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.load import load_config
from shipmate.workspace.member import Member
from shipmate.workspace.settings.memory_rule import EntryKind

if TYPE_CHECKING:
    from shipmate.memory.service import EntryChange


class MemoryUpsertArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scope: Literal["project", "user", "day", "topic"]
    heading: str
    content: str
    kind: EntryKind = "fact"


class MemoryUpsert(Tool[MemoryUpsertArguments]):
    """The tool that writes one note of long-term memory."""

    name = "memory_upsert"
    description = (
        "Remember a lasting fact under a heading, replacing what stood there; empty content forgets it. "
        "`day` and `topic` are your own notes."
    )
    arguments = MemoryUpsertArguments
    labels = Labels(acts=True)

    async def picture(self, arguments: MemoryUpsertArguments, context: ToolContext) -> Picture:
        return picture_changes(_plan(arguments, context), context)

    async def run(self, arguments: MemoryUpsertArguments, context: ToolContext) -> ToolResult:
        changes = _plan(arguments, context)
        write_changes(changes, context)
        done = "Remembered" if arguments.content.strip() else "Forgotten"
        first = changes[0]
        place = first.path.relative_to(context.folder).as_posix()
        return ToolResult(output=f"{done}: {first.entry.heading} ({place}).")


def picture_changes(changes: Sequence[EntryChange], context: ToolContext) -> Picture:
    """Return the diff of what would be remembered, and how the entries stand that it replaces."""
    # Most runs remember nothing.
    from shipmate.memory.service import MemoryService

    service = MemoryService(context.layout)
    try:
        made = service.plan(changes)
    except UserError as error:
        raise ToolError(error.args[0]) from error
    diffs = [unified(service.name(each.path), each.before, each.after) for each in made]
    return Picture(reveal("".join(diffs)) or "[nothing changes]", service.state(changes))


def write_changes(changes: Sequence[EntryChange], context: ToolContext) -> None:
    """Write entries that a person agreed to, unless they stand otherwise by now."""
    from shipmate.memory.service import MemoryService

    try:
        MemoryService(context.layout).write(changes, lambda state: check_target(context, state))
    except UserError as error:
        raise ToolError(error.args[0]) from error


def check_changes(changes: Sequence[EntryChange], context: ToolContext) -> None:
    """Refuse secrets, paths of the machine and private data of others, whatever a model was told."""
    from shipmate.memory.service import MemoryService

    service = MemoryService(context.layout, mask=load_config(context.layout).mask)
    for each in changes:
        if why := service.refuse(each, context.member.config.memory):
            raise ToolError(f"{each.entry.heading}: {why}. Nothing was written.")


def make_change(
    path: Path, heading: str, content: str, context: ToolContext, *, kind: EntryKind, day: str
) -> EntryChange:
    """Make an entry of what a model wrote, with the thread it comes from."""
    from shipmate.memory.memory_entry import HEADING_LIMIT, MemoryEntry, tame
    from shipmate.memory.service import EntryChange

    try:
        heading = " ".join(clean(heading).strip(" \t\n#").split())
        text = "\n".join(tame(clean(content)))
        f"{heading}{text}".encode()
    except UnicodeEncodeError as error:
        raise ToolError("The text holds half a character (a lone surrogate). Nothing was written.") from error
    if not heading or len(heading) > HEADING_LIMIT:
        raise ToolError(f"A heading is one line of 1 to {HEADING_LIMIT} characters.")
    entry = MemoryEntry(
        heading=heading,
        text=text,
        kind=kind,
        date=day,
        source=context.thread_id,
        is_tainted=context.is_tainted,
    )
    return EntryChange(path=path, entry=entry)


def user_file(context: ToolContext) -> Path:
    """Return the file of the person who speaks."""
    if not context.user_id:
        raise ToolError("Nobody in particular is speaking here; only the project can be remembered.")
    platform = ThreadId.parse(context.thread_id).platform
    return context.layout.user_memory(user_key(platform, context.user_id))


def find_today(member: Member) -> date:
    """Return the day as a member's prompt tells it."""
    config = member.config
    return tell_time(None, config.timezone or choose_profile(config.context).timezone).date()


def _plan(arguments: MemoryUpsertArguments, context: ToolContext) -> list[EntryChange]:
    from shipmate.memory.service import MemoryService, make_slug

    own = context.member.own
    today = find_today(context.member)
    match arguments.scope:
        case "project":
            path = context.layout.project_memory
        case "user":
            path = user_file(context)
        case "day":
            filed, plain = own.filed_daily_note(today), own.daily_note(today)
            path = filed if filed.parent.is_dir() and not plain.is_file() else plain
        case "topic":
            path = own.topic_note(make_slug(clean(arguments.heading)))
    change = make_change(
        path,
        arguments.heading,
        arguments.content,
        context,
        kind=arguments.kind,
        day=today.isoformat(),
    )
    check_changes([change], context)
    changes = [change]
    if arguments.scope in ("day", "topic") and change.entry.text:
        index = MemoryService(context.layout).keep_index(own, path, change.entry.heading)
        changes += [index] if index else []
    return changes
