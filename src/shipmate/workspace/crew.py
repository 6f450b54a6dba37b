"""The members of a workspace: the captain, whose files are its own, and those in members/."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import msgspec

from shipmate.errors import ConfigError, MemberError, NotFoundError, ShipmateError, UserError
from shipmate.values.message import JsonObject
from shipmate.values.saying import fill, load_sayings
from shipmate.workspace.environ import list_places
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.finding import Finding
from shipmate.workspace.foreign.program.claude_agent import take_settings
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID, Layout
from shipmate.workspace.load import Loaded, load_config
from shipmate.workspace.member import Member, MemberSettings, make_member, read_settings
from shipmate.workspace.secret.secret import secret_values

log = logging.getLogger(__name__)
WORDS = Path(__file__).with_name("words")
# The files that say who a member is where there is no Agent.md.
SELVES = ("IDENTITY.md", "SOUL.md")
# What is judged by holds at once; all else of the permissions is asked for at the start.
RULES = ("mode", "allow", "ask", "deny")
# What else of ship.json holds at once: the model, and what describes the captain, who may change it itself.
FOLLOWED = ("llm", "name", "description", "env", "self_tools", "budget", "routing", "memory")
# Any one of these makes a folder of members/ a member.
FILES = ("member.json", "Agent.md", *SELVES)


class Crew:
    """The members of one workspace, each as its files are when it is asked for."""

    def __init__(self, layout: Layout, loaded: Loaded) -> None:
        self.layout = layout
        self._loaded = loaded
        self._files = FileCache(layout.root)
        self._settings = self._read_settings()
        # Each with the files it was read from.
        self._known: dict[str, tuple[tuple[FileText, ...], Member]] = {}

    @property
    def loaded(self) -> Loaded:
        """The settings: model, rules, name and variables are as the files say now, all else as before."""
        self._follow_settings()
        return self._loaded

    def ids(self) -> list[str]:
        """Return the ids of all members, the captain first."""
        homes = [name for name, _ in self.layout.homes]
        names = [*homes, *(name for name in self._files.names(self.layout.members) if name not in homes)]
        others = [name for name in names if name != CAPTAIN and MEMBER_ID.fullmatch(name)]
        return [CAPTAIN, *(name for name in others if self._is_member(self.layout.member(name)))]

    def find(self, member_id: str) -> Member:
        """Return a member by its id; raise NotFoundError when there is none of that id."""
        if not MEMBER_ID.fullmatch(member_id) or not self._is_member(self.layout.member(member_id)):
            name = member_id if MEMBER_ID.fullmatch(member_id) else "<id>"
            raise NotFoundError(
                f"there is no member {member_id[:64]!r}. There are: {', '.join(self.ids())}. "
                f"A folder members/{name}/ with an Agent.md makes one."
            )
        return self._take(member_id)

    def choose(self, name: str) -> Member:
        """Return a member by its id or its name, as a person writes it."""
        if name and name == self.layout.captain_alias:
            return self._take(CAPTAIN)
        if MEMBER_ID.fullmatch(name) and self._is_member(self.layout.member(name)):
            return self._take(name)
        found = [each for each in self.list() if each.name.casefold() == name.casefold()]
        if len(found) > 1:
            ids = ", ".join(each.id for each in found)
            raise UserError(f"{len(found)} members are called {name!r}: {ids}. Use an id.")
        return found[0] if found else self.find(name)

    def list(self) -> list[Member]:
        """Return all members that can be read, the captain first."""
        found: list[Member] = []
        for member_id in self.ids():
            try:
                found.append(self._read(member_id))
            except ConfigError:
                # It is in `findings`, and whoever asks for it is told.
                continue
        return found

    def findings(self) -> list[Finding]:
        """Say what stands in the way of a member, and what has no effect."""
        found: list[Finding] = []
        names: Counter[str] = Counter()
        for member_id in self.ids():
            try:
                member = self._read(member_id)
            except ShipmateError as error:
                found.append(Finding("error", f"member {member_id}", str(error)))
                continue
            names[member.name.casefold()] += 1
            found += [each.about(member_id) for each in member.findings]
        for member in self.list():
            if names[member.name.casefold()] > 1:
                found.append(
                    Finding(
                        "warn",
                        f"member {member.id}",
                        f"another member is called {member.name!r} too",
                        "give one of them another name; until then use their ids",
                    )
                )
        return found

    def _is_member(self, own: Layout) -> bool:
        # A link that leads nowhere is said to be one, not that there is no member.
        if own.root == self.layout.root or own.agent.is_file() or own.agent.is_symlink():
            return True
        # What another program calls an agent is a member with whatever files it has.
        is_home = any(own.root == self.layout.root / home for _, home in self.layout.homes)
        return is_home or any((own.root / name).is_file() for name in FILES)

    def _read_settings(self) -> tuple[FileText, FileText]:
        return self._files.read(self.layout.config), self._files.read(self.layout.env)

    def _follow_settings(self) -> None:
        """Take over what ship.json and .env say by now of models, keys, rules and the budget."""
        files = self._read_settings()
        if [_said(each) for each in files] == [_said(each) for each in self._settings]:
            return
        self._settings = files
        try:
            fresh = load_config(self.layout, list_places(self._loaded.environ)[0].variables)
        except ConfigError as error:
            log.warning("the model and the rules stay as they were: %s", error)
            return
        known, now = self._loaded.config, fresh.config.permissions
        rules = {name: getattr(now, name) for name in RULES}
        permissions = msgspec.structs.replace(known.permissions, **rules)
        followed = {name: getattr(fresh.config, name) for name in FOLLOWED}
        config = msgspec.structs.replace(known, permissions=permissions, **followed)
        self._loaded.mask.cover(secret_values(fresh.environ, msgspec.to_builtins(fresh.config)))
        self._loaded = msgspec.structs.replace(self._loaded, config=config, environ=fresh.environ)
        self._known.clear()

    def _take(self, member_id: str) -> Member:
        """Read a member; what is wrong with its files is told as its own trouble, not the workspace's."""
        try:
            return self._read(member_id)
        except ConfigError as error:
            why = str(error)
            if member_id != CAPTAIN:
                sayings = load_sayings(WORDS, self._loaded.config.language)
                why = fill(sayings["member-broken"], {"member": member_id, "why": why})
            raise MemberError(why) from error

    def _read(self, member_id: str) -> Member:
        self._follow_settings()
        own = self.layout.member(member_id)
        files = tuple(map(self._files.read, (own.agent, own.member_file, *map(own.bootstrap, SELVES))))
        known = self._known.get(member_id)
        # A file written just now is read again each time, and mostly says the same.
        if known is not None and [_said(each) for each in files] == [_said(each) for each in known[0]]:
            return known[1]
        member = self._make(member_id, *files)
        self._known[member_id] = files, member
        return member

    def _make(self, member_id: str, agent: FileText, stated: FileText, *selves: FileText) -> Member:
        own = self.layout.member(member_id)
        if stated.problem:
            raise ConfigError(f"{self._name(own.member_file)}: {stated.problem}.")
        # Without its words it would answer as someone else. Agent.md is enough to say who it is.
        for file in selves if agent.is_missing else (agent,):
            if file.is_unread:
                said = f"{self._name(Path(file.path))}: {file.problem}."
                raise ConfigError(f"{said} Until then nobody can tell who member {member_id} is.")
        front, words, problem = _split(agent.text)
        if problem:
            # It may have stated limits.
            raise ConfigError(f"{self._name(own.agent)}: {problem}. Mend the front matter and try again.")
        if own.agent_name != "Agent.md":
            # An agent of Claude Code is a file, with settings of its own kind above the words.
            front = take_settings(front)
        data = None if stated.is_missing else stated.text.encode()
        settings, findings = read_settings(own, data, front, self._loaded)
        self._loaded.mask.cover(secret_values({}, _kept_from_view(settings)))
        member = make_member(member_id, self.layout, self._loaded, settings, words, selves[0].text)
        return msgspec.structs.replace(member, findings=tuple(findings))

    def _name(self, path: Path) -> str:
        return self.layout.name_of(path)


def _kept_from_view(settings: MemberSettings) -> JsonObject:
    """Return what of a member's settings may hold secrets, at its places in ship.json."""
    model = settings.model
    return {
        "env": settings.env,
        "llm": {} if model is None or isinstance(model, str) else msgspec.to_builtins(model),
    }


def _split(text: str) -> tuple[JsonObject, str, str]:
    """Return the front matter of an Agent.md, the words below it, and what is wrong with the former."""
    if not text.startswith("---"):
        return {}, text, ""
    # Most members have none, and YAML takes its time to load.
    from shipmate.workspace.frontmatter import read_frontmatter

    found = read_frontmatter(text)
    return found.data, found.body, found.problem


def _said(file: FileText) -> tuple[str, str, bool]:
    return file.text, file.problem, file.is_missing
