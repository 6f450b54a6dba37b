"""The tools with which a member lists, installs and uninstalls its own skills. Installing runs nothing."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from shipmate.crew.parcel import NOTHING, TEXT, Parcel, ParcelFile, check_parcel, read_parcel, write_parcel
from shipmate.crew.self_tool import SelfDeleteEnv, SelfRename, SelfSetEnv, SelfTool, SelfUpdateSoul
from shipmate.errors import ToolError
from shipmate.skills.loader import SkillsLoader
from shipmate.tools.exec.exec import Exec, ExecArguments
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.room import remove_folder
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.diff import unified
from shipmate.tools.file.target import check_target
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject, new_id
from shipmate.values.reveal import reveal
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.private import make_private, sync_folder
from shipmate.workspace.file import FileCache

SKILL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TEXT_LIMIT = 200_000
# Whatever else git could be made to speak: no user, no port of ours, no option, no query.
PROTOCOL = "https"
ADDRESS = re.compile(r"(?:https)://[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?/[A-Za-z0-9._~/%+-]+")
SCHEME = re.compile(r"[A-Za-z0-9+.-]*:|-|[\w.-]+@")
# In units of 1024 bytes, for each file git makes.
FETCH_LIMIT = 20_480
FETCH_SECONDS = 120
# What ZyHive's members say beside it.
UNUSED = ("name", "icon", "category")


class SelfListSkillsArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class SelfListSkills(Tool[SelfListSkillsArguments]):
    """The tool that lists a member's skills, and which of them it could uninstall."""

    name = "self_list_skills"
    description = "List your skills."
    arguments = SelfListSkillsArguments
    labels = Labels(reads_private=True)

    async def run(self, arguments: SelfListSkillsArguments, context: ToolContext) -> ToolResult:
        return ToolResult(output=await asyncio.to_thread(_list_skills, context))


class SelfInstallSkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    # The text of its SKILL.md.
    content: str = ""
    # A folder or an archive of the workspace, or the https address of a repository.
    source: str = ""


class SelfInstallSkill(SelfTool[SelfInstallSkillArguments]):
    """The tool that puts a skill in place, or fetches one, in two steps: what goes out, what comes in."""

    name = "self_install_skill"
    description = (
        "Install a skill for yourself: content is a SKILL.md; source is a folder, .zip or .tar.gz of the "
        "workspace, or an https git address, which is fetched to an archive first."
    )
    arguments = SelfInstallSkillArguments
    synonyms = {"promptContent": "content"}  # noqa: RUF012

    def __init__(self, crew: Crew, sandbox: Sandbox) -> None:
        super().__init__(crew)
        self._sandbox = sandbox

    def translate(self, arguments: JsonObject) -> JsonObject:
        given = {key: value for key, value in super().translate(arguments).items() if key not in UNUSED}
        words, text = given.pop("description", None), given.get("content")
        if isinstance(words, str) and isinstance(text, str) and not text.startswith("---"):
            line = " ".join(words.split())
            given["content"] = f"---\ndescription: {msgspec.json.encode(line).decode()}\n---\n{text}"
        return given

    def labels_for(self, arguments: SelfInstallSkillArguments) -> Labels:
        return Labels(acts=True, reads_untrusted=bool(SCHEME.match(arguments.source)))

    async def picture(self, arguments: SelfInstallSkillArguments, context: ToolContext) -> Picture:
        _check_id(arguments.id)
        if SCHEME.match(arguments.source):
            address = _check_address(arguments.source)
            words = (
                f"fetch {address}\n[nothing of it is run or installed; installing asks again and shows it]"
            )
            return Picture(words, {"address": address})
        change = await asyncio.to_thread(_read, arguments, context)
        return Picture(reveal(change.words), change.target)

    async def run(self, arguments: SelfInstallSkillArguments, context: ToolContext) -> ToolResult:
        _check_id(arguments.id)
        if SCHEME.match(arguments.source):
            return ToolResult(output=await self._fetch(arguments, context))
        change = await asyncio.to_thread(_read, arguments, context)
        return ToolResult(output=await asyncio.to_thread(install, change, context))

    async def _fetch(self, arguments: SelfInstallSkillArguments, context: ToolContext) -> str:
        """Have the sandboxed git bring a repository's files as an archive; nothing is checked out."""
        address = _check_address(arguments.source)
        make_private(context.layout.scratch)
        archive = context.layout.scratch / f"{arguments.id}-{new_id('skill')}.tar"
        place = shlex.quote(context.layout.name_of(archive))
        settings = (
            f"-c protocol.allow=never -c protocol.{PROTOCOL}.allow=always -c http.followRedirects=false"
        )
        options = "--bare --depth 1 --single-branch --no-tags --no-recurse-submodules --template="
        command = (
            f'ulimit -f {FETCH_LIMIT}; r="$TMPDIR/repository"; '
            f'git {settings} clone -q {options} -- {shlex.quote(address)} "$r" '
            f'&& git --git-dir="$r" archive --format=tar -o {place} HEAD'
        )
        run = Exec(self._sandbox, Jobs(), {})
        asked = ExecArguments(command=command, timeout=FETCH_SECONDS, network=True)
        said = await run.run(asked, msgspec.structs.replace(context, expected=None))
        if not archive.is_file():
            raise ToolError(f"{address} could not be fetched. {NOTHING}\n{said.output}")
        return (
            f"Fetched to {context.layout.name_of(archive)}; nothing is installed yet. "
            "Install it with that path as source."
        )


class SelfUninstallSkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str


class SelfUninstallSkill(SelfTool[SelfUninstallSkillArguments]):
    """The tool that moves one of a member's own skills aside."""

    name = "self_uninstall_skill"
    description = "Remove one of your own skills; it is kept aside."
    arguments = SelfUninstallSkillArguments

    async def picture(self, arguments: SelfUninstallSkillArguments, context: ToolContext) -> Picture:
        folder = _own_skill(arguments.id, context)
        words = f"- {context.layout.name_of(folder)}/ (moved to .ship/removed)"
        return Picture(reveal(words), {"path": str(folder), "inode": folder.stat().st_ino})

    async def run(self, arguments: SelfUninstallSkillArguments, context: ToolContext) -> ToolResult:
        folder = _own_skill(arguments.id, context)
        check_target(context, {"path": str(folder), "inode": folder.stat().st_ino})
        kept = _move_aside(folder, context)
        place = context.layout.name_of
        return ToolResult(
            output=f"It lies in {place(kept)}; a person can move it back to {place(folder)} to undo."
        )


def self_tools(crew: Crew, sandbox: Sandbox) -> list[Tool[Any]]:
    """Return the tools with which members change themselves."""
    return [
        SelfListSkills(),
        SelfInstallSkill(crew, sandbox),
        SelfUninstallSkill(crew),
        SelfSetEnv(crew),
        SelfDeleteEnv(crew),
        SelfRename(crew),
        SelfUpdateSoul(crew),
    ]


class Installing(msgspec.Struct, frozen=True):
    """What an installation would do."""

    files: Parcel
    folder: Path
    words: str
    target: JsonObject


def _check_id(skill_id: str) -> None:
    if not SKILL_ID.fullmatch(skill_id):
        raise ToolError(f"{skill_id[:64]!r} is no id: letters, digits, '.', '_' and '-'. {NOTHING}")


def _check_address(source: str) -> str:
    if not ADDRESS.fullmatch(source) or ".." in source:
        raise ToolError(
            f"{source[:200]!r} is no address to fetch from. Give one such as "
            f"https://example.com/skills.git, without a user name. {NOTHING}"
        )
    return source


def _read(arguments: SelfInstallSkillArguments, context: ToolContext) -> Installing:
    """Read what is to be installed."""
    if bool(arguments.content) == bool(arguments.source):
        raise ToolError(f"Give either content or source. {NOTHING}")
    if len(arguments.content) > TEXT_LIMIT:
        raise ToolError(f"A SKILL.md has at most {TEXT_LIMIT:,} characters. {NOTHING}")
    if arguments.content:
        try:
            files = check_parcel({TEXT: ParcelFile(arguments.content.encode())})
        except UnicodeEncodeError as error:
            raise ToolError(f"The text holds half a character. {NOTHING}") from error
    else:
        files = read_parcel(context.folder, arguments.source)
    return prepare(arguments.id, files, context)


