"""The tools with which a member changes itself: its name, its soul, its variables. Each call asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from shipmate.crew.enlisting import VARIABLE, rename, set_variable
from shipmate.errors import ToolError, UserError
from shipmate.tools.file.target import check_target
from shipmate.tools.file.write import Write, WriteArguments
from shipmate.tools.tool import Arguments, Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.crew import Crew
from shipmate.workspace.secret.sealed import SealedValues

# A prompt holds the whole of it.
SOUL_LIMIT = 65_536
VALUE_LIMIT = 8_192
# Every such tool has a name that begins so; a member's `tools` may name them.


@contextmanager
def told_to_model() -> Generator[None, None, None]:
    """Turn what a person would be told into an error the model can learn from."""
    try:
        yield
    except UserError as error:
        raise ToolError(f"{error} Nothing has changed.") from error


class SelfTool(Tool[Arguments]):
    """A tool that changes what a member is. Only a yes to this very call lets it run."""

    labels = Labels(acts=True)
    forms_member = True

    def __init__(self, crew: Crew) -> None:
        self.crew = crew


class SelfRenameArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class SelfRename(SelfTool[SelfRenameArguments]):
    """The tool with which a member takes another name."""

    name = "self_rename"
    description = "Change your display name."
    arguments = SelfRenameArguments

    async def picture(self, arguments: SelfRenameArguments, context: ToolContext) -> Picture:
        member = self.crew.find(context.member.id)
        return Picture(reveal(f"{member.id}: {member.name} → {arguments.name}"), {"name": member.name})

    async def run(self, arguments: SelfRenameArguments, context: ToolContext) -> ToolResult:
        member = self.crew.find(context.member.id)
        check_target(context, {"name": member.name})
        with told_to_model():
            place = rename(self.crew, member, arguments.name)
        return ToolResult(output=f"{place} says so now.")


class SelfUpdateSoulArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: str


class SelfUpdateSoul(SelfTool[SelfUpdateSoulArguments]):
    """The tool with which a member writes its SOUL.md anew, as `write` would."""

    name = "self_update_soul"
    description = "Replace your SOUL.md."
    arguments = SelfUpdateSoulArguments

    async def picture(self, arguments: SelfUpdateSoulArguments, context: ToolContext) -> Picture:
        return await Write().picture(_soul(arguments, context), context)

    async def run(self, arguments: SelfUpdateSoulArguments, context: ToolContext) -> ToolResult:
        return await Write().run(_soul(arguments, context), context)


class SelfSetEnvArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    value: str


class SelfSetEnv(SelfTool[SelfSetEnvArguments]):
    """The tool with which a member keeps a private variable; nobody is shown the value."""

    name = "self_set_env"
    description = "Keep a private variable for your commands."
    arguments = SelfSetEnvArguments
    sealed = frozenset({"value"})

    async def picture(self, arguments: SelfSetEnvArguments, context: ToolContext) -> Picture:
        self._open(arguments, context)
        known = arguments.key in self.crew.find(context.member.id).config.env
        does = "another value" if known else "a value"
        return Picture(f"{context.member.id}: {arguments.key} gets {does} (not shown)", _target(known))

    async def run(self, arguments: SelfSetEnvArguments, context: ToolContext) -> ToolResult:
        value = self._open(arguments, context)
        member = self.crew.find(context.member.id)
        check_target(context, _target(arguments.key in member.config.env))
        with told_to_model():
            place = set_variable(self.crew, member, arguments.key, value)
        SealedValues(context.layout).forget(arguments.value)
        return ToolResult(output=f"{place} holds {arguments.key}. Commands that name it get it.")

    def _open(self, arguments: SelfSetEnvArguments, context: ToolContext) -> str:
        if not VARIABLE.fullmatch(arguments.key):
            raise ToolError("A variable has a name such as API_KEY. Nothing has changed.")
        with told_to_model():
            value = SealedValues(context.layout).open(arguments.value)
        if len(value) > VALUE_LIMIT or "\0" in value or not value.isprintable():
            raise ToolError(
                f"A value is one line of at most {VALUE_LIMIT:,} characters. Nothing has changed."
            )
        if "${" in value:
            # Settings put the host's own variables in such a place, keys of models among them.
            raise ToolError("A value must not hold ${: it would name a variable. Nothing has changed.")
        return value


class SelfDeleteEnvArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str


class SelfDeleteEnv(SelfTool[SelfDeleteEnvArguments]):
    """The tool with which a member gives a private variable up."""

    name = "self_delete_env"
    description = "Remove one of your private variables."
    arguments = SelfDeleteEnvArguments

    async def picture(self, arguments: SelfDeleteEnvArguments, context: ToolContext) -> Picture:
        known = arguments.key in self.crew.find(context.member.id).config.env
        if not known:
            raise ToolError(f"{context.member.id} has no variable {arguments.key[:64]!r}.")
        return Picture(reveal(f"{context.member.id}: {arguments.key} is removed"), _target(known))

    async def run(self, arguments: SelfDeleteEnvArguments, context: ToolContext) -> ToolResult:
        with told_to_model():
            place = set_variable(self.crew, self.crew.find(context.member.id), arguments.key, None)
        return ToolResult(output=f"{place} does not hold {arguments.key} any more.")


def _soul(arguments: SelfUpdateSoulArguments, context: ToolContext) -> WriteArguments:
    if len(arguments.content) > SOUL_LIMIT:
        raise ToolError(f"SOUL.md is part of every prompt: at most {SOUL_LIMIT:,} characters.")
    place = context.layout.name_of(context.member.own.bootstrap("SOUL.md"))
    return WriteArguments(path=place, content=arguments.content)


def _target(known: bool) -> JsonObject:
    return {"state": "present" if known else "absent"}
