"""A member of a workspace: its files, and the settings they state."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from shipmate.errors import ConfigError, UserError
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config, Llm, Permissions, Skills
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, decode_object, resolve_variables, unknown_keys
from shipmate.workspace.settings.memory_rule import MemoryRule

# A model with our own loop, or a program of others that is driven as it is.
Kind = Literal["native", "claude-code", "openai-codex", "google-gemini"]
HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
# `- **Name:** Ada`, `Name: Ada`, `- 名称：小流`
NAMED = re.compile(r"^\W*(?:name|名称|名字|姓名)\W*[:：]\W*(\w.*?)\W*$", re.IGNORECASE | re.MULTILINE)
DESCRIPTION_LIMIT = 200
# From what lets the least happen unasked to what lets the most.
MODES = ("read-only", "ask", "preview", "auto-edit", "yolo")

# What keeps a member from something; misspelt it must not be passed over.
LIMITS = ("permissions", "tools", "skills")


class MemberSettings(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=False
):
    """What a member.json, or the front matter of an Agent.md, may state. Every key is optional."""

    name: str | None = None
    kind: Kind = "native"
    description: str | None = None
    colour: str | None = None
    language: Literal["en", "zh"] | None = None
    model: Annotated[
        str | Llm | None, Meta(description="provider:model, or an object like `llm` of ship.json")
    ] = None
    tools: Annotated[tuple[str, ...] | None, Meta(description="the only tools it is offered")] = None
    skills: Annotated[
        tuple[str, ...] | Skills | None,
        Meta(description="the only skills it has, or an object like `skills` of ship.json"),
    ] = None
    knowledge: Annotated[
        tuple[str, ...] | None, Meta(description="its folders of knowledge, in place of those of ship.json")
    ] = None
    permissions: Annotated[
        JsonObject | None, Meta(description="as in ship.json; what both allow runs unasked")
    ] = None
    memory: Annotated[
        MemoryRule | None, Meta(description="the rule by which it remembers, as in ship.json")
    ] = None
    env: Annotated[dict[str, str], Meta(description="its private variables for commands")] = {}
    self_tools: Annotated[bool | None, Meta(description="as in ship.json")] = None
    system_instruction: str | tuple[str, ...] | None = None
    instruction_file: str | None = None
    role_summary: Annotated[str, Meta(max_length=500)] | None = None
    context_messages: Annotated[int, Meta(ge=0)] | None = None
    command: Annotated[str | None, Meta(description="where its program lies, when PATH does not say")] = None
    home: Annotated[
        Literal["shared", "private"], Meta(description="the program's login: the person's, or its own")
    ] = "shared"
    system_channel: Annotated[
        Literal["inline", "native"] | None, Meta(description="how its program is told who it is")
    ] = None
    token_cap: Annotated[int, Meta(ge=100)] | None = None
    idle_seconds: Annotated[int, Meta(ge=1)] = 600
    wall_seconds: Annotated[int, Meta(ge=1)] = 3600


class Member(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One member: whose files and settings they are, and what holds for it."""

    id: str
    name: str
    kind: Kind = "native"
    description: str = ""
    # The workspace, and the member's own files in it.
    layout: Layout
    own: Layout
    settings: MemberSettings = MemberSettings()
    # The workspace's settings with the member's over them.
    config: Config = Config()
    # The rights the member's own files state; the workspace's bind it beside them.
    permissions: Permissions | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def tools(self) -> tuple[str, ...] | None:
        """Return the names of the only tools it is offered; None when it is offered all."""
        return self.settings.tools

    @property
    def offers_self(self) -> bool:
        """Return whether it is offered the tools with which it changes itself."""
        return self.config.self_tools or any(name.startswith("self_") for name in self.tools or ())

    @property
    def is_program(self) -> bool:
        """Return whether a program of others answers for it, and no model of ours."""
        return self.kind != "native"


def captain_of(layout: Layout, config: Config | None = None) -> Member:
    """Return the member whose files are the workspace's own, as far as ship.json describes it."""
    config = config or Config()
    return Member(
        id=CAPTAIN,
        name=config.name or CAPTAIN,
        description=config.description or "",
        layout=layout,
        own=layout.member(CAPTAIN),
        config=config,
    )


def read_settings(
    layout: Layout, data: bytes | None, front: JsonObject, loaded: Loaded
) -> tuple[MemberSettings, list[Finding]]:
    """Return what a member's files state, member.json over the front matter of its Agent.md, key by key.

    What could restrict it and cannot be read raises: a member with fewer limits than were meant must not run.
    """
    place = layout.member_file
    given = {} if data is None else decode_object(data, place)
    stated = {**_read_front(front), **given}
    missing: list[str] = []
    resolved = resolve_variables(stated, loaded.environ, missing)
    findings = [
        Finding(
            "error",
            f"{place.name if where.split('.')[0] in given else layout.agent_name} {where}",
            "names a variable that is not set",
            "set it in the environment or .env",
        )
        for where in missing
    ]
    findings += [
        Finding(
            "warn",
            place.name,
            f"unknown key {key!r}, kept as it is",
            f"did you mean {near!r}?" if near else "",
        )
        for key, near in unknown_keys(given, MemberSettings)
    ]
    for key, near in unknown_keys(given, MemberSettings):
        meant = next((name for name in (near, key.casefold()) if name in LIMITS), None)
        if meant:
            raise ConfigError(
                f"{place}: {key!r} is unknown; did you mean {meant!r}? Mend or remove it: until then "
                "nobody can tell what the member may do."
            )
    if meant := _misspelt_limit(front):
        raise ConfigError(
            f"{layout.agent}: {meant[0]!r} of the front matter is unknown; did you mean {meant[1]!r}? "
            "Mend or remove it: until then nobody can tell what the member may do."
        )
    try:
        return msgspec.convert(resolved, MemberSettings, strict=True), findings
    except msgspec.ValidationError as error:
        where = place if data is not None else layout.agent
        raise ConfigError(f"{where}: {error}. Mend this value and try again.") from error


