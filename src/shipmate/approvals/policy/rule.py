"""Read the rules of ship.json and match them against calls.

    exec                 everyday programs          exec(git status)     exactly these words
    exec(git *)          these words, then any      write(docs/**)       paths below docs
    web_fetch(a.com)     exactly this host          web_fetch(*.a.com)   any host below it
    mcp__notes__*        every tool so named        read(secrets/**)     grep and send_file too

An allow covers a command that runs without a shell: every word given, or all of it known by its program's
grammar. A deny or ask is looked for inside any command; where it cannot be looked for, `excludes` says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from shipmate.approvals.policy.subject import KINDS, CommandSubject, HostSubject, PathSubject, Subject
from shipmate.errors import ToolError
from shipmate.tools.exec.command import find_program
from shipmate.tools.exec.program.grammar import find_grammar, has_verbs, program_names
from shipmate.tools.exec.program.invocation import read_invocation
from shipmate.tools.exec.shell import commands_within, read_command
from shipmate.tools.file.protection import fold
from shipmate.tools.file.search.wildcard import Wildcard
from shipmate.values.pattern import lazy_pattern
from shipmate.values.reason import Why
from shipmate.values.tool_name import names_of, real_name

RULE = lazy_pattern(r"(?P<name>[A-Za-z][\w.-]*\*?|\*)(\((?P<pattern>.*)\))?", re.DOTALL)
HOST = lazy_pattern(r"(\*\.)?[\w-]+(\.[\w-]+)*\.?|\*|\[?[0-9a-fA-F:.]+\]?")
MAGIC = lazy_pattern(r"[*?\[\]{}]")
# A rule about the first name also restricts the second, or an edit would pass where a write may not.
ALSO_RESTRICTS = {"write": ("edit",), "read": ("grep", "glob", "show_image", "send_file")}
ALSO_ALLOWS = {"write": ("edit",)}


class PermissionRule(msgspec.Struct, frozen=True):
    """One rule of ship.json, ready to match."""

    text: str
    name: str
    pattern: str | None
    words: tuple[str, ...] = ()
    # An open command rule ends in `*`: further words may follow.
    is_open: bool = False
    wildcard: Wildcard | None = None

    @property
    def is_exact(self) -> bool:
        """Return whether the rule names one command, path or host and nothing else."""
        if self.pattern is None or self.is_open:
            return False
        return bool(self.words) or not MAGIC.search(self.pattern)

    def covers(self, tool: str, subject: Subject | None) -> Why | bool:
        """Return whether an allow rule or a grant lets this call pass; a Why tells what it stumbled over."""
        if not self._names(tool, ALSO_ALLOWS):
            return False
        match subject:
            case CommandSubject():
                return self._covers_command(subject)
            case PathSubject(written=written, real=real) if written is not None and real is not None:
                return self.wildcard is None or all(self.wildcard.matches(way) for way in (written, real))
            case PathSubject():
                return False
            case HostSubject(host=host):
                return self.pattern is None or (host is not None and _fits_host(self.pattern, host))
            case None:
                return self.pattern is None

    def _covers_command(self, subject: CommandSubject) -> Why | bool:
        words, given = subject.plan.words, len(self.words)
        if words is None:
            return subject.why or False
        if words[:given] != self.words or (not self.is_open and len(words) != given):
            return False
        if self.is_open and subject.invocation is None:
            return subject.why or False
        if self.is_open and given == 0 and subject.invocation and subject.invocation.writes_repository:
            return Why("unnamed", subject.invocation.grammar)
        return True

    def touches(self, tool: str, subject: Subject | None) -> bool:
        """Return whether a deny or ask rule concerns this call, in any spelling it can be found in."""
        if not self._names(tool, ALSO_RESTRICTS):
            return False
        if self.pattern is None or subject is None:
            return self.pattern is None
        match subject:
            case CommandSubject():
                return any(map(self._touches_words, subject.within)) or self._is_program_of(subject)
            case PathSubject():
                return self.touches_path(subject, contains=tool in ("grep", "glob"))
            case HostSubject(host=host):
                return host is None or _fits_host(self.pattern, host)

    def touches_path(self, subject: PathSubject, *, contains: bool) -> bool:
        """Return whether a path, or when asked anything below it, falls under this rule."""
        if self.wildcard is None or self.pattern is None:
            return False
        folded = _folded(self.pattern)
        ways = subject.spellings
        if any(self.wildcard.matches(way) or folded.matches(way) for way in ways):
            return True
        return contains and any(_leads_to(way, self.pattern) for way in ways)

    def excludes(self, subject: CommandSubject) -> bool:
        """Return whether a command is proven free of what this rule names."""
        invocation, program = subject.invocation, subject.plan.program
        if invocation is None or program is None or not self.words:
            return False
        if _same_file(self.words[0], subject):
            # What the rule names may be spelled in another way; only another verb is another command.
            return name_of(self.words) == subject.plan.name and self._names_other_verb(invocation.grammar)
        return True

    def _names_other_verb(self, grammar: str) -> bool:
        verb = grammar.partition(" ")[2]
        named = self.words[1] if len(self.words) > 1 else "-"
        return bool(verb) and not named.startswith("-") and named != verb

    def _is_program_of(self, subject: CommandSubject) -> bool:
        """Return whether a file of another name is the program this rule names."""
        if not self.words or subject.plan.words is None or subject.plan.name is not None:
            return False
        return _same_file(self.words[0], subject) and self._begins((self.words[0], *subject.plan.words[1:]))

    def _touches_words(self, words: tuple[str, ...]) -> bool:
        if not self.words or self._begins(words):
            return True
        if not words or not isinstance(read_invocation(name_of(words), words[1:]), Why):
            return False
        # `sudo -u x rm`, `find -exec rm`, `bash -c "cd x; rm y"`: the program stands somewhere behind.
        nested = [inner for word in words[1:] if " " in word for inner in commands_within(word)[0]]
        behind = [words[start:] for start in range(1, len(words))]
        return any(self._begins(inner) for inner in behind) or any(map(self._touches_words, nested))

    def _begins(self, words: tuple[str, ...]) -> bool:
        if not words or name_of(words) != name_of(self.words):
            return False
        wanted = list(self.words[1:])
        if wanted and has_verbs(words[0]) and find_grammar(" ".join(words[:2])) and wanted[0] != words[1]:
            return False
        # Options may stand between the words a rule names: `git -C x push` is still `git push`.
        return words[1 : len(wanted) + 1] == tuple(wanted) or _is_within(wanted, list(words[1:]))

    def restricts(self, tool: str) -> bool:
        """Return whether a deny or ask rule of this name concerns a tool at all."""
        return self._names(tool, ALSO_RESTRICTS)

    def restricts_path(self, tool: str, place: PathSubject, *, contains: bool = False) -> bool:
        """Return whether a tool's path, or when asked anything below it, falls under a deny or ask rule."""
        return self.restricts(tool) and (self.pattern is None or self.touches_path(place, contains=contains))

    def _names(self, tool: str, also: dict[str, tuple[str, ...]]) -> bool:
        if self.name.endswith("*"):
            return any(name.startswith(self.name[:-1]) for name in names_of(tool))
        return tool == self.name or tool in also.get(self.name, ())


