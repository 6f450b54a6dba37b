"""Recognise repositories with words for coding agents: Claude Code, Codex, Gemini CLI, Cursor."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.agent_file import has
from shipmate.workspace.foreign.clear_key import find_keys
from shipmate.workspace.foreign.foreign_file import (
    ENTRY_LIMIT,
    dig,
    is_file,
    is_folder,
    is_there,
    list_names,
    read_head,
    read_settings,
)
from shipmate.workspace.foreign.given_name import name_in_heading
from shipmate.workspace.foreign.mcp_entry import find_servers
from shipmate.workspace.foreign.recognised import Recognised, Unused
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID

# Of a command only plain words; of a path no way out of the workspace.
RULE = re.compile(r"(Bash|Read|Edit|Write|WebFetch)(?:\(([\w ./*@:+=,-]+)\))?")
TOOLS = {"Bash": "exec", "Read": "read", "Edit": "edit", "Write": "write", "WebFetch": "web_fetch"}

FOLDER = ".cursor/rules"
# Between braces a comma parts the ends of one pattern.
BETWEEN = re.compile(r",(?![^{]*\})")


def convert_rules(settings: JsonObject, key: str) -> list[str]:
    """Return the rules of one kind, as far as they can be said here."""
    return [ours for rule in _rules(settings, key) if (ours := _convert(rule))]


def find_rights(file: str, settings: JsonObject) -> Iterator[Unused]:
    """Go over the rights that are not taken over, with the lines that say the same."""
    for key in ("allow", "ask"):
        if rules := _rules(settings, key):
            same = convert_rules(settings, key)
            lines: JsonObject = {"permissions": {key: same}} if same else {}
            why = "rights are given in ship.json; until then whatever acts asks"
            yield Unused(what=f"{file}: permissions.{key} ({len(rules)})", why=why, lines=lines)
    for rule in _rules(settings, "deny"):
        if not _convert(rule):
            why = "no rule here says the same; write the nearest one into ship.json"
            yield Unused(what=f"{file}: permissions.deny {rule}", why=why)


def _rules(settings: JsonObject, key: str) -> list[str]:
    found = dig(settings, "permissions", key)
    return [rule.strip() for rule in found if isinstance(rule, str)] if isinstance(found, list) else []


def _convert(rule: str) -> str:
    """Return the rule that says the same here; empty where there is none."""
    match = RULE.fullmatch(rule)
    if match is None:
        return ""
    tool, inner = TOOLS[match[1]], match[2]
    if inner is None:
        return tool
    if tool == "exec":
        # `npm run:*` there is `npm run *` here.
        command = f"{inner[:-2]} *" if inner.endswith(":*") else inner
        return f"exec({command})"
    inner = inner.removeprefix("domain:").removeprefix("./")
    return "" if inner.startswith(("/", "~")) or ".." in inner.split("/") else f"{tool}({inner})"


NAMED = re.compile(r"(?<![\w`@/])@([\w~][\w./~-]*\w)")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
COUNT_LIMIT = 20


def find_imports(root: Path, name: str) -> list[Unused]:
    """Return the imports of a file that are not followed."""
    text = CODE.sub("", read_head(root / name))
    found: list[Unused] = []
    for line in text.splitlines():
        if line.strip().startswith("@") and " " not in line.strip():
            continue
        for path in NAMED.findall(line):
            if is_file((root / name).parent / path):
                why = (
                    f"it is named inside a sentence: give @{path} a line of its own to put it into the prompt"
                )
                found.append(Unused(what=f"{name}: @{path}", why=why))
    return found[:COUNT_LIMIT]


AGENTS = "AGENTS.md"
# Each program with the files it reads as words for itself, the more general first.
INSTRUCTIONS = {
    "Claude Code": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    "Codex": (AGENTS,),
    "Gemini CLI": ("GEMINI.md",),
    "Cursor": (".cursorrules",),
}
SETTINGS = {
    "Claude Code": (".mcp.json", ".claude/settings.json", ".claude/settings.local.json"),
    "Codex": (".codex/config.toml",),
    "Gemini CLI": (".gemini/settings.json",),
    "Cursor": (".cursor/mcp.json",),
}
FOLDERS = {
    "Claude Code": (".claude/skills", ".claude/agents", ".claude/commands"),
    "Codex": (".codex/skills", ".agents/skills"),
    "Gemini CLI": (".gemini/skills", ".gemini/commands"),
    "Cursor": (".cursor/rules", ".cursor/commands"),
}
SKILLS = (".claude/skills", ".agents/skills", ".codex/skills", ".gemini/skills", ".cursor/skills")
SERVERS = ("mcpServers", "mcp_servers")
MODEL = re.compile(r"\A---\s.*?^model:[ \t]*(\S+)[ \t]*$.*?^---", re.MULTILINE | re.DOTALL)
# What only a person's home folder has.
PERSONAL = (
    ".bashrc",
    ".profile",
    ".zshrc",
    ".claude.json",
    ".claude/projects",
    ".codex/sessions",
    ".codex/auth.json",
    ".gemini/installation_id",
    ".gemini/oauth_creds.json",
    ".cursor/extensions",
)
# Words for programs that are not recognised by them.
OTHERS = (".github/copilot-instructions.md", ".windsurfrules", ".clinerules", ".rules", "AGENTS.override.md")


def recognise_project(root: Path) -> Recognised | None:
    """Return a repository that has words for coding agents; None for any other folder."""
    found = {program: has(root, *names) for program, names in INSTRUCTIONS.items()}
    if not _is_personal(root):
        for program, names in SETTINGS.items():
            found[program] += [*has(root, *names), *_folders(root, FOLDERS[program])]
    signs = [sign for names in found.values() for sign in names]
    return _describe(root, [program for program, names in found.items() if names], signs) if signs else None


def is_hint(signs: tuple[str, ...]) -> bool:
    """Return whether a folder was recognised by only single files with words, which may lie anywhere."""
    words = [name for names in INSTRUCTIONS.values() for name in names]
    return all(sign in words for sign in signs)


def _is_personal(root: Path) -> bool:
    """Return whether a folder is somebody's home: what those programs keep there is not about the folder."""
    return any(is_there(root / name) for name in PERSONAL)


