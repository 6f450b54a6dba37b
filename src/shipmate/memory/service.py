"""Keep what is remembered: distilled from threads, written with its source, its earlier texts kept."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from urllib.parse import unquote

import msgspec

from shipmate.errors import NotFoundError, PathError, StorageError, UserError
from shipmate.memory.distilling import MemoryProposal, read_proposals, write_request
from shipmate.memory.memorable import refuse_entry, say
from shipmate.memory.memory_entry import HEADING_LIMIT, MemoryEntry, MemoryText, put_entry, read_memory, tame
from shipmate.values.message import JsonObject
from shipmate.workspace.disk.disk import DISK, Disk, locked
from shipmate.workspace.disk.earlier_text import keep_earlier, list_earlier, replace_text
from shipmate.workspace.layout import Layout
from shipmate.workspace.settings.memory_rule import MemoryRule

# Memory is part of every prompt.
FILE_LIMIT = 65_536
INDEX_LINES = 60
# What a conversation leaves is a few sentences.
TEXT_LIMIT = 1_200
INDEX_HEADING = "Files"
SLUG = re.compile(r"[^\w-]+")
TITLE = re.compile(r"^#{1,2}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


class EntryChange(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that shall stand in a file; one without words is forgotten."""

    path: Path
    entry: MemoryEntry


class FileChange(msgspec.Struct, frozen=True):
    """What a file of memory says before and after."""

    path: Path
    before: str
    after: str


class MemoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change that was made, as the log tells it."""

    id: str
    at: str
    # From the workspace.
    path: str
    before: str
    after: str
    is_last: bool

    @property
    def headings(self) -> list[tuple[str, str]]:
        """Return what became of which entry: `+`, `-` or `~`, and its heading."""
        before, after = read_memory(self.before), read_memory(self.after)
        found = [("-", each.heading) for each in before.entries if after.find(each.heading) is None]
        for each in after.entries:
            old = before.find(each.heading)
            if old is None or old.text != each.text:
                found.append(("+" if old is None else "~", each.heading))
        return found


class MemoryService:
    """The memory of one workspace. Every write happens under one lock, compared with what was shown."""

    def __init__(
        self, layout: Layout, *, mask: Callable[[str], str] | None = None, disk: Disk = DISK
    ) -> None:
        self.layout = layout
        self._mask = mask
        self._disk = disk

    def read(self, path: Path) -> str:
        """Return what a file of memory says; nothing where there is none."""
        if not os.path.realpath(path).startswith(f"{os.path.realpath(self.layout.root)}/"):
            raise PathError(f"{path.name} leads out of the workspace.")
        try:
            return path.read_bytes().decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            raise StorageError(f"{self.name(path)} cannot be read: {error.strerror}") from error

    def name(self, path: Path) -> str:
        """Return a file's path from the workspace."""
        return path.relative_to(self.layout.root).as_posix()

    def refuse(self, change: EntryChange, rule: MemoryRule | None = None) -> str | None:
        """Return why something must not be remembered, or None."""
        if not change.entry.text.strip():
            return None
        is_own = change.path.parent.name == "users"
        return refuse_entry(change.entry, mask=self._mask, is_own=is_own, avoid=(rule and rule.avoid) or ())

    def plan(self, changes: Sequence[EntryChange]) -> list[FileChange]:
        """Work out what entries change in which files; raise where a file would grow too large."""
        texts: dict[Path, tuple[str, str]] = {}
        for each in changes:
            before, after = texts.get(each.path) or (text := self.read(each.path), text)
            after = put_entry(after, each.entry)
            if len(after.encode()) > FILE_LIMIT:
                raise UserError(say("too-large", path=self.name(each.path), limit=f"{FILE_LIMIT:,}"))
            texts[each.path] = (before, after)
        return [FileChange(path, *both) for path, both in texts.items()]

    def state(self, changes: Sequence[EntryChange]) -> JsonObject:
        """Describe what the entries stand for now: a change elsewhere in a file is none of theirs."""
        digest = hashlib.sha256()
        for each in changes:
            old = read_memory(self.read(each.path)).find(each.entry.heading)
            digest.update(msgspec.json.encode([str(each.path), each.entry.heading, old and old.text]))
        real = os.path.realpath(changes[0].path) if changes else ""
        return {"path": real, "state": "entries", "sha256": digest.hexdigest()}

    def write(
        self, changes: Sequence[EntryChange], check: Callable[[JsonObject], None] | None = None
    ) -> list[FileChange]:
        """Put entries on disk, unless `check` finds that they stand otherwise than they were shown."""
        with locked(self._disk, self.layout.memory_lock):
            if check is not None:
                check(self.state(changes))
            made = [each for each in self.plan(changes) if each.before != each.after]
            for each in made:
                self._replace(each)
            return made

    def _replace(self, change: FileChange) -> None:
        """Keep what stands in a file, then replace it: cut off in between, it is as it was."""
        name = self.name(change.path)
        try:
            # That a file began is a change too, so its emptiness is kept.
            keep_earlier(self.layout.revisions(name), change.before.encode())
            if change.after.strip():
                replace_text(change.path, change.after.encode(), 0o600)
            else:
                change.path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{name} could not be written: {error.strerror}") from error

    def files(self) -> list[Path]:
        """List the files of memory: of the project, of people, and of each member."""
        found = [self.layout.project_memory, *sorted(self.layout.project_memory.parent.glob("users/*.md"))]
        homes = [self.layout.memory, *sorted(self.layout.members.glob("*/memory"))]
        found += [path for home in homes for path in sorted(home.rglob("*.md"))]
        return [path for path in found if path.is_file() and not path.is_symlink()]

    def search(self, words: str) -> list[tuple[Path, MemoryEntry]]:
        """Find the entries that hold all of some words."""
        wanted = words.casefold().split()
        found: list[tuple[Path, MemoryEntry]] = []
        for path in self.files():
            text = read_memory(self.read(path))
            rest = MemoryEntry(heading="", text=text.preamble)
            for entry in (rest, *text.entries):
                said = f"{entry.heading}\n{entry.text}".casefold()
                if said.strip() and all(word in said for word in wanted):
                    found.append((path, entry))
        return found

    def log(self, path: Path | None = None) -> list[MemoryChange]:
        """List what was changed, newest first, from the earlier texts of each file."""
        names = self._changed_names() if path is None else [self.name(path)]
        found = [change for name in names for change in self._changes(name)]
        return sorted(found, key=lambda each: each.at, reverse=True)

    def deleted(self) -> list[str]:
        """List the files that are gone and can be had back, by their paths from the workspace."""
        names = [each for each in self._changed_names() if not (self.layout.root / each).exists()]
        return sorted(
            name for name in names if any(each.text for each in list_earlier(self.layout.revisions(name)))
        )

    def _changed_names(self) -> list[str]:
        folder = self.layout.revisions("x").parent
        names = [unquote(each.name) for each in folder.iterdir()] if folder.is_dir() else []
        return [name for name in names if is_memory_name(name)]

    def _changes(self, name: str) -> Iterable[MemoryChange]:
        after = self.read(self.layout.root / name)
        is_last = True
        for each in list_earlier(self.layout.revisions(name)):
            # A writer that was cut off left an earlier text that nothing followed.
            if each.text != after:
                made = hashlib.sha256(f"{name}\0{each.at}\0{each.version}".encode()).hexdigest()[:8]
                yield MemoryChange(
                    id=made, at=each.at, path=name, before=each.text, after=after, is_last=is_last
                )
                is_last = False
            after = each.text

    def undo(self, change_id: str | None = None) -> FileChange:
        """Take a change back, the last one unless another is named; what stood there is kept as well."""
        with locked(self._disk, self.layout.memory_lock):
            made = self._plan_undo(change_id)
            self._replace(made)
            return made

    def preview_undo(self, change_id: str | None = None) -> FileChange:
        """Return what taking a change back would change."""
        return self._plan_undo(change_id)

    def _plan_undo(self, change_id: str | None) -> FileChange:
        log = self.log()
        if not log:
            raise NotFoundError(say("nothing-to-undo"))
        change = next((each for each in log if change_id in (None, each.id)), None)
        if change is None:
            raise NotFoundError(say("unknown-change", id=str(change_id)))
        path = self.layout.root / change.path
        now = self.read(path)
        if change.is_last:
            return FileChange(path, now, change.before)
        before, after, standing = (read_memory(text) for text in (change.before, change.after, now))
        text = now
        for _, heading in change.headings:
            stands, left, old = (each.find(heading) for each in (standing, after, before))
            if (stands and stands.text) != (left and left.text):
                raise UserError(say("changed-since", path=change.path))
            text = put_entry(text, old or MemoryEntry(heading=heading, text=""))
        if text == now:
            raise UserError(say("changed-since", path=change.path))
        return FileChange(path, now, text)

    async def distil(
        self,
        ask: Callable[[str, str], Awaitable[str]],
        transcript: str,
        *,
        rule: MemoryRule,
        user: Path | None,
        source: str,
        day: date,
        is_tainted: bool = False,
    ) -> list[EntryChange]:
        """Return what a conversation leaves to remember, checked; nothing is written before a person agreed.

        `ask` puts a system prompt and a request to a model. Raises a `DistilError` on whatever is no answer.
        """
        project = self.layout.project_memory
        system, request = write_request(
            transcript, self.read(project), None if user is None else self.read(user), rule
        )
        found: dict[tuple[Path, str], EntryChange] = {}
        for each in read_proposals(await ask(system, request), rule.keep):
            path = project if each.scope == "project" else user
            if path is None:
                continue
            made = _make_entry(each, source=source, day=day, is_tainted=is_tainted)
            change = EntryChange(path=path, entry=made)
            # Of what was said to us nothing private is taken unasked for, not even of the person themselves.
            is_short = len(made.heading) <= HEADING_LIMIT and len(made.text) <= TEXT_LIMIT
            is_fit = not made.text or refuse_entry(made, mask=self._mask, avoid=rule.avoid or ()) is None
            if is_short and is_fit and _changes_anything(read_memory(self.read(path)), made):
                found[path, made.heading.casefold()] = change
        return list(found.values())

    def keep_index(self, own: Layout, path: Path, title: str) -> EntryChange | None:
        """Return the change that names a file of a member's memory tree in its INDEX.md.

        Where a MEMORY.md stands alone there is no index: one would take its place in the prompt.
        """
        index = own.memory_index
        if not index.is_file() and any(each.is_file() for each in own.long_term_memory):
            return None
        found = {each for each in own.memory.rglob("*.md") if each.is_file() and not each.is_symlink()}
        titles = {each: _find_title(self.read(each)) for each in found - {index}} | {path: title}
        lines = [f"- {each.relative_to(own.memory).as_posix()}: {titles[each]}" for each in sorted(titles)]
        text = "\n".join(lines[-INDEX_LINES:])
        return EntryChange(path=index, entry=MemoryEntry(heading=INDEX_HEADING, text=text))


def _find_title(text: str) -> str:
    title = TITLE.search(text)
    return title[1] if title else "…"


def is_memory_name(name: str) -> bool:
    """Return whether a path from the workspace is that of a file of memory."""
    parts = Path(name).parts
    if not name.endswith(".md") or ".." in parts:
        return False
    return (
        parts[:2] == (".ship", "memory") or parts[0] == "memory" or parts[0::2][:2] == ("members", "memory")
    )


def make_slug(heading: str) -> str:
    """Return the name of a file for a heading."""
    return SLUG.sub("-", heading.casefold()).strip("-") or "note"


def _make_entry(proposal: MemoryProposal, *, source: str, day: date, is_tainted: bool) -> MemoryEntry:
    return MemoryEntry(
        heading=" ".join(proposal.heading.strip(" \t\n#").split()),
        text="\n".join(tame(proposal.content)),
        kind=proposal.kind,
        date=day.isoformat(),
        source=source,
        is_tainted=is_tainted,
    )


def _changes_anything(text: MemoryText, entry: MemoryEntry) -> bool:
    old = text.find(entry.heading)
    return bool(entry.heading) and (old.text if old else "") != entry.text
