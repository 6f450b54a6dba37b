"""Find, list and search the scripts of a workspace. The disk is looked at on every request."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from shipmate.errors import PrimingError
from shipmate.priming.parse import check_script, parse_script, read_script, read_text
from shipmate.priming.record import Script, ScriptError
from shipmate.priming.ref import ScriptRef
from shipmate.values.message import timestamp
from shipmate.workspace.layout import Layout

FOUND_LIMIT = 50
# Files of other members that are remembered besides those just listed.
_SEEN_LIMIT = 10_000


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Describe a script for a list; the path is relative to the workspace."""

    script_ref: str
    slug: str
    title: str | None
    path: str
    records: int
    applicable_member_ids: tuple[str, ...]
    updated_at: str
    used_at: str | None = None


class Listing(msgspec.Struct, frozen=True):
    """Carry the scripts found, and the files that could not be read."""

    entries: list[Entry]
    problems: list[str]


class Shown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Give one script whole, broken or not."""

    script_ref: str
    title: str | None
    path: str
    text: str
    records: int
    problems: list[str]


class _Seen(msgspec.Struct, frozen=True):
    """Remember what a file held when it last looked like this."""

    stamp: tuple[int, int, int]
    entry: Entry | None
    problem: str


class Library:
    """Hold the scripts of one workspace."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._seen: dict[Path, _Seen] = {}
        # Several requests may search at once from worker threads.
        self._lock = threading.Lock()

    def load(self, ref: ScriptRef, member: str | None = None) -> Script:
        """Read a script; with a member, only one that is meant for them."""
        script = read_script(ref.path(self.layout), str(ref))
        if member is not None and not is_applicable(ref, script.applicable, member):
            raise PrimingError(
                f"{ref} is not for {member}. `shipmate priming list` shows the scripts that are."
            )
        return script

    def show(self, ref: ScriptRef) -> Shown:
        """Give the text of a script as it stands on disk, and every mistake in it."""
        path = ref.path(self.layout)
        name = path.relative_to(self.layout.root).as_posix()
        text = read_text(path, name)
        problems = check_script(text, name)
        script = None if problems else parse_script(text, name)
        return Shown(
            script_ref=str(ref),
            title=script.title if script else None,
            path=name,
            text=text,
            records=len(script.records) if script else 0,
            problems=list(map(str, problems)),
        )

    def list(self, member: str) -> Listing:
        """List the scripts meant for a member, newest first."""
        with self._lock:
            return self._list(member)

    def _list(self, member: str) -> Listing:
        entries: list[tuple[int, Entry]] = []
        problems: list[str] = []
        kept: dict[Path, _Seen] = {}
        for owner, folder in (
            (member, self.layout.member_priming(member)),
            (None, self.layout.shared_priming),
        ):
            for file in sorted(_walk(folder), key=lambda item: item.path):
                path = Path(file.path)
                seen = kept[path] = self._look(path, folder, owner)
                if seen.entry is None:
                    problems.append(seen.problem)
                elif is_applicable(
                    ScriptRef(owner, seen.entry.slug), seen.entry.applicable_member_ids, member
                ):
                    entries.append((seen.stamp[0], seen.entry))
        self._seen = {**self._seen, **kept} if len(self._seen) < 2 * len(kept) + _SEEN_LIMIT else kept
        entries.sort(key=lambda item: (-item[0], item[1].script_ref))
        return Listing([entry for _, entry in entries], problems)

    def search(self, member: str, query: str, limit: int = FOUND_LIMIT) -> Listing:
        """Find scripts whose slug, ref or title holds the query; an empty query finds nothing."""
        wanted = query.strip().lower()
        if not wanted:
            return Listing([], [])
        listing = self.list(member)
        found = [
            entry
            for entry in listing.entries
            if any(wanted in text.lower() for text in (entry.slug, entry.script_ref, entry.title or ""))
        ]
        return Listing(found[:limit], listing.problems)

    def find(self, ref: ScriptRef) -> Entry | None:
        """Describe one script; None when it is missing or cannot be read."""
        path = ref.folder(self.layout) / f"{ref.slug}.md"
        with self._lock:
            return self._look(path, ref.folder(self.layout), ref.member).entry if path.is_file() else None

    def every(self) -> Iterator[tuple[ScriptRef | None, Path]]:
        """Go over every script file of the workspace; the ref is None where the name is no slug."""
        folders: list[tuple[str | None, Path]] = [(None, self.layout.shared_priming)]
        individual = self.layout.priming / "individual"
        if individual.is_dir():
            folders += [(folder.name, folder) for folder in sorted(individual.iterdir()) if folder.is_dir()]
        for owner, folder in folders:
            for file in sorted(_walk(folder), key=lambda item: item.path):
                try:
                    yield _name(Path(file.path), folder, owner), Path(file.path)
                except PrimingError:
                    yield None, Path(file.path)

    def _look(self, path: Path, folder: Path, owner: str | None) -> _Seen:
        """Describe a file, reading it only when it changed since the last look."""
        name = path.relative_to(self.layout.root).as_posix()
        try:
            found = path.stat()
        except OSError as error:
            return _Seen((0, 0, 0), None, f"{name}: {error.strerror}")
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        seen = self._seen.get(path)
        if seen is not None and seen.stamp == stamp:
            return seen
        try:
            ref = _name(path, folder, owner)
            script = read_script(ref.path(self.layout), name)
        except ScriptError as error:
            seen = _Seen(stamp, None, str(error))
        except PrimingError as error:
            seen = _Seen(stamp, None, f"{name}: {error}")
        else:
            seen = _Seen(stamp, _describe(ref, script, name, found.st_mtime), "")
        self._seen[path] = seen
        return seen


def _describe(ref: ScriptRef, script: Script, name: str, modified: float) -> Entry:
    return Entry(
        script_ref=str(ref),
        slug=ref.slug,
        title=script.title,
        path=name,
        records=len(script.records),
        applicable_member_ids=script.applicable,
        updated_at=timestamp(datetime.fromtimestamp(modified, UTC)),
    )


def is_applicable(ref: ScriptRef, listed: tuple[str, ...], member: str) -> bool:
    """Tell whether a script is meant for a member: their own, or shared with them."""
    return ref.member == member if ref.member is not None else not listed or member in listed


def _name(path: Path, folder: Path, owner: str | None) -> ScriptRef:
    return ScriptRef(owner, path.relative_to(folder).as_posix().removesuffix(".md"))


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Go over the `.md` files below a folder; links to folders are not followed."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                entries = list(found)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif entry.name.lower().endswith(".md"):
                yield entry
