"""Save a course of a thread as a script."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from shipmate.errors import NotFoundError, PrimingError, StorageError
from shipmate.priming.convert import to_records
from shipmate.priming.library import Library
from shipmate.priming.pinned import without_pins, write_reminders
from shipmate.priming.privacy import make_digest, mask_messages, share_messages
from shipmate.priming.ref import ScriptRef, read_slug
from shipmate.priming.script.record import KIND, VERSION, Script
from shipmate.priming.script.writer import write_script
from shipmate.store.port import Store
from shipmate.thread.pin import Pin, pins_of
from shipmate.thread.service import ThreadService
from shipmate.values.message import JsonObject, UIMessage, metadata_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.private import sync_folder
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.load import load_config
from shipmate.workspace.secret.secret import Mask

_OFFERED_LENGTH = 40


class ScriptExistsError(PrimingError):
    """A script of that name exists already. Give --overwrite to replace it, or choose another slug."""


class Saved(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a script was saved; the path is relative to the workspace."""

    path: str
    script_ref: str
    records: int


async def save_script(
    library: Library,
    threads: ThreadService,
    store: Store,
    *,
    thread_id: ThreadId,
    slug: str,
    course: int | None = None,
    title: str | None = None,
    overwrite: bool = False,
    full: bool = False,
) -> Saved:
    """Save the current course of a thread, or a named one, to its member's own scripts.

    Who spoke where and when, and which run answered, is told only by a `full` script.
    """
    info = await store.threads.find(str(thread_id))
    member = info.member if info is not None else CAPTAIN
    ref = ScriptRef(member, read_slug(slug))
    thread = await threads.read(thread_id)
    number = thread.course if course is None else course
    messages = select_course(thread.messages, number, thread.course)
    status = "archived" if info is not None and info.archived else "running"
    named = title or (info.title if info is not None else "")

    # What was in force when the course ended, whichever course pinned it.
    pins = pins_of(message for at, message in _with_course(thread.messages) if at <= number)

    def save() -> Saved:
        mask = load_config(library.layout).mask
        source = SourceDialog(thread_id=thread_id, course=number, status=status, title=named)
        script = make_script(messages, ref, source, pins=pins, mask=mask, full=full)
        path = ref.path(library.layout)
        write_file(path, write_script(script).encode(), ref, overwrite=overwrite)
        name = path.relative_to(library.layout.root).as_posix()
        return Saved(path=name, script_ref=str(ref), records=len(script.records))

    # A long course takes a while to write; other threads go on meanwhile.
    return await asyncio.to_thread(save)


def select_course(messages: Sequence[UIMessage], course: int, last: int) -> list[UIMessage]:
    """Return the messages of one course; a message without a number belongs to the course that is open."""
    if not 1 <= course <= last:
        raise NotFoundError(f"there is no course {course}; this thread has {last}")
    return [message for number, message in _with_course(messages) if number == course]


def _with_course(messages: Iterable[UIMessage]) -> Iterator[tuple[int, UIMessage]]:
    current = 1
    for message in messages:
        number = metadata_of(message).get("course")
        current = max(current, number) if isinstance(number, int) else current
        yield current, message


class SourceDialog(msgspec.Struct, frozen=True, kw_only=True):
    """The course a script is made of, and the title it has there."""

    thread_id: ThreadId
    course: int
    status: str = "running"
    title: str = ""


def make_script(
    messages: Sequence[UIMessage],
    ref: ScriptRef,
    source: SourceDialog,
    *,
    pins: Sequence[Pin] = (),
    mask: Mask | None = None,
    full: bool = False,
) -> Script:
    """Make the script of some messages, with pins as reminders; refuse when nobody said anything."""
    if not any(message["role"] != "system" and message["parts"] for message in messages):
        raise PrimingError(
            f"course {source.course} of {source.thread_id} is empty: there is nothing to save yet"
        )
    cover = mask or Mask(())
    frontmatter: JsonObject = {
        "kind": KIND,
        "version": VERSION,
        "title": cover(source.title) or ref.slug.rpartition("/")[2],
        "ownerAgentId": ref.member,
        **_write_source(source, full=full),
    }
    if pins:
        reminders = write_reminders(pins)
        frontmatter["reminders"] = [{**each, "content": cover(each["content"])} for each in reminders]
    said = mask_messages(without_pins(messages), mask or Mask(()))
    shared = said if full else share_messages(said, source.thread_id.platform)
    return Script(frontmatter, to_records(shared))


def _write_source(source: SourceDialog, *, full: bool) -> JsonObject:
    name = str(source.thread_id) if full else make_digest(str(source.thread_id))
    dialog = {"rootId": name, "selfId": name, "course": source.course, "status": source.status}
    at = {"generatedAt": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")} if full else {}
    return {**at, "sourceDialog": dialog}


async def offer_name(
    library: Library, threads: ThreadService, store: Store, thread_id: ThreadId, course: int | None = None
) -> str:
    """Return a free slug for a course of a thread, the current one by default."""
    info = await store.threads.find(str(thread_id))
    title, member = (info.title, info.member) if info is not None else ("", CAPTAIN)
    number = (await threads.read(thread_id)).course if course is None else course
    return offer_slug(library, member, load_config(library.layout).mask(title), number)


def offer_slug(library: Library, member: str, title: str, course: int) -> str:
    """Return a slug nobody took yet, of the words of a title where it has any that a slug may hold."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    stem = "-".join(words)[:_OFFERED_LENGTH].rstrip("-") or f"course-{course}"
    taken = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(slug for slug in taken if not ScriptRef(member, slug).path(library.layout).exists())


def write_file(path: Path, data: bytes, ref: ScriptRef, *, overwrite: bool) -> None:
    """Put a file in place in one step; of two writers to one name exactly one wins."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path.parent} cannot be made: {error.strerror}") from error
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            _keep_mode(path, temporary)
            temporary.replace(path)
        else:
            # Unlike a rename, a link refuses a name that is taken.
            path.hardlink_to(temporary)
        sync_folder(path.parent)
    except FileExistsError as error:
        raise ScriptExistsError(
            f"{ref} exists already. Give --overwrite to replace it, or choose another slug."
        ) from error
    except OSError as error:
        raise StorageError(f"{ref} could not be saved: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _keep_mode(path: Path, temporary: Path) -> None:
    """Let a file be as open to others as the one it replaces."""
    with contextlib.suppress(FileNotFoundError):
        temporary.chmod(path.stat().st_mode & 0o777)