def _misspelt_limit(front: JsonObject) -> tuple[str, str] | None:
    """Return a key of front matter that is nearly a limit, and that limit; others may mean anything."""
    for key in map(str, front):
        near = difflib.get_close_matches(key.casefold(), LIMITS, n=1, cutoff=0.8)
        if near and key not in LIMITS:
            return key, near[0]
    return None


def _read_front(front: JsonObject) -> JsonObject:
    """Return the keys of front matter that are settings, lists also as others write them: `a, b`."""
    if not front:
        return {}
    names = {field.encode_name for field in msgspec.structs.fields(MemberSettings)}
    found = {key: value for key, value in front.items() if key in names and value is not None}
    if not isinstance(found.get("memory"), dict):
        # Other agents name a place there: `memory: project`.
        found.pop("memory", None)
    for key in ("tools", "skills", "knowledge"):
        if isinstance(found.get(key), str):
            found[key] = [name for each in found[key].split(",") if (name := each.strip())]
    return found


def make_member(
    member_id: str, layout: Layout, loaded: Loaded, settings: MemberSettings, words: str, identity: str
) -> Member:
    """Return a member from its settings, the words of its Agent.md, and its IDENTITY.md."""
    is_captain = member_id == CAPTAIN
    config = loaded.config
    heading, named = HEADING.search(words), NAMED.search(identity)
    name = (
        (config.name if is_captain else None)
        or settings.name
        or (str(heading[1]) if heading else None)
        or (str(named[1]) if named else None)
        or member_id
    )
    description = (
        (config.description if is_captain else None) or settings.description or _first_paragraph(words)
    )
    own = None if settings.permissions is None else _own_permissions(config.permissions, settings, member_id)
    return Member(
        id=member_id,
        name=name.strip(),
        kind=settings.kind,
        description=description[:DESCRIPTION_LIMIT],
        layout=layout,
        own=layout.member(member_id),
        settings=settings,
        config=_config_of(config, settings, own, is_captain=is_captain),
        permissions=own,
    )


def _own_permissions(shared: Permissions, settings: MemberSettings, member_id: str) -> Permissions:
    """Return the rights a member states; what it does not mention is as in the workspace."""
    stated: dict[str, Any] = {**msgspec.to_builtins(shared), **(settings.permissions or {})}
    unknown = [key for key, _ in unknown_keys(settings.permissions, Permissions)]
    if unknown:
        # It may be a misspelt `deny`.
        raise ConfigError(
            f"member {member_id}: permissions.{unknown[0]} is unknown. Mend or remove it: until then "
            "nobody can tell what the member may do."
        )
    try:
        return msgspec.convert(stated, Permissions, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"member {member_id}: permissions: {error}. Mend this value.") from error


def _config_of(
    config: Config, settings: MemberSettings, own: Permissions | None, *, is_captain: bool
) -> Config:
    """Return the workspace's settings with a member's over them."""
    permissions = config.permissions
    if own is not None:
        mode = min(permissions.mode, own.mode, key=MODES.index)
        permissions = msgspec.structs.replace(
            permissions, mode=mode, network=permissions.network and own.network
        )
    return msgspec.structs.replace(
        config,
        llm=_llm_of(config.llm, settings.model if settings.kind == "native" else None, is_captain=is_captain),
        language=settings.language or config.language,
        permissions=permissions,
        skills=_skills_of(config.skills, settings.skills),
        memory=config.memory.over(settings.memory or MemoryRule()),
        knowledge=config.knowledge if settings.knowledge is None else settings.knowledge,
        # A member's variables are its own: the captain's are in ship.json.
        env={**(config.env if is_captain else {}), **settings.env},
        self_tools=config.self_tools if settings.self_tools is None else settings.self_tools,
    )


def _llm_of(shared: Llm, model: str | Llm | None, *, is_captain: bool) -> Llm:
    """Return the model a member names; for the captain, what ship.json names counts first."""
    if model is None or (is_captain and (shared.provider or shared.model)):
        return shared
    if isinstance(model, Llm):
        return model
    try:
        return shared.named(model)
    except UserError as error:
        # What stands in a member's files keeps that member alone from answering.
        raise ConfigError(str(error)) from error


def _skills_of(shared: Skills, skills: tuple[str, ...] | Skills | None) -> Skills:
    if skills is None:
        return shared
    if isinstance(skills, Skills):
        return msgspec.structs.replace(
            skills, disabled=(*shared.disabled, *skills.disabled), paths=(*shared.paths, *skills.paths)
        )
    return msgspec.structs.replace(shared, only=skills)


def _first_paragraph(body: str) -> str:
    blocks = (" ".join(block.split()) for block in body.split("\n\n"))
    return next((block for block in blocks if block and not block.startswith(("#", "<!--"))), "")