def survey_project(root: Path) -> tuple[list[Unused], list[str]]:
    """Return what is there for coding agents and not used, and the keys that stand in it."""
    settings = {name: read_settings(root / name) for names in SETTINGS.values() for name in names}
    unused = [each for name, found in settings.items() for each in _find_unused(root, name, found)]
    for folder, ending in (
        (".claude/commands", ".md"),
        (".gemini/commands", ".toml"),
        (".cursor/commands", ".md"),
    ):
        why = "commands of other programs have no effect; ask the member to do what the file says"
        unused += [Unused(what=f"{folder}/{name}", why=why) for name in list_names(root / folder, ending)]
    why = "it is for a program that is not recognised"
    unused += [
        Unused(what=name, why=why, lines={"context": {"instructions": [name]}}) for name in has(root, *OTHERS)
    ]
    return unused, [key for found in settings.values() for key in find_keys(found)]


def _describe(root: Path, programs: list[str], signs: list[str]) -> Recognised:
    always, rules, idle_rules = find_rules(root)
    instructions, unused = _find_instructions(root, always)
    idle, keys = survey_project(root)
    return Recognised(
        program=" and ".join(programs)
        if len(programs) < 3
        else f"{', '.join(programs[:-1])} and {programs[-1]}",
        root=root,
        kind="project",
        signs=tuple(signs),
        name=_find_name(root, (AGENTS, *instructions)) or root.name,
        instructions=tuple(instructions),
        rules=rules,
        skill_folders=tuple(_folders(root, SKILLS)),
        members=find_agents(root),
        denied=tuple(
            rule
            for name in SETTINGS["Claude Code"]
            for rule in convert_rules(read_settings(root / name), "deny")
        ),
        unused=(*idle_rules, *unused, *idle, *_find_models(root)),
        secrets=tuple(keys),
    )


def find_agents(root: Path) -> dict[str, str]:
    """Return the file of each agent that Claude Code knows there, by its id."""
    names = list_names(root / ".claude" / "agents", ".md")
    files = {name.removesuffix(".md"): f".claude/agents/{name}" for name in names}
    return {member: path for member, path in files.items() if MEMBER_ID.fullmatch(member)}


def _find_models(root: Path) -> Iterator[Unused]:
    """Go over the models that those agents name, none of a provider, and an agent whose id is taken."""
    for path in find_agents(root).values():
        if path == f".claude/agents/{CAPTAIN}.md":
            yield Unused(what=path, why="the workspace's own member has this id; give the file another name")
        match = MODEL.search(read_head(root / path))
        if match and match[1] != "inherit":
            yield Unused(what=f"{path}: model {match[1]}", why="the workspace's model answers for it")


