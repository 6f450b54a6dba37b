"""Change a set of files all or none, also when the process is killed in between.

What is new lies in a folder of its own, on disk, before a mark beside it says that it is to be put in place.
Before the mark nothing has happened; after it whoever opens the workspace next finishes the work from where
it stopped: each step looks first whether it was taken already.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.file.change.state import (
    ABSENT,
    CHUNK,
    SET_ID,
    State,
    digest_of,
    list_names,
    look,
    look_at,
    reach,
)
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.disk.private import make_private, sync_folder, write_private
from shipmate.workspace.layout import Layout

PLAN = "plan.json"
MARK = "mark"
CONTENT = "new"
OWNER_ALL = 0o700


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One path and how it stands before and after; `content` names the new file in the changeset's folder."""

    path: str
    before: State
    after: State
    content: str = ""

    @property
    def has_effect(self) -> bool:
        """Return whether anything changes; a closed folder is listed when something in it does."""
        return self.before != self.after

    @property
    def makes_room(self) -> bool:
        """Return whether what was there must go before what comes can be made."""
        kinds = {self.before.kind, self.after.kind}
        return self.before.kind != "absent" and len(kinds) > 1 and bool(kinds & {"absent", "folder"})


class Changeset:
    """Changes to a workspace that take effect together; what is new is kept in `folder`."""

    def __init__(self, root: Path, folder: Path, changes: Iterable[Change] = ()) -> None:
        self.root = root
        self.folder = folder
        self.changes = list(changes)
        self._staged = 0

    @classmethod
    def read(cls, root: Path, folder: Path) -> Changeset:
        """Read a changeset that was kept."""
        return cls(root, folder, msgspec.json.decode((folder / PLAN).read_bytes(), type=list[Change]))

    @property
    def digest(self) -> str:
        """Return the hash of all changes and of the state they start from."""
        rows = [(change.path, change.before, change.after) for change in self.changes]
        return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()

    def stage(self, source: int, mode: int, *, keep_time: bool = True) -> tuple[str, State]:
        """Copy an opened file into the changeset; return the copy's name and state."""
        contents, name = self._next_content()
        digest = hashlib.sha256()
        handle = os.open(contents / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            size = 0
            while piece := os.read(source, CHUNK):
                size += _write_all(handle, piece)
                digest.update(piece)
            if keep_time:
                status = os.fstat(source)
                os.utime(handle, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(handle)
        return name, State("file", mode & ~SET_ID, size, digest.hexdigest())

    def stage_link(self, target: str) -> tuple[str, State]:
        """Make a link in the changeset; return its name and state."""
        contents, name = self._next_content()
        (contents / name).symlink_to(target)
        return name, State("link", digest=target)

    def _next_content(self) -> tuple[Path, str]:
        self._staged += 1
        return make_private(self.folder / CONTENT), str(self._staged)

    def write(self, *, is_final: bool = True) -> None:
        """Keep the list of changes, parents before what is in them; `secure` follows unless it is final."""
        make_private(self.folder)
        self.changes += self._closed_parents()
        self.changes.sort(key=lambda change: (change.path.count("/"), change.path))
        if is_final:
            self.secure()
        else:
            (self.folder / PLAN).write_bytes(msgspec.json.encode(self.changes))

    def _closed_parents(self) -> list[Change]:
        """List the folders that must be opened for a while, since a command had opened them too."""
        known = {change.path for change in self.changes}
        parents = {change.path.rpartition("/")[0] for change in self.changes} - known - {""}
        states = {parent: look(self.root, parent) for parent in parents}
        return [
            Change(parent, state, state)
            for parent, state in states.items()
            if state.kind == "folder" and state.mode & OWNER_ALL != OWNER_ALL
        ]

    def changed_since(self) -> list[str]:
        """List the paths that no longer stand as they did when the changes were found."""
        return [change.path for change in self.changes if not self._stands(change)]

    def apply(self) -> list[str]:
        """Put all changes in place; raise TargetChangedError, with nothing done, when a base has changed.

        Returns the paths left alone because somebody changed them in this very moment.
        """
        if changed := self.changed_since():
            raise TargetChangedError(f"changed since it was shown: {', '.join(changed)}. Nothing was done.")
        if closed := self._closed():
            raise ToolError(f"the system does not let {', '.join(closed)} be changed. Nothing was done.")
        write_private(self.folder / MARK, self.digest.encode())
        return self.finish()

    def secure(self) -> None:
        """Put all that is new on disk; raise TargetChangedError when it is not what was kept."""
        contents = self.folder / CONTENT
        for change in self.changes:
            if change.content and not _secure_content(contents / change.content, change.after):
                raise TargetChangedError(f"what was kept for {change.path} is damaged. Nothing was done.")
        if contents.is_dir():
            sync_folder(contents)
        write_private(self.folder / PLAN, msgspec.json.encode(self.changes))

    def finish(self) -> list[str]:
        """Take the steps that were not taken yet, then forget the changeset."""
        left = self._perform()
        (self.folder / MARK).unlink(missing_ok=True)
        sync_folder(self.folder)
        discard(self.folder)
        return left

    def _stands(self, change: Change) -> bool:
        parent = self._by_path.get(change.path.rpartition("/")[0])
        if parent is not None and parent.before.kind != "folder":
            # Nothing can be below what is no folder; the parent's own state says whether that still holds.
            return True
        if not look(self.root, change.path).matches(change.before):
            return False
        if not (change.makes_room and change.before.kind == "folder"):
            return True
        inside = {f"{change.path}/{name}" for name in list_names(self.root, change.path)}
        return inside <= self._by_path.keys()

    def _closed(self) -> list[str]:
        """List the folders we have no right to work in, before anything is begun."""
        parents = {change.path.rpartition("/")[0] for change in self.changes} - self._by_path.keys()
        return sorted(parent or "." for parent in parents if not self._is_open(parent))

    def _is_open(self, parent: str) -> bool:
        with reach(self.root, [*parent.split("/"), "."] if parent else ["."]) as folder:
            return os.access(".", os.W_OK | os.X_OK, dir_fd=folder)

    @cached_property
    def _by_path(self) -> dict[str, Change]:
        return {change.path: change for change in self.changes}

    def _perform(self) -> list[str]:
        for change in self.changes:
            self._open(change)
        for change in reversed(self.changes):
            if change.makes_room:
                self._remove(change)
        left = [change.path for change in self.changes if change.has_effect and not self._put(change)]
        for change in reversed(self.changes):
            self._close(change)
        for parent in {change.path.rpartition("/")[0] for change in self.changes}:
            self._sync(parent)
        return left

    def _open(self, change: Change) -> None:
        """Let the owner work in a folder that its mode closes."""
        if change.before.kind != "folder" or change.before.mode & OWNER_ALL == OWNER_ALL:
            return
        with self._reached(change.path) as (folder, name):
            if folder is not None and look_at(folder, name).kind == "folder":
                set_mode(folder, name, change.before.mode | OWNER_ALL)

    def _remove(self, change: Change) -> None:
        with self._reached(change.path) as (folder, name):
            now = ABSENT if folder is None else look_at(folder, name)
            if change.before.kind == "folder" and now.kind == "folder":
                # Not empty: somebody put something there in this very moment.
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=folder)
            elif now.kind != "absent" and now.matches(change.before):
                os.unlink(name, dir_fd=folder)

    def _put(self, change: Change) -> bool:
        """Bring a path to its new state; tell whether it is there."""
        with self._reached(change.path) as (folder, name):
            if folder is None:
                return change.after.kind == "absent"
            now, after = look_at(folder, name), change.after
            if now.matches(after) or now.kind == after.kind == "folder":
                return True
            if now.kind != "absent" and not now.matches(change.before):
                return False
            if after.kind == "folder":
                os.mkdir(name, OWNER_ALL, dir_fd=folder)
            elif change.content:
                return self._move_in(self.folder / CONTENT / change.content, folder, name)
            elif after.kind == now.kind == "file":
                set_mode(folder, name, after.mode)
            else:
                return False
            return True

    def _move_in(self, source: Path, folder: int, name: str) -> bool:
        try:
            os.rename(source, name, dst_dir_fd=folder)
        except FileNotFoundError:
            # It was put in place before the process ended, and somebody has changed it since.
            return False
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            # The same name each time, so that a second attempt leaves no trace of the first.
            beside = f".{self.folder.name}-{source.name}.tmp"
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            copy_to(source, folder, beside)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        return True

    def _close(self, change: Change) -> None:
        """Set a folder's mode once nothing more happens in it."""
        if change.after.kind != "folder":
            return
        with self._reached(change.path) as (folder, name):
            now = ABSENT if folder is None else look_at(folder, name)
            wanted = (change.after.mode & ~SET_ID) | (now.mode & SET_ID)
            if folder is not None and now.kind == "folder" and now.mode != wanted:
                set_mode(folder, name, wanted)

    @contextmanager
    def _reached(self, path: str) -> Generator[tuple[int | None, str]]:
        """Open the folder that holds a path; None when it is gone."""
        parts = path.split("/")
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(reach(self.root, parts))
            except (FileNotFoundError, NotADirectoryError):
                folder = None
            yield folder, parts[-1]

    def _sync(self, parent: str) -> None:
        parts = [*parent.split("/"), "."] if parent else ["."]
        with contextlib.suppress(OSError), reach(self.root, parts) as folder:
            handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _secure_content(path: Path, after: State) -> bool:
    """Set a copy's mode and put it on disk; tell whether it is what it should be."""
    with contextlib.suppress(OSError):
        if after.kind == "link":
            return os.readlink(path) == after.digest  # noqa: PTH115 - a Path would tidy the text
        path.chmod(0o600)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            is_same = digest_of(handle) == after.digest
            os.fchmod(handle, after.mode & ~SET_ID)
            os.fsync(handle)
        finally:
            os.close(handle)
        return is_same
    return False


def set_mode(folder: int, name: str, mode: int) -> None:
    """Set the mode of a name in an opened folder, never through a link."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - as its sibling above
    finally:
        os.close(handle)


def copy_to(source: Path, folder: int, name: str) -> None:
    """Copy a file or a link into an opened folder, on disk before this returns."""
    if source.is_symlink():
        os.symlink(source.readlink(), name, dir_fd=folder)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with source.open("rb") as old, os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as new:
        shutil.copyfileobj(old, new)
        new.flush()
        os.fchmod(new.fileno(), os.fstat(old.fileno()).st_mode & 0o1777)
        os.fsync(new.fileno())


def discard(folder: Path) -> None:
    """Remove a folder whatever modes and depths a command left in it."""
    try:
        _open_up(folder)
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        # Folders nested deeper than a path or Python's stack can be.
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, stderr=subprocess.DEVNULL)


def _open_up(folder: Path) -> None:
    folder.chmod(OWNER_ALL)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _open_up(Path(entry.path))


@contextmanager
def hold(layout: Layout) -> Generator[None]:
    """Keep others, also other processes, from applying or finishing changes meanwhile."""
    make_private(layout.ship)
    with locked(DISK, layout.changes_lock):
        yield


def recover(layout: Layout) -> list[str]:
    """Finish what was to be put in place when the process ended; return the names of those changesets."""
    marked = [mark.parent for mark in sorted(layout.trials.glob(f"*/{MARK}"))]
    if not marked:
        return []
    with hold(layout):
        for folder in marked:
            # Another process may have finished it while this one waited.
            if (folder / MARK).is_file():
                Changeset.read(layout.root, folder).finish()
    return [folder.name for folder in marked]


def _write_all(handle: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    return len(data)
