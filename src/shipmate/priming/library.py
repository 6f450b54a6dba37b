"""Find, list and search the scripts of a workspace. The disk is looked at on every request."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from shipmate.errors import NotFoundError, PrimingError
from shipmate.priming.ref import ScriptRef, is_own_place
from shipmate.priming.script.parse import check_script, parse_script, read_script, read_text
from shipmate.priming.script.record import Script, ScriptError
from shipmate.values.message import timestamp
from shipmate.workspace.layout import Layout

FOUND_LIMIT = 50
# Files of other members that are remembered besides those just listed.
_SEEN_LIMIT = 10_000


class ScriptEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A script as a list shows it; the path is relative to the workspace."""

    script_ref: str
    slug: str
    title: str | None
    path: str
    records: int
    applicable_member_ids: tuple[str, ...]
    updated_at: str
    used_at: str | None = None


class Listing(msgspec.Struct, frozen=True):
    """The scripts found, and the files that could not be read."""

    entries: list[ScriptEntry]
    problems: list[str]


class Shown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One script whole, broken or not."""

    script_ref: str
    title: str | None
    path: str
    text: str
    records: int
    problems: list[str]


class _Seen(msgspec.Struct, frozen=True):
    """What a file held when it last looked like this."""

    stamp: tuple[int, int, int]
    entry: ScriptEntry | None
    problem: str


class NotTheirsError(PrimingError):
    """That script is for other members. `shipmate priming list` shows the scripts a member has."""


class Library:
    """The scripts of one workspace."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._seen: dict[str, _Seen] = {}
        # Several requests may search at once from worker threads.
        self._lock = threading.Lock()

    def load(self, ref: ScriptRef, member: str | None = None) -> Script:
        """Read a script; with a member, only one that is meant for them."""
        script = read_script(ref.path(self.layout), str(ref))
        if member is not None and not is_applicable(ref.member, script.applicable, member):
            raise NotTheirsError(
                f"{ref} is not for {member}. `shipmate priming list` shows the scripts that are."
            )
        return script

    def weigh(self, ref: ScriptRef) -> int:
        """Return the size of a script in bytes; 0 when it is missing."""
        try:
            return ref.path(self.layout).stat().st_size
        except OSError:
            return 0

    def show(self, ref: ScriptRef) -> Shown:
        """Return the text of a script as it stands on disk, and every mistake in it."""
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
        entries: list[tuple[int, ScriptEntry]] = []
        problems: list[str] = []
        kept: dict[str, _Seen] = {}
        for owner, folder in (
            (member, self.layout.member_priming(member)),
            (None, self.layout.shared_priming),
        ):
            if problem := self._check_folder(folder):
                problems.append(problem)
                continue
            for path in sorted(_walk(folder)):
                seen = kept[path] = self._look(path, folder, owner)
                if seen.entry is None:
                    problems.append(seen.problem)
                elif is_applicable(owner, seen.entry.applicable_member_ids, member):
                    entries.append((seen.stamp[0], seen.entry))
        self._seen = {**self._seen, **kept} if len(self._seen) < 2 * len(kept) + _SEEN_LIMIT else kept
        entries.sort(key=lambda item: (-item[0], item[1].script_ref))
        return Listing([entry for _, entry in entries], problems)

    def _check_folder(self, folder: Path) -> str:
        """Say that a folder is a link that leads elsewhere; what lies there is nobody's script."""
        if is_own_place(folder, folder, self.layout):
            return ""
        return f"{self._name(folder)} is a link that leads elsewhere. Put the folder itself there."

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

    def find(self, ref: ScriptRef) -> ScriptEntry | None:
        """Describe one script; None when it is missing or cannot be read."""
        folder = ref.folder(self.layout)
        path = folder / f"{ref.slug}.md"
        with self._lock:
            return self._look(str(path), folder, ref.member).entry if path.is_file() else None

    def explain(self, ref: ScriptRef) -> str:
        """Return why a script cannot be read, "" when it can or is missing."""
        folder = ref.folder(self.layout)
        path = folder / f"{ref.slug}.md"
        with self._lock:
            return self._look(str(path), folder, ref.member).problem if path.is_file() else ""

    def every(self) -> Iterator[tuple[ScriptRef | None, Path]]:
        """Go over every script file, and links in place of folders; the ref is None where there is none."""
        folders: list[tuple[str | None, Path]] = [(None, self.layout.shared_priming)]
        individual = self.layout.priming / "individual"
        if individual.is_dir():
            folders += [(folder.name, folder) for folder in sorted(individual.iterdir()) if folder.is_dir()]
        for owner, folder in folders:
            if self._check_folder(folder):
                yield None, folder
                continue
            for path in map(Path, sorted(_walk(folder))):
                try:
                    yield _name(path, folder, owner), path
                except PrimingError:
                    yield None, path

    def _look(self, path: str, folder: Path, owner: str | None) -> _Seen:
        """Describe a file, reading it only when it changed since the last look."""
        seen = self._seen.get(path)
        try:
            # Plain text paths: a list of a thousand scripts looks at each of them on every key typed.
            found = os.stat(path)  # noqa: PTH116
        except OSError as error:
            return _Seen((0, 0, 0), None, f"{self._name(path)}: {error.strerror}")
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen is None or seen.stamp != stamp:
            seen = self._seen[path] = self._read(Path(path), folder, owner, stamp)
        return seen

    def _read(self, path: Path, folder: Path, owner: str | None, stamp: tuple[int, int, int]) -> _Seen:
        name = self._name(path)
        if path.is_dir() and path.is_symlink():
            return _Seen(stamp, None, self._check_folder(path) or f"{name}: this is no regular file")
        try:
            ref = _name(path, folder, owner)
            script = read_script(ref.path(self.layout), name)
        except ScriptError as error:
            return _Seen(stamp, None, str(error))
        except (PrimingError, NotFoundError) as error:
            return _Seen(stamp, None, f"{name}: {error}")
        return _Seen(stamp, _describe(ref, script, name, stamp[0] / 1e9), "")

    def _name(self, path: str | Path) -> str:
        return Path(path).relative_to(self.layout.root).as_posix()


def _describe(ref: ScriptRef, script: Script, name: str, modified: float) -> ScriptEntry:
    return ScriptEntry(
        script_ref=str(ref),
        slug=ref.slug,
        title=script.title,
        path=name,
        records=len(script.records),
        applicable_member_ids=script.applicable,
        updated_at=timestamp(datetime.fromtimestamp(modified, UTC)),
    )


def is_applicable(owner: str | None, listed: tuple[str, ...], member: str) -> bool:
    """Return whether a script is meant for a member: their own, or shared with them."""
    return owner == member if owner is not None else not listed or member in listed


def _name(path: Path, folder: Path, owner: str | None) -> ScriptRef:
    return ScriptRef(owner, path.relative_to(folder).as_posix().removesuffix(".md"))


def _walk(folder: Path) -> Iterator[str]:
    """Go over the paths of `.md` files below a folder, and of links to folders elsewhere, unfollowed."""
    waiting = [str(folder)]
    real = os.path.realpath(folder)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                entries = list(found)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.name.lower().endswith(".md") or _leads_out(entry, real):
                yield entry.path


def _leads_out(entry: os.DirEntry[str], real: str) -> bool:
    return (
        entry.is_symlink() and entry.is_dir() and not Path(os.path.realpath(entry.path)).is_relative_to(real)
    )
