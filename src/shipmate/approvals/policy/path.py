"""Judge paths that are written, by a tool or as a word of a command, and know which form a member."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from shipmate.approvals.policy.rule import PermissionRule
from shipmate.approvals.policy.subject import CommandSubject, PathSubject, is_folder
from shipmate.approvals.value import Call, Verdict
from shipmate.context.reference import find_places
from shipmate.tools.file.protection import find_rights, fold, forms_member, refuse_reading, refuse_writing
from shipmate.values.reason import Why
from shipmate.workspace.config import Config, McpServer
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout

EDITING = ("write", "edit")
SCRATCH = (".ship", "scratch")
NOTHING = "/dev/null"

# A program has its other parts beside it.
CODE_ENDINGS = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".php", ".lua"})
GUIDES = frozenset({"agents.md", "claude.md", "gemini.md"})
# A folder that holds one of these can be run.
RUNNABLE = ("__main__.py", "index.js", "package.json", "pyproject.toml")


def forms_by_name(place: PathSubject) -> bool:
    """Return whether a path forms a member in every workspace."""
    return any(forms_member(way) for way in place.ways)


class PathRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules and the mode that paths are judged by."""

    mode: str
    allow: Sequence[PermissionRule]
    ask: Sequence[PermissionRule]
    # Whether a path forms a member.
    forms: Callable[[PathSubject], bool] = forms_by_name


def refuse_project(place: PathSubject, call: Call) -> Why | None:
    """Return why a member may not write in the project a path lies in."""
    rights = find_rights(call.context.layout)
    found = rights.find_closed(call.context.member.id, place.ways)
    return Why("project", found) if found is not None else None


def judge_writing(rules: PathRules, tool: str, place: PathSubject, call: Call) -> Verdict:
    """Return whether a path may be written unasked."""
    if not place.is_inside:
        return Verdict("ask", Why("outside", place.text))
    if any(refuse_writing(way) is not None for way in place.ways):
        return Verdict("ask", Why("kept", place.text))
    if rule := next((rule for rule in rules.ask if rule.restricts_path(tool, place)), None):
        return Verdict("ask", Why("asked", rule.text), rule=rule.text)
    forms = rules.forms(place)
    if not call.tainted and (rule := _find_allowing(rules.allow, tool, place, exact=forms)):
        return Verdict("allow", Why("allowed", rule.text), rule=rule.text)
    if place.real is not None and place.real[:2] == SCRATCH:
        return Verdict("allow", Why("scratch"))
    if forms:
        return Verdict("ask", Why("forms-member", place.text))
    if call.tainted:
        return Verdict("ask", Why("tainted"))
    if rules.mode == "auto-edit":
        return Verdict("allow", Why("auto-edit"))
    return Verdict("ask", Why("no-rule"))


def _find_allowing(
    rules: Sequence[PermissionRule], tool: str, place: PathSubject, *, exact: bool
) -> PermissionRule | None:
    """Return the rule that lets a path be written; what forms a member has to be named without a wildcard."""
    covering = (rule for rule in rules if rule.covers(tool, place) is True)
    return next((rule for rule in covering if rule.is_exact or not exact), None)


def refuse_operands(
    subject: CommandSubject, call: Call, deny: Sequence[PermissionRule]
) -> tuple[Why, str | None] | None:
    """Return why no answer lets a command at one of its paths, and the rule that says so."""
    for operand, place in subject.places:
        tools = [tool for tool, holds in (("read", operand.reads), ("write", operand.writes)) if holds]
        for rule in deny:
            if any(rule.restricts_path(tool, place) for tool in tools):
                return Why("denied", rule.text), rule.text
        if operand.writes and (why := refuse_project(place, call)):
            return why, None
    return None


def doubt_command(subject: CommandSubject, rules: Sequence[PermissionRule]) -> Why | None:
    """Return which of these rules a command is not proven to be free of."""
    for rule in rules:
        if rule.restricts("exec") and rule.words and not rule.excludes(subject):
            return Why("unproven", rule.text)
        if (rule.restricts("read") or rule.restricts("write")) and not _keeps_clear(subject, rule):
            return Why("unproven", rule.text)
    return None