def prepare(skill_id: str, files: Parcel, context: ToolContext) -> Installing:
    """Compare what is to be installed with what is there."""
    _check_id(skill_id)
    folder = _place(skill_id, context)
    before: Parcel = {}
    if folder.exists():
        before = read_parcel(context.folder, context.layout.name_of(folder))
    target: JsonObject = {"path": str(folder), "files": _digest(files), "before": _digest(before)}
    return Installing(files, folder, _describe(context.layout.name_of(folder), before, files), target)


def install(change: Installing, context: ToolContext) -> str:
    """Put a skill in place, with what was there moved aside; return what to say."""
    check_target(context, change.target)
    fresh = make_private(context.layout.removed) / new_id("fresh")
    try:
        write_parcel(change.files, fresh)
        if change.folder.exists():
            _move_aside(change.folder, context)
        change.folder.parent.mkdir(parents=True, exist_ok=True)
        fresh.rename(change.folder)
        sync_folder(change.folder.parent)
    except OSError as error:
        remove_folder(fresh)
        raise ToolError(f"The skill cannot be written: {error.strerror}.") from error
    return f"Installed {context.layout.name_of(change.folder)}/: {len(change.files)} files. Nothing was run."


def _place(skill_id: str, context: ToolContext) -> Path:
    """Return the folder of a skill of one's own; neither it nor a folder above it is a link."""
    folder = context.member.own.skills / skill_id
    real, root = os.path.realpath(folder), os.path.realpath(context.layout.root)
    if real != os.path.join(root, context.layout.name_of(folder)):  # noqa: PTH118 - as realpath gives it
        raise ToolError(f"{context.layout.name_of(folder)} lies behind a link. {NOTHING}")
    return folder


def _own_skill(skill_id: str, context: ToolContext) -> Path:
    _check_id(skill_id)
    folder = _place(skill_id, context)
    if not (folder / TEXT).is_file():
        raise ToolError(f"{context.member.id} has no skill of its own with the id {skill_id!r}.")
    return folder


def _move_aside(folder: Path, context: ToolContext) -> Path:
    kept = make_private(context.layout.removed) / f"skill-{folder.name}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    try:
        folder.rename(kept)
        sync_folder(kept.parent)
        sync_folder(folder.parent)
    except OSError as error:
        raise ToolError(f"The skill cannot be moved: {error.strerror}.") from error
    return kept


def _describe(name: str, before: Parcel, after: Parcel) -> str:
    """Return a listing of all files, and a diff of those that are text."""
    marks = {
        path: " " if before.get(path) == after.get(path) else "~" if path in before else "+" for path in after
    }
    marks |= dict.fromkeys(before.keys() - after.keys(), "-")
    lines = [f"{name}/"]
    for path, mark in sorted(marks.items()):
        file = after.get(path) or before[path]
        lines.append(f"{mark} {path} ({len(file.data):,} bytes{', program' if file.is_program else ''})")
    diffs = [
        unified(path, _text(before.get(path)), _text(after.get(path)))
        for path, mark in sorted(marks.items())
        if mark != " "
    ]
    return "\n".join([*lines, "", *filter(None, diffs)])


def _text(file: ParcelFile | None) -> str:
    try:
        return "" if file is None or b"\0" in file.data else file.data.decode()
    except UnicodeDecodeError:
        return ""


def _digest(files: Parcel) -> str:
    found = [(path, file.is_program, hashlib.sha256(file.data).hexdigest()) for path, file in files.items()]
    return hashlib.sha256(msgspec.json.encode(sorted(found))).hexdigest()


def _list_skills(context: ToolContext) -> list[JsonObject]:
    member, layout = context.member, context.layout
    skills = SkillsLoader(layout, member.config, FileCache(layout.root), own=member.own).find()
    own = f"{layout.name_of(member.own.skills)}/"
    return [
        {
            "name": skill.name,
            "description": skill.description,
            "location": skill.location,
            "own": skill.location.startswith(own) and skill.location.count("/") == own.count("/") + 1,
            "missing": list(skill.missing),
        }
        for skill in skills.skills
    ]
