"""Read the rules of ship.json and match them against calls.

    exec                 ordinary programs          exec(git status)     exactly these words
    exec(git *)          these words, then any      write(docs/**)       paths below docs
    web_fetch(a.com)     exactly this host          web_fetch(*.a.com)   any host below it
    mcp__notes__*        every tool so named        read(secrets/**)     grep and send_file too

An allow covers a command only when all of it is one plain command; a deny or ask is found inside any command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from shipmate.approvals.policy.program import CARRIERS, is_spelled, name_of, refuse_gap, refuse_program
from shipmate.approvals.policy.subject import KINDS, CommandSubject, HostSubject, PathSubject, Subject
from shipmate.errors import ToolError
from shipmate.tools.exec.shell import commands_within, read_command
from shipmate.tools.file.protection import fold
from shipmate.tools.file.wildcard import Wildcard
from shipmate.values.reason import Why

RULE = re.compile(r"(?P<name>[A-Za-z][\w.-]*\*?|\*)(\((?P<pattern>.*)\))?", re.DOTALL)
HOST = re.compile(r"(\*\.)?[\w-]+(\.[\w-]+)*\.?|\*|\[?[0-9a-fA-F:.]+\]?")
MAGIC = re.compile(r"[*?\[\]{}]")
ALIASES = {"exec_shell": "exec"}
# A rule about the first name also restricts the second, or an edit would pass where a write may not.
ALSO_RESTRICTS = {"write": ("edit",), "read": ("grep", "glob", "show_image", "send_file")}
ALSO_ALLOWS = {"write": ("edit",)}


class Rule(msgspec.Struct, frozen=True):
    """Hold one rule, ready to match."""

    text: str
    name: str
    pattern: str | None
    words: tuple[str, ...] = ()
    # An open command rule ends in `*`: further words may follow.
    is_open: bool = False
    wildcard: Wildcard | None = None

    @property
    def is_exact(self) -> bool:
        """Tell whether the rule names one command, path or host and nothing else."""
        return self.pattern is not None and not self.is_open and not MAGIC.search(self.pattern)

    def covers(self, tool: str, subject: Subject | None) -> Why | bool:
        """Tell whether an allow rule or a grant lets this call pass; a Why tells what it stumbled over."""
        if not self._names(tool, ALSO_ALLOWS):
            return False
        match subject:
            case CommandSubject(reading=reading):
                return reading.why or False if reading.words is None else self._covers_words(reading.words)
            case PathSubject(written=written, real=real) if written is not None and real is not None:
                return self.wildcard is None or all(self.wildcard.matches(way) for way in (written, real))
            case PathSubject():
                return False
            case HostSubject(host=host):
                return self.pattern is None or (host is not None and _fits_host(self.pattern, host))
            case None:
                return self.pattern is None

    def _covers_words(self, words: tuple[str, ...]) -> Why | bool:
        given = len(self.words)
        if words[:given] != self.words or (not self.is_open and len(words) != given):
            return False
        return refuse_program(words) or (refuse_gap(words, given) if self.is_open else None) or True

    def touches(self, tool: str, subject: Subject | None) -> bool:
        """Tell whether a deny or ask rule concerns this call, in any spelling it can be found in."""
        if not self._names(tool, ALSO_RESTRICTS):
            return False
        if self.pattern is None or subject is None:
            return self.pattern is None
        match subject:
            case CommandSubject(within=(commands, _)):
                return any(self._touches_words(words) for words in commands)
            case PathSubject():
                return self.touches_path(subject, contains=tool in ("grep", "glob"))
            case HostSubject(host=host):
                return host is None or _fits_host(self.pattern, host)

    def touches_path(self, subject: PathSubject, *, contains: bool) -> bool:
        """Tell whether a path, or when asked anything below it, falls under this rule."""
        if self.wildcard is None or self.pattern is None:
            return False
        folded = Wildcard(fold(self.pattern))
        ways = subject.spellings
        if any(self.wildcard.matches(way) or folded.matches(way) for way in ways):
            return True
        return contains and any(_leads_to(way, self.pattern) for way in ways)

    def _touches_words(self, words: tuple[str, ...]) -> bool:
        if not self.words or self._begins(words):
            return True
        if not _hands_on(words):
            return False
        # `sudo -u x rm`, `find -exec rm`, `bash -c "cd x; rm y"`: the program stands somewhere behind.
        nested = [inner for word in words[1:] if " " in word for inner in commands_within(word)[0]]
        behind = [words[start:] for start in range(1, len(words))]
        return any(self._begins(inner) for inner in behind) or any(map(self._touches_words, nested))

    def _begins(self, words: tuple[str, ...]) -> bool:
        if not words or name_of(words) != name_of(self.words):
            return False
        # Options may stand between the words a rule names: `git -C x push` is still `git push`.
        plain = [word for word in words[1:] if not word.startswith("-")]
        wanted = list(self.words[1:])
        return words[1 : len(wanted) + 1] == tuple(wanted) or _is_within(wanted, plain)

    def _names(self, tool: str, also: dict[str, tuple[str, ...]]) -> bool:
        if self.name.endswith("*"):
            return tool.startswith(self.name[:-1])
        return tool == self.name or tool in also.get(self.name, ())


def parse_rule(text: str) -> Rule:
    """Read one rule; a rule that cannot be read raises ValueError with the reason."""
    found = RULE.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            "write a tool name, or a tool name with a pattern in brackets, such as exec(git status)"
        )
    name = ALIASES.get(found["name"], found["name"])
    pattern = found["pattern"]
    if pattern is None:
        return Rule(text, name, None, is_open=True)
    return _parse_pattern(text, name, pattern.strip())


def _parse_pattern(text: str, name: str, pattern: str) -> Rule:
    kind = KINDS.get(name)
    if not pattern:
        raise ValueError("the pattern in the brackets is empty")
    if pattern == "*" and kind != "path":
        return Rule(text, name, None, is_open=True)
    match kind:
        case "command":
            return _command_rule(text, name, pattern)
        case "path":
            try:
                return Rule(text, name, pattern, wildcard=Wildcard(pattern))
            except ToolError as error:
                raise ValueError(str(error)) from error
        case "host":
            if not HOST.fullmatch(pattern):
                raise ValueError(
                    "write a host such as example.com or *.example.com, without https:// or a path"
                )
            return Rule(text, name, pattern.casefold().rstrip("."))
        case None:
            raise ValueError(f"{name} takes no pattern; write the bare name")


def _command_rule(text: str, name: str, pattern: str) -> Rule:
    is_open = pattern.endswith(" *")
    words = read_command(pattern.removesuffix(" *").strip()).words
    if words is None:
        raise ValueError("write one plain command; a * may stand only as its last word")
    return Rule(text, name, pattern, words=words, is_open=is_open)


def parse_rules(texts: Sequence[str]) -> tuple[list[Rule], list[tuple[str, str]]]:
    """Read rules; give the good ones, and the broken ones with what is wrong."""
    rules: list[Rule] = []
    broken: list[tuple[str, str]] = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except ValueError as error:
            broken.append((text, str(error)))
    return rules, broken


def is_idle(rule: Rule) -> bool:
    """Tell whether an allow rule can never cover anything, so that `doctor` can say so."""
    if not rule.words:
        return False
    name = name_of(rule.words)
    return name in CARRIERS or (rule.is_open and is_spelled(name)) or refuse_program(rule.words) is not None


def _hands_on(words: tuple[str, ...]) -> bool:
    """Tell whether a program may run another that stands among its words."""
    name = name_of(words)
    return name in CARRIERS or name in ("find", "git") or is_spelled(name)


def _is_within(wanted: list[str], words: list[str]) -> bool:
    """Tell whether words appear in this order, others between them."""
    rest = iter(words)
    return all(word in rest for word in wanted)


def _leads_to(way: tuple[str, ...], pattern: str) -> bool:
    """Tell whether what a pattern names may lie below a folder."""
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