def _find_instructions(root: Path, rules: list[str]) -> tuple[list[str], list[Unused]]:
    """Return the files to read beside AGENTS.md, none that says the same as another, and what is left out."""
    named = [name for names in INSTRUCTIONS.values() for name in names if name != AGENTS]
    named += [name for name in _renamed(root) if name not in named and name != AGENTS]
    unused: list[Unused] = []
    chosen: list[str] = []
    seen = {_mark(root / AGENTS)} if is_file(root / AGENTS) else set[object]()
    for name in (*has(root, *named), *rules):
        if (mark := _mark(root / name)) in seen:
            unused.append(Unused(what=name, why="it says the same as another of these files"))
            continue
        seen.add(mark)
        chosen.append(name)
        unused += find_imports(root, name)
    return chosen, unused


def _mark(path: Path) -> object:
    """Return a value that two files share when they say the same."""
    text = read_head(path).strip()
    # Such a file only points to AGENTS.md.
    return read_head(path.parent / AGENTS).strip() if text in (f"@{AGENTS}", AGENTS) else text


def _renamed(root: Path) -> Iterator[str]:
    """Go over the names that Gemini CLI is told to read in place of GEMINI.md."""
    settings = read_settings(root / ".gemini" / "settings.json")
    given = dig(settings, "context", "fileName") or settings.get("contextFileName")
    for name in given if isinstance(given, list) else [given]:
        if isinstance(name, str) and name and "/" not in name and not name.startswith((".", "~")):
            yield name


def _find_name(root: Path, names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := name_in_heading(read_head(root / name)))), "")


def _folders(root: Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if is_folder(root / name)]


def _find_unused(root: Path, name: str, settings: JsonObject) -> Iterator[Unused]:
    if is_file(root / name) and not settings:
        yield Unused(what=name, why="it is empty or cannot be read; nothing of it is used")
    for key in SERVERS:
        yield from find_servers(name, settings, key)
    yield from find_rights(name, settings)
    if isinstance(settings.get("hooks"), dict):
        events = ", ".join(map(str, settings["hooks"]))
        yield Unused(what=f"{name}: hooks ({events})", why="commands of other programs are never run")
    if variables := settings.get("env"):
        names = list(map(str, variables)) if isinstance(variables, dict) else []
        lines: JsonObject = {"env": {each: "${" + each + "}" for each in names}} if names else {}
        yield Unused(
            what=f"{name}: env ({', '.join(names)})",
            why="private variables are set in ship.json",
            lines=lines,
        )


def find_rules(root: Path) -> tuple[list[str], dict[str, tuple[str, ...]], list[Unused]]:
    """Return the rules that always hold, the patterns of those that hold for some files, and the others."""
    always: list[str] = []
    for_files: dict[str, tuple[str, ...]] = {}
    unused: list[Unused] = []
    for path in _find_files(root):
        globs, why = _judge(read_head(root / path))
        if globs:
            for_files[path] = globs
        elif why:
            unused.append(Unused(what=path, why=why, lines={"context": {"instructions": [path]}}))
        else:
            always.append(path)
    return always, for_files, unused


def _find_files(root: Path) -> list[str]:
    """Return the rules in the folder and those below it, without following a link."""
    found: list[str] = []
    for folder, folders, names in os.walk(root / FOLDER):
        folders.sort()
        found += [Path(folder, name).relative_to(root).as_posix() for name in names if name.endswith(".mdc")]
        if len(found) >= ENTRY_LIMIT:
            break
    return sorted(found)[:ENTRY_LIMIT]


def _judge(text: str) -> tuple[tuple[str, ...], str]:
    """Return the files a rule holds for, or why it is in no prompt; neither when it is in every one."""
    # Few folders have rules, and YAML takes long to load.
    from shipmate.workspace.frontmatter import read_frontmatter

    front = read_frontmatter(text)
    # `globs: *.ts` is no YAML, and yet how Cursor writes it.
    fields: dict[str, Any] = front.data or {
        key.strip(): value.strip()
        for line in front.raw.splitlines()
        for key, _, value in [line.partition(":")]
    }
    if str(fields.get("alwaysApply", "")).lower() == "true":
        return (), ""
    if globs := _read_globs(fields.get("globs")):
        return globs, ""
    if fields.get("description"):
        return (), "it is used only when it fits; add it to use it everywhere"
    return (), "it is used only when named; add it to use it everywhere" if front.raw else ""


def _read_globs(given: Any) -> tuple[str, ...]:
    """Return the patterns of a list, or of words between commas."""
    words = given if isinstance(given, list) else BETWEEN.split(str(given or "").strip("[] "))
    return tuple(found for word in words if (found := str(word).strip("\"' ")))
