"""The skill studio: a thread whose tools see the draft of one skill and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from msgspec.structs import replace

from shipmate.context.builder import ContextBuilder
from shipmate.context.request import Context, ContextRequest
from shipmate.crew.parcel import TEXT, ParcelFile, read_parcel, write_parcel
from shipmate.crew.self_skill import SKILL_ID, install, prepare
from shipmate.errors import NotFoundError, ToolError, UserError, WorkspaceError
from shipmate.orchestrator.equipment import Equipment
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import default_toolset
from shipmate.values.event import surface_of
from shipmate.values.reveal import reveal
from shipmate.values.saying import fill, load_sayings
from shipmate.values.thread_id import STUDIO, ThreadId
from shipmate.values.tool_name import is_among, names_of
from shipmate.workspace.config import Mcp
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

WORDS = Path(__file__).with_name("words")
# What reaches nothing but the folder it is given.
TOOLS = ("read", "glob", "grep", "write", "edit", "exec", "job")


def skill_of(thread_id: ThreadId | None) -> str | None:
    """Return the skill whose studio a thread is; None for every other thread."""
    if thread_id is None or thread_id.scope_type != STUDIO or not surface_of(thread_id.platform).is_owner:
        return None
    if not SKILL_ID.fullmatch(thread_id.scope_id):
        raise UserError(
            f"{thread_id.scope_id[:64]!r} is no id of a skill: letters, digits, '.', '_' and '-'."
        )
    return thread_id.scope_id


def open_draft(member: Member, skill_id: str) -> Path:
    """Return the folder of a draft; it begins as the skill the member has, or with a few lines."""
    folder = member.layout.studio(member.id, skill_id)
    if folder.is_dir():
        return folder
    places = dict.fromkeys((member.own.skills / skill_id, member.layout.skills / skill_id))
    found = next((place for place in places if (place / TEXT).is_file()), None)
    words = fill(load_sayings(WORDS, member.config.language)["draft"], {"skill": skill_id})
    try:
        if found is None:
            files = {TEXT: ParcelFile(f"{words}\n".encode())}
        else:
            files = read_parcel(member.layout.root, member.layout.name_of(found))
        write_parcel(files, folder)
    except ToolError as error:
        raise UserError(f"{skill_id} cannot be opened in the studio: {error}") from error
    except OSError as error:
        raise WorkspaceError(f"the draft of {skill_id} cannot be written: {error.strerror}.") from None
    return folder


def read_draft(member: Member, skill_id: str) -> str:
    """Return the text of a draft's SKILL.md."""
    try:
        return (member.layout.studio(member.id, skill_id) / TEXT).read_text("utf-8", "replace")
    except OSError:
        raise NotFoundError(f"there is no draft of {skill_id}; /studio {skill_id} opens one.") from None


class PublishSkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class PublishSkill(Tool[PublishSkillArguments]):
    """The tool that puts the draft in the place of the member's skill, after a person has seen the diff."""

    name = "publish_skill"
    description = "Put the draft in place of the skill; shows the diff and asks."
    arguments = PublishSkillArguments
    labels = Labels(acts=True)
    forms_member = True

    def __init__(self, member: Member, skill_id: str) -> None:
        # Whose skill it becomes, in the workspace itself.
        self._member = member
        self._skill_id = skill_id

    async def picture(self, arguments: PublishSkillArguments, context: ToolContext) -> Picture:
        files = await asyncio.to_thread(read_parcel, context.folder, ".")
        change = prepare(self._skill_id, files, replace(context, member=self._member))
        return Picture(reveal(change.words), change.target)

    async def run(self, arguments: PublishSkillArguments, context: ToolContext) -> ToolResult:
        files = await asyncio.to_thread(read_parcel, context.folder, ".")
        there = replace(context, member=self._member)
        change = prepare(self._skill_id, files, there)
        return ToolResult(output=await asyncio.to_thread(install, change, there))


class StudioContext(ContextBuilder):
    """The prompt of a member that works in the studio."""

    def __init__(self, member: Member, skill_id: str) -> None:
        super().__init__(member)
        self._words = fill(load_sayings(WORDS, member.config.language)["studio"], {"skill": skill_id})

    def build(self, request: ContextRequest) -> Context:
        told = "\n\n".join(filter(None, (self._words, request.extra_context)))
        return super().build(replace(request, extra_context=told))


class Studios:
    """What members work with in the studio, made once for each draft."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], tuple[Equipment, Equipment]] = {}
        self._retired: list[Equipment] = []

    def equip(self, usual: Equipment, skill_id: str) -> Equipment:
        """Return a member with tools that are confined to a draft; `usual` is what it has elsewhere."""
        key = usual.member.id, skill_id
        known = self._made.get(key)
        if known is not None and known[0] is usual:
            return known[1]
        if known is not None:
            self._retired.append(known[1])
        made = _equip(usual, skill_id)
        self._made[key] = usual, made
        return made

    async def close(self) -> None:
        """End what tools still have running."""
        for each in (*(made for _, made in self._made.values()), *self._retired):
            await each.toolset.close()


def _equip(usual: Equipment, skill_id: str) -> Equipment:
    member = usual.member
    draft = Layout(open_draft(member, skill_id))
    # Neither servers of tools nor private variables: they reach further than the draft.
    inside = replace(member, layout=draft, own=draft, config=replace(member.config, mcp=Mcp(), env={}))
    offered = [name for name in TOOLS if member.tools is None or is_among(names_of(name), member.tools)]
    publish = PublishSkill(member, skill_id)
    toolset = default_toolset(inside, Sandbox(draft), None, [publish])
    return Equipment(
        inside,
        usual.models,
        toolset.limited_to([*offered, publish.name]),
        StudioContext(member, skill_id),
    )
