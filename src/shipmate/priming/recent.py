"""Remember which scripts a member's dialogs were created with, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from shipmate.errors import PrimingError
from shipmate.priming.library import Library, Listing, is_applicable
from shipmate.priming.ref import ScriptRef, is_own_place
from shipmate.values.nesting import check_nesting
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import MEMBER_ID, Layout

RECENT_LIMIT = 20
_BYTE_LIMIT = 1024 * 1024


class Recent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One use of a script. `sequence` orders uses within one second, and against a clock set back."""

    script_ref: str
    last_used_at: str
    sequence: int = 0


class _File(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    entries: list[Recent]


class Recents:
    """The recent scripts of every member; the file is read anew each time."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def read(self, member: str) -> tuple[list[Recent], list[str]]:
        """Return the uses, newest first; a damaged file is set aside and reported, never fatal."""
        path = self._layout.recent_priming(member)
        if problem := self._check_place(path):
            return [], [problem]
        try:
            with path.open("rb") as file:
                data = file.read(_BYTE_LIMIT + 1)
        except FileNotFoundError:
            return [], []
        except OSError as error:
            return [], [f"{path}: {error.strerror}"]
        try:
            found = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, PrimingError, ValueError) as error:
            return [], [_set_aside(path, str(error))]
        # The origin's files hold no sequence but stand newest first, and sorting keeps equals in place.
        return sorted(found, key=lambda recent: -recent.sequence), []

    def note(self, member: str, refs: Sequence[ScriptRef]) -> list[str]:
        """Put scripts first, the last given foremost, within the limit; give what was wrong with the file."""
        path = self._layout.recent_priming(member)
        if problem := self._check_place(path):
            return [problem]
        make_private(path.parent)
        with locked(DISK, path.with_name(f".{path.name}.lock")):
            known, problems = self.read(member)
            sequence = max((recent.sequence for recent in known), default=0)
            at = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
            for ref in refs:
                sequence += 1
                known = [recent for recent in known if recent.script_ref != str(ref)]
                known.insert(0, Recent(script_ref=str(ref), last_used_at=at, sequence=sequence))
            file = _File(version=1, entries=known[:RECENT_LIMIT])
            # Replaced in one step but not forced to disk: a list of favourites is not worth a wait.
            temporary = path.with_name(f".{path.name}.tmp")
            temporary.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")
            temporary.replace(path)
        return problems

    def _check_place(self, path: Path) -> str:
        if is_own_place(path, path.parent, self._layout):
            return ""
        return f"{path} is a link that leads elsewhere; no recent script is kept. Put the file itself there."

    def inspect(self) -> list[str]:
        """List what is wrong with the lists of all members; a damaged one is set aside as when it is read."""
        folder = self._layout.recent_priming("any").parent
        members = [path.stem for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
        known = [member for member in members if MEMBER_ID.fullmatch(member) and ".." not in member]
        return [problem for member in known for problem in self.read(member)[1]]

    def list(self, library: Library, member: str) -> Listing:
        """Describe the recent scripts that still exist and are meant for the member."""
        recents, problems = self.read(member)
        entries = [
            msgspec.structs.replace(entry, used_at=recent.last_used_at)
            for recent in recents
            if (entry := library.find(ref := ScriptRef.parse(recent.script_ref))) is not None
            and is_applicable(ref.member, entry.applicable_member_ids, member)
        ]
        return Listing(entries, [*problems, *self._find_broken(library, recents)])

    def _find_broken(self, library: Library, recents: Sequence[Recent]) -> Iterator[str]:
        """Yield why a script that was used can no longer be; one that is gone needs no reason."""
        for recent in recents:
            if problem := library.explain(ScriptRef.parse(recent.script_ref)):
                yield problem


def _decode(data: bytes) -> list[Recent]:
    if len(data) > _BYTE_LIMIT:
        raise ValueError(f"more than {_BYTE_LIMIT} bytes")
    file = msgspec.json.decode(check_nesting(data), type=_File)
    if file.version != 1:
        raise ValueError(f"version {file.version} is not known")
    for recent in file.entries:
        ScriptRef.parse(recent.script_ref)
    return file.entries


def _set_aside(path: Path, reason: str) -> str:
    aside = path.with_name(f"{path.name}.damaged-{datetime.now().astimezone():%Y%m%d-%H%M%S-%f}")
    try:
        path.rename(aside)
    except OSError as error:
        return f"{path} is damaged ({reason}) and cannot be set aside: {error.strerror}"
    return f"{path} was damaged ({reason}); it was set aside as {aside.name} and the list starts anew"