def parse_rule(text: str) -> PermissionRule:
    """Read one rule; a rule that cannot be read raises ValueError with the reason."""
    found = RULE.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            "write a tool name, or a tool name with a pattern in brackets, such as exec(git status)"
        )
    name = real_name(found["name"])
    pattern = found["pattern"]
    if pattern is None:
        return PermissionRule(text, name, None, is_open=True)
    return _parse_pattern(text, name, pattern.strip())


def _parse_pattern(text: str, name: str, pattern: str) -> PermissionRule:
    kind = KINDS.get(name)
    if not pattern:
        raise ValueError("the pattern in the brackets is empty")
    if pattern == "*" and kind != "path":
        return PermissionRule(text, name, None, is_open=True)
    match kind:
        case "command":
            return _command_rule(text, name, pattern)
        case "path":
            try:
                return PermissionRule(text, name, pattern, wildcard=Wildcard(pattern))
            except ToolError as error:
                raise ValueError(str(error)) from error
        case "host":
            if not HOST.fullmatch(pattern):
                raise ValueError(
                    "write a host such as example.com or *.example.com, without https:// or a path"
                )
            return PermissionRule(text, name, pattern.casefold().rstrip("."))
        case None:
            raise ValueError(f"{name} takes no pattern; write the bare name")


def _command_rule(text: str, name: str, pattern: str) -> PermissionRule:
    is_open = pattern.endswith(" *")
    words = read_command(pattern.removesuffix(" *").strip()).words
    if words is None:
        raise ValueError("write one plain command; a * may stand only as its last word")
    return PermissionRule(text, name, pattern, words=words, is_open=is_open)


def parse_rules(texts: Sequence[str]) -> tuple[list[PermissionRule], list[tuple[str, str]]]:
    """Read rules; give the good ones, and the broken ones with what is wrong."""
    rules: list[PermissionRule] = []
    broken: list[tuple[str, str]] = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except ValueError as error:
            broken.append((text, str(error)))
    return rules, broken


def is_idle(rule: PermissionRule) -> bool:
    """Return whether an allow rule can never cover anything, so that `doctor` can say so."""
    if not rule.words or not rule.is_open:
        return False
    known = program_names()
    if has_verbs(rule.words[0]):
        wanted = " ".join(rule.words[:3])
        return not any(
            f"{wanted} ".startswith(f"{name} ") or name.startswith(f"{wanted} ")
            for name in known
            if " " in name
        )
    return rule.words[0] not in known


def name_of(words: Sequence[str]) -> str:
    """Return a program's name without its folder."""
    return (words[0].rpartition("/")[2] or words[0]).casefold() if words else ""


def _same_file(name: str, subject: CommandSubject) -> bool:
    """Return whether a name stands for the very file a command starts, under whatever name."""
    path = str(subject.folder / name) if "/" in name else find_program(name, subject.folder)
    try:
        return path is not None and Path(path).samefile(subject.plan.argv[0])
    except OSError:
        return False


@lru_cache(256)
def _folded(pattern: str) -> Wildcard:
    return Wildcard(fold(pattern))


def _is_within(wanted: list[str], words: list[str]) -> bool:
    """Return whether words appear in this order, others between them."""
    rest = iter(words)
    return all(word in rest for word in wanted)


def _leads_to(way: tuple[str, ...], pattern: str) -> bool:
    """Return whether what a pattern names may lie below a folder."""
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    for part, name in zip(way, names, strict=False):
        if MAGIC.search(name):
            return True
        if fold(part) != fold(name):
            return False
    return len(way) < len(names)


def _fits_host(pattern: str, host: str) -> bool:
    plain = host.casefold().rstrip(".")
    if pattern.startswith("*."):
        return plain.endswith(pattern[1:])
    return plain == pattern.strip("[]")
