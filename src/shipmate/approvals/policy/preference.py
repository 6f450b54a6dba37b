"""Read what a member's Agent.md says about approvals; it can only tighten what ship.json allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from shipmate.approvals.policy.path import Forming
from shipmate.approvals.policy.policy import Policy
from shipmate.approvals.policy.rule import parse_rules
from shipmate.approvals.value import Call, Grant, Verdict
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config, Permissions
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

Tone: TypeAlias = Literal["plain", "brief", "warm"]
TONES: dict[str, Tone] = {"plain": "plain", "brief": "brief", "warm": "warm"}
KEY = "approvals"
# The first of these that any policy says holds.
STRICTNESS = ("deny", "ask", "allow")


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """The `approvals:` of one Agent.md."""

    tone: Tone = "plain"
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    # What may have been meant to tighten and cannot be read: until it is mended nothing that acts may run.
    broken: tuple[str, ...] = ()
    # What has no effect.
    idle: tuple[str, ...] = ()


def read_preferences(file: FileText) -> Preferences:
    """Return what an Agent.md says about approvals."""
    if file.problem and not file.text:
        return Preferences(broken=(file.problem,))
    if not file.text.lstrip("\ufeff").startswith("---"):
        return Preferences()
    from shipmate.workspace.frontmatter import read_frontmatter

    found = read_frontmatter(file.text)
    if found.problem:
        return Preferences(broken=(f"front matter, {found.problem}",) if KEY in found.raw else ())
    given = found.data.get(KEY)
    if given is None:
        return Preferences()
    if not isinstance(given, dict):
        return Preferences(broken=(f"{KEY} is not a list of `key: value` lines",))
    return _convert(given)


def _convert(given: JsonObject) -> Preferences:
    broken: list[str] = []
    idle: list[str] = []
    rules: dict[str, tuple[str, ...]] = {"ask": (), "deny": ()}
    tone = given.get("tone", "plain")
    for key, value in given.items():
        if key in rules:
            rules[key], problem = _rules(key, value)
            broken += problem
        elif key == "allow":
            idle.append("allow has no effect here: Agent.md can only tighten; write it in ship.json")
        elif key != "tone":
            # It may be a misspelt `deny`.
            broken.append(f"{key} is unknown; write tone, ask or deny")
    if not isinstance(tone, str) or tone not in TONES:
        idle.append(f"tone {tone!r} is unknown; write plain, brief or warm")
    return Preferences(
        tone=TONES.get(tone, "plain") if isinstance(tone, str) else "plain",
        ask=rules["ask"],
        deny=rules["deny"],
        broken=tuple(broken),
        idle=tuple(idle),
    )


def _rules(key: str, value: object) -> tuple[tuple[str, ...], list[str]]:
    """Return the rules of a list, and what else stands in it."""
    listed = [] if value is None else value if isinstance(value, list) else [value]
    rules = tuple(each for each in listed if isinstance(each, str))
    others = [f"{key} holds {each!r}, which is not a text" for each in listed if not isinstance(each, str)]
    return rules, others


def tighten(permissions: Permissions, preferences: Preferences) -> Permissions:
    """Return permissions with a member's own `ask` and `deny` rules added; they never allow anything."""
    return msgspec.structs.replace(
        permissions,
        ask=(*permissions.ask, *preferences.ask),
        # What cannot be read stands among the rules as one that cannot be read, and counts as such.
        deny=(*permissions.deny, *preferences.deny, *(f"Agent.md: {each}" for each in preferences.broken)),
    )


class MemberPolicy:
    """Judges each call by the permissions of the workspace, tightened by the files of its member.

    What the member's own settings state is a second policy beside the workspace's: the stricter one holds.
    """

    def __init__(
        self,
        layout: Layout,
        permissions: Permissions,
        *,
        sandbox_works: Callable[[], bool],
        config: Config | None = None,
        current: Callable[[], Permissions] | None = None,
    ) -> None:
        self._forming = Forming(layout, config or Config())
        self._permissions = permissions
        # Asked at each call: rules may be written while the process runs.
        self._current = current or (lambda: permissions)
        self._sandbox_works = sandbox_works
        self._files = FileCache(layout.root)
        # By member: the policy its own settings state, with the settings it was made from.
        self._own: dict[str, tuple[Permissions, Policy]] = {}

    def judge(self, call: Call, grants: Sequence[Grant]) -> Verdict:
        """Return the verdict on a call; `grants` are those in force."""
        verdicts = [policy.judge(call, grants) for policy in self._of(call.context.member)]
        return min(verdicts, key=lambda each: STRICTNESS.index(each.action))

    def forbids(self, call: Call, parts: Sequence[str]) -> bool:
        """Return whether a path is closed to what a call would change."""
        return any(policy.forbids(call, parts) for policy in self._of(call.context.member))

    def _of(self, member: Member) -> list[Policy]:
        if (now := self._current()) != self._permissions:
            self._permissions = now
            self._files = FileCache(Path(self._files.root))
        shared = self._files.make(member.own.agent, "policy", self._make_policy)
        return [shared] if member.permissions is None else [shared, self._own_policy(member)]

    def _own_policy(self, member: Member) -> Policy:
        permissions = member.permissions or Permissions()
        known = self._own.get(member.id)
        if known is None or known[0] is not permissions:
            known = self._own[member.id] = permissions, self._policy(permissions)
        return known[1]

    def tone(self, member: Member) -> Tone:
        """Return how a member words its questions."""
        return self._files.make(member.own.agent, "preferences", read_preferences).tone

    def _make_policy(self, file: FileText) -> Policy:
        return self._policy(tighten(self._permissions, read_preferences(file)))

    def _policy(self, permissions: Permissions) -> Policy:
        return Policy(permissions, sandbox_works=self._sandbox_works, forms=self._forming.covers)


def findings(layout: Layout) -> list[Finding]:
    """Say what stands out in the `approvals:` of every Agent.md."""
    files = FileCache(layout.root)
    # Members of other programs lie elsewhere.
    homes = [layout.member(name).agent for name, _ in layout.homes]
    paths = dict.fromkeys([layout.agent, *homes, *sorted(layout.members.glob("*/Agent.md"))])
    return [
        found
        for path in paths
        for found in _check(str(path.relative_to(layout.root)), read_preferences(files.read(path)))
    ]


def _check(name: str, preferences: Preferences) -> list[Finding]:
    place = f"{name}: {KEY}"
    _, unreadable = parse_rules([*preferences.ask, *preferences.deny])
    broken = [*preferences.broken, *(f"{rule}: {problem}" for rule, problem in unreadable)]
    return [
        *(
            Finding("error", place, f"{each}. Until then everything that acts is denied.", "mend it there")
            for each in broken
        ),
        *(Finding("warn", place, each, "mend it there") for each in preferences.idle),
    ]