def doubt_reading(subject: CommandSubject, rules: Sequence[PermissionRule]) -> bool:
    """Return whether a command may read what one of these rules is about."""
    return any(rule.restricts("read") and not _keeps_clear(subject, rule) for rule in rules)


def _keeps_clear(subject: CommandSubject, rule: PermissionRule) -> bool:
    """Return whether no path a command reads or writes, nor one below those, falls under a rule."""
    if subject.invocation is None:
        return False
    for operand, place in subject.places:
        if operand.writes and rule.restricts_path("write", place, contains=True):
            return False
        if operand.reads and rule.restricts_path("read", place, contains=operand.below):
            return False
        # Where links lead that lie in a folder is not known before they are followed.
        if operand.follows and rule.restricts("read") and is_folder(subject.folder, operand.text):
            return False
    return True


def hold_operands(subject: CommandSubject, call: Call, rules: PathRules, *, exact: bool) -> Why | None:
    """Return why a rule does not cover a command with these paths; an exact one vouches for all but links."""
    for operand, place in subject.places:
        if operand.text == NOTHING or (exact and place.written == place.real):
            continue
        # Some programs read an address where others read a path.
        if not place.is_inside or "://" in operand.text:
            return Why("outside-word", operand.text)
        if operand.reads and any(refuse_reading(way) is not None for way in place.ways):
            return Why("kept", operand.text)
        if operand.writes:
            verdict = judge_writing(rules, "write", place, call)
            if verdict.action != "allow":
                why = verdict.why
                return Why("no-write-rule", place.text) if why.key == "no-rule" else why
    return None


class Forming:
    """What forms the members of one workspace."""

    def __init__(self, layout: Layout, config: Config) -> None:
        self._layout = layout
        self._root = os.path.realpath(layout.root)
        self._files = FileCache(layout.root)
        skills = [Path(layout.root / path) for path in config.skills.paths]
        programs = [path for server in config.mcp.servers.values() for path in self._programs(server)]
        self._instructions = [Path(layout.root / path) for path in config.context.instructions]
        self._is_bare = config.context.profile == "zyhive"
        self._places = frozenset(self._fold(path) for path in (*skills, *programs, *self._instructions))

    def covers(self, place: PathSubject) -> bool:
        """Return whether changing a path changes what a member is."""
        # Further down such a file is told to whoever works beside it.
        if forms_by_name(place) or any(fold(way[-1]) in GUIDES for way in place.ways if way):
            return True
        found = [fold("/".join((self._root, *way))) for way in place.ways]
        if any(path == kept or path.startswith(f"{kept}/") for path in found for kept in self._places):
            return True
        return not self._pulled_in().isdisjoint(found)

    def _pulled_in(self) -> set[str]:
        """Return the files that the AGENTS.md of anybody refers to, present or not."""
        homes = [self._layout.root / folder / "AGENTS.md" for _, folder in self._layout.homes]
        paths = [self._layout.bootstrap("AGENTS.md"), *homes, *self._instructions]
        paths += self._layout.members.glob("*/AGENTS.md")
        return {
            fold(place)
            for path in paths
            for place in find_places(
                self._files.read(path), self._layout.root, self._files, is_bare=self._is_bare
            )
        }

    def _programs(self, server: McpServer) -> Iterator[Path]:
        """Return what of the workspace a server of tools runs, which it does unconfined."""
        words = [server.command or "", *server.args]
        for before, word in zip(["", *words], words, strict=False):
            if not word or word.startswith("-"):
                continue
            if before == "-m":
                top = self._layout.root / word.partition(".")[0]
                yield from (top, top.with_suffix(".py"))
            else:
                yield from self._program(Path(os.path.realpath(self._layout.root / word)))

    def _program(self, path: Path) -> Iterator[Path]:
        if not str(path).startswith(f"{self._root}/"):
            return
        if path.is_dir():
            yield from [path] if any((path / name).exists() for name in RUNNABLE) else []
            return
        yield path
        if path.suffix in CODE_ENDINGS and str(path.parent) != self._root:
            yield path.parent
        elif path.suffix in CODE_ENDINGS:
            yield from path.parent.glob(f"*{path.suffix}")

    def _fold(self, path: Path) -> str:
        return fold(os.path.realpath(path))
