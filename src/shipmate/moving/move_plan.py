"""What is to be taken from another program, gathered before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from shipmate.errors import ThreadIdError
from shipmate.moving.move_wording import say
from shipmate.moving.source_folder import ForeignRows, SourceFolder
from shipmate.moving.talk_writer import TalkWriter, digest
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.foreign.recognised import Unused
from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID
from shipmate.workspace.secret.secret import Mask
from shipmate.workspace.secret.setting import looks_secret

# What acts by itself, or lets something happen unasked: taken switched off, or left, unless it is asked for.
Switch: TypeAlias = Literal["channels", "tasks", "mcp", "rights"]
ODD = re.compile(r"\W+", re.ASCII)
TITLE_LIMIT = 80
# All files that are taken, together.
SIZE_LIMIT = 512 * 1024 * 1024


class TakenThread(msgspec.Struct):
    """A conversation that is written when its turn comes."""

    # Where it should stand, and where it does when a thread of ours has that id.
    thread_id: ThreadId
    spare: ThreadId
    write: Callable[[ThreadId], list[UIMessage]]
    title: str = ""
    member: str = CAPTAIN


class TakenSetting(msgspec.Struct):
    """One value of ship.json; a list is joined with what stands there, any other value never replaces one."""

    way: tuple[str, ...]
    value: Any


class TakenMember(msgspec.Struct):
    """A member: its settings, and its files by their path in its folder."""

    id: str
    settings: JsonObject
    files: dict[str, bytes]


class MovePlan:
    """Everything an origin found, and why the rest is left."""

    def __init__(
        self, program: str, source: SourceFolder, on: Iterable[Switch] = (), member: str = CAPTAIN
    ) -> None:
        self.program = program
        self.source = source
        self.on = frozenset(on)
        # Who stands for a program that has one agent.
        self.member = member
        self.files: dict[str, bytes] = {}
        self.members: list[TakenMember] = []
        self.threads: list[TakenThread] = []
        self.tasks: dict[str, str] = {}
        self.settings: list[TakenSetting] = []
        self.variables: dict[str, str] = {}
        self.left: list[Unused] = []
        self.mask = Mask(())
        self._size = 0

    def leave(self, what: str, key: str, /, lines: JsonObject | None = None, **values: object) -> None:
        """Note something that is not taken, and why."""
        self.left.append(Unused(what=what, why=say(key, **values), lines=lines or {}))

    def secret(self, name: str, value: str) -> str:
        """Return how ship.json names a key that goes to .env; its name is this program's own."""
        self.mask.cover([value])
        scheme, space, rest = value.rpartition(" ")
        if space and scheme.isalpha():
            # `Bearer` and its like are no part of the key.
            return f"{scheme} {self.secret(name, rest)}"
        variable = ODD.sub("_", f"{self.program}_{name}").upper()
        if self.variables.setdefault(variable, value) != value:
            variable = f"{variable}_{digest(value)[:6].upper()}"
            self.variables[variable] = value
        return f"${{{variable}}}"

    def setting(self, *way: str, value: Any) -> None:
        """Take a value for ship.json."""
        self.settings.append(TakenSetting(way, value))

    def rules(self, place: str, allow: list[str], ask: list[str], deny: list[str]) -> None:
        """Take rights: what forbids or asks always, what allows only when that was asked for."""
        for key, given in (("deny", deny), ("ask", ask), ("allow", allow)):
            if given and (key != "allow" or "rights" in self.on):
                self.setting("permissions", key, value=given)
            elif given:
                self.leave(f"{place}: permissions.{key}", "rights-off", lines={"permissions": {key: given}})

    def file(self, path: str, name: str) -> None:
        """Take a file of the source as it is, to a path in the workspace."""
        if (data := self._read(name)) is not None:
            self.files[path] = data

    def words(self, path: str, name: str) -> None:
        """Take a text of the source; bytes that are no UTF-8 are replaced, and that is said."""
        if (data := self._read(name)) is not None:
            self.files[path] = self._mend(name, data)

    def _read(self, name: str) -> bytes | None:
        """Return what a file holds, as long as all of them together are no flood."""
        data = self.source.read(name)
        self._size += len(data or b"")
        if data is None or self._size > SIZE_LIMIT:
            self.leave(name, "file-long")
            return None
        return data

    def _mend(self, name: str, data: bytes) -> bytes:
        text = data.decode("utf-8-sig", "replace")
        if text.encode() not in (data, data.removeprefix(b"\xef\xbb\xbf")):
            self.leave(name, "file-mended")
        return text.encode()

    def add_member(self, member_id: str, settings: JsonObject, files: dict[str, bytes]) -> str:
        """Take a member; return its id, or the captain's when it can have no id of its own."""
        if not MEMBER_ID.fullmatch(member_id) or member_id == CAPTAIN:
            made = ODD.sub("-", member_id.lower()).strip("-")[:40]
            member_id = f"{made}-{ODD.sub('-', self.program)}" if made else ODD.sub("-", self.program)
        self.members.append(TakenMember(member_id, settings, files))
        return member_id

    def agent_text(self, name: str, text: str) -> bytes:
        """Return the words of an agent without the settings above them: those could start programs."""
        front = read_frontmatter(text)
        if front.raw:
            self.leave(f"{name}: {', '.join(map(str, front.data))[:80]}", "front-matter")
        return (front.body if front.raw else text).strip().encode() + b"\n"

    def private(self, place: str, given: Any) -> dict[str, str]:
        """Return the variables of an agent by the names they get; only what is a key by its name is taken."""
        taken: dict[str, str] = {}
        for name, value in given.items() if isinstance(given, dict) else ():
            if isinstance(value, str) and value and looks_secret(str(name)) and str(name).isidentifier():
                taken[str(name)] = self.secret(str(name), value)
            else:
                self.leave(f"{place}: {name}", "variable-plain")
        return taken

    def talk(
        self,
        key: str,
        wanted: str,
        write: Callable[[TalkWriter], None],
        *,
        title: str = "",
        member: str = "",
        began: str = "",
    ) -> None:
        """Take a conversation; `wanted` is the thread that goes on with it, where a platform has one."""
        spare = ThreadId(self.program, "chat", _short(key))
        try:
            thread_id = ThreadId.parse(wanted) if wanted else spare
        except ThreadIdError:
            thread_id = spare

        def written(place: ThreadId) -> list[UIMessage]:
            talk = TalkWriter(self.program, key, str(place), self.mask.cover_known)
            write(talk)
            return talk.finish(began)

        shown = "".join(each for each in " ".join(title.split()) if each.isprintable())[:TITLE_LIMIT]
        self.threads.append(TakenThread(thread_id, spare, written, shown, member or self.member))

    def rows(self, name: str) -> list[JsonObject]:
        """Return the rows of a file, and note what of it could not be taken."""
        found = self.source.rows(name)
        self.note_rows(name, found)
        return found.rows

    def later(self, name: str) -> Callable[[], list[JsonObject]]:
        """Return what reads the rows of a file when they are written: all of them at once may be a lot."""
        noted: list[ForeignRows] = []

        def read() -> list[JsonObject]:
            found = self.source.rows(name)
            if not noted:
                self.note_rows(name, found)
                noted.append(ForeignRows([]))
            return found.rows

        return read

    def note_rows(self, name: str, found: ForeignRows) -> None:
        """Note what of a file of lines could not be taken."""
        if found.is_cut:
            self.leave(name, "rows-cut", count=len(found.rows))
        for key, count in (
            ("rows-broken", found.broken),
            ("rows-long", found.long),
            ("rows-mended", found.mended),
        ):
            if count:
                self.leave(name, key, count=count)


def _short(key: str) -> str:
    """Return a key of another program as the last piece of a thread's id."""
    plain = "".join(each if each.isprintable() else "-" for each in key).strip() or "talk"
    try:
        ThreadId("import", "chat", plain.replace(":topic:", "-"))
    except ThreadIdError:
        return f"{ODD.sub('-', plain)[:24]}-{digest(key)}"
    return plain.replace(":topic:", "-")
