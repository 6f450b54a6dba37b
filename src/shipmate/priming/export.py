"""Save a course of a thread as a script."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from shipmate.errors import NotFoundError, PrimingError, StorageError
from shipmate.priming.convert import to_records
from shipmate.priming.library import Library
from shipmate.priming.pinned import without_pins, write_reminders
from shipmate.priming.ref import ScriptRef, read_slug
from shipmate.priming.script.record import KIND, VERSION, Script
from shipmate.priming.script.writer import write_script
from shipmate.store.port import Store
from shipmate.thread.course import read_course
from shipmate.thread.pin import Pin, pins_of
from shipmate.thread.service import ThreadService
from shipmate.values.event import surface_of
from shipmate.values.message import JsonObject, UIMessage, metadata_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.private import sync_folder
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.load import load_config
from shipmate.workspace.secret.secret import Mask

_OFFERED_LENGTH = 40

Cover: TypeAlias = Callable[[str], str]
# What metadata says of the talk itself. Whatever else it says is of people, places, runs or times.
SHARED = frozenset(
    {"course", "sourceTag", "member", "model", "outcome", "ending", "clientCalls", "guides", "userId"}
)
# What the program's own parts say of the talk. Whatever else they hold names people, threads and runs.
_DATA_KEYS = {
    "data-reply": frozenset({"text", "userId", "steps"}),
    "data-replaced": frozenset({"by"}),
    "data-request": frozenset({"count", "tainted"}),
    "data-resumed": frozenset({"reason"}),
}
# What an approval says of the talk: which question it was, and what a person answered.
_APPROVAL_KEYS = frozenset({"id", "approved", "reason"})
# Names, not words: what is said elsewhere refers to them.
_NAMES = frozenset({"id", "role", "type", "state", "toolCallId", "toolName", "mediaType"})
# Bytes in another form: chance makes a stretch of them look like a key.
_OPAQUE = frozenset({"providerMetadata", "callProviderMetadata"})


@lru_cache(maxsize=1024)
def make_digest(name: str) -> str:
    """Return a digest of a name, the same each time.

    Numbers of chats and people are short enough to try them all, so that this is made slow.
    """
    return hashlib.scrypt(name.encode(), salt=b"priming", n=2**12, r=8, p=1, dklen=8).hex()


def mask_messages(messages: Sequence[UIMessage], mask: Mask) -> list[UIMessage]:
    """Return messages without the secrets in their parts and metadata; names stay as they are."""
    return [_mask_message(message, mask, mask) for message in messages]


def _mask_message(message: UIMessage, mask: Mask, cover: Cover) -> UIMessage:
    masked: JsonObject = {
        key: value if key in _NAMES or key == "parts" else _walk(value, mask, cover)
        for key, value in message.items()
    }
    parts = [
        {
            key: value if key in _NAMES else _walk(value, mask, mask.cover_known if key in _OPAQUE else cover)
            for key, value in part.items()
        }
        for part in message["parts"]
    ]
    return {**masked, "parts": parts}  # pyright: ignore[reportReturnType]  (the keys are those of the message)


def _walk(value: Any, mask: Mask, cover: Cover) -> Any:
    if isinstance(value, str):
        return mask.cover_known(value) if value.startswith("data:") else cover(value)
    if isinstance(value, list):
        return [_walk(each, mask, cover) for each in value]
    if isinstance(value, dict):
        return {_walk(key, mask, cover): _walk(each, mask, cover) for key, each in value.items()}
    return value


def share_messages(messages: Sequence[UIMessage], platform: str) -> list[UIMessage]:
    """Return messages without what tells of people, places, runs and times; what was said stays whole.

    `platform` is that of the thread, for messages that name none.
    """
    speakers = _Speakers()
    return [_share(message, speakers, platform) for message in messages]


class _Speakers:
    """The people of a talk, numbered in the order they first spoke."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def name(self, data: JsonObject, platform: str) -> JsonObject:
        """Return data with the person in it named by number."""
        person = data.get("userId")
        if not isinstance(person, str) or not person:
            return {key: value for key, value in data.items() if key != "userId"}
        return {**data, "userId": self._known.setdefault((platform, person), f"s{len(self._known) + 1}")}


def _share(message: UIMessage, speakers: _Speakers, usual: str) -> UIMessage:
    stated = metadata_of(message)
    named = stated.get("platform")
    platform = named if isinstance(named, str) and named else usual
    metadata = speakers.name({key: value for key, value in stated.items() if key in SHARED}, platform)
    shared: UIMessage = {
        "id": _share_id(message["id"], platform),
        "role": message["role"],
        "parts": [_share_part(part, speakers, platform) for part in message["parts"]],
    }
    return {**shared, "metadata": metadata} if metadata else shared


def _share_id(name: str, platform: str) -> str:
    """Return an id as it is, unless a chat platform made it: those name the chat, and so a person."""
    is_theirs = not surface_of(platform).is_owner and f"{platform}-" in name
    return f"m-{make_digest(name)}" if is_theirs else name


def _share_part(part: JsonObject, speakers: _Speakers, platform: str) -> JsonObject:
    name, data, approval = part.get("id"), part.get("data"), part.get("approval")
    shared = {**part, "id": _share_id(name, platform)} if isinstance(name, str) else dict(part)
    keys = _DATA_KEYS.get(str(part.get("type")))
    if keys is not None and isinstance(data, dict):
        kept = {key: value for key, value in data.items() if key in keys}
        shared["data"] = speakers.name(kept, platform)
    if isinstance(approval, dict):
        shared["approval"] = {key: value for key, value in approval.items() if key in _APPROVAL_KEYS}
    return shared


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
    """Return the messages of one course; a message without a number belongs to the course that is open.

    What it answers may have been said before a summary opened it.
    """
    if not 1 <= course <= last:
        raise NotFoundError(f"there is no course {course}; this thread has {last}")
    found = [message for number, message in _with_course(messages) if number == course]
    opened = read_course(found[0]) if found else None
    if opened is None or not opened.kept:
        return found
    return [found[0], *(message for message in messages if message["id"] in opened.kept), *found[1:]]


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
