"""Read and write a task: `.ship/tasks/<id>.md`, whose front matter says when and where, and whose body what.

The keys of ShipMyAgent are read as well: `name`, `cron`, `schedule`, `status`, and `source` with `chatId`.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec

from shipmate.errors import ThreadIdError
from shipmate.schedule.schedule_wording import refuse, say
from shipmate.schedule.when import When, read_when
from shipmate.values.event import HEARTBEAT, SCHEDULE
from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.frontmatter import read_frontmatter

TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
SIZE_LIMIT = 65_536
CatchUp: TypeAlias = Literal["latest", "skip", "all"]
# Ours, then those of ShipMyAgent; `description` and the rest of its own say nothing that is needed here.
OWN = ("title", "when", "zone", "member", "thread", "deliver", "enabled", "catch-up", "fresh")
FOREIGN = ("id", "name", "cron", "schedule", "timezone", "notify", "source", "chatId", "status", "kind")
UNUSED = ("description", "sessionId", "review", "createdAt", "updatedAt", "created", "updated", "tags")
ON, OFF = ("enabled", "active"), ("paused", "disabled")
LINE = re.compile(r"^(enabled|status)[ \t]*:.*$", re.MULTILINE)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task as its file says it."""

    id: str
    title: str
    # As it stands in the file, and as it is read.
    rule: str
    when: When
    zone: str = ""
    member: str | None = None
    thread_id: str
    # Where else the result is sent.
    deliver: tuple[str, ...] = ()
    is_enabled: bool = True
    catch_up: CatchUp = "latest"
    # Whether each occurrence opens a course, so that the member sees nothing of those before.
    is_fresh: bool = False
    prompt: str

    @property
    def source(self) -> str:
        """Return how rows name what said them."""
        return f"{HEARTBEAT if self.when.kind == 'heartbeat' else 'task:'}{self.id}"

    @property
    def digest(self) -> str:
        """Return what differs when the task is due at other times."""
        return f"{self.rule}|{self.zone}|{self.is_enabled}"


def check_id(task_id: str) -> str:
    """Return an id that is one; raise for what could name another file."""
    if not TASK_ID.fullmatch(task_id):
        raise refuse("id-bad", id=task_id[:80])
    return task_id


def read_task(task_id: str, text: str, zone: str = "") -> Task:
    """Read a task; raise with what to mend. `zone` holds for a task that names none."""
    front = read_frontmatter(text)
    if front.problem:
        raise refuse("front-matter", why=front.problem)
    if not front.raw:
        raise refuse("no-front-matter")
    data = front.data
    for key in data:
        if key not in (*OWN, *FOREIGN, *UNUSED):
            raise refuse("key-unknown", key=str(key)[:60], known=", ".join(OWN))
    if (kind := _text(data, "kind")) not in ("", "agent"):
        raise refuse("script-kind", kind=kind)
    if not (prompt := front.body.strip()):
        raise refuse("no-prompt")
    rule = _text(data, "when") or _text(data, "cron") or _text(data, "schedule")
    own_zone = _text(data, "zone") or _text(data, "timezone") or zone
    when = read_when(rule, own_zone)
    named = _thread(data, "thread", _text(data, "thread"))
    return Task(
        id=check_id(task_id),
        title=_text(data, "title") or _text(data, "name") or task_id,
        rule=rule,
        when=when,
        zone=own_zone,
        member=_text(data, "member") or None,
        thread_id=named or thread_of(task_id),
        deliver=_deliver(data),
        is_enabled=_is_enabled(data),
        catch_up=_catch_up(data, when),
        is_fresh=_flag(data, "fresh", default=not named),
        prompt=prompt,
    )


def thread_of(task_id: str) -> str:
    """Return the thread of a task that names none."""
    return f"{SCHEDULE}:task:{task_id}"


def write_task(
    *,
    title: str,
    when: str,
    prompt: str,
    zone: str = "",
    member: str = "",
    thread: str = "",
    deliver: tuple[str, ...] = (),
    catch_up: str = "",
) -> str:
    """Return the text of a task's file."""
    given: JsonObject = {"title": title, "when": when, "zone": zone, "member": member, "thread": thread}
    given |= {"deliver": list(deliver), "catch-up": catch_up}
    lines = [f"{key}: {_quote(value)}" for key, value in given.items() if value]
    return "\n".join(["---", *lines, "---", "", prompt.strip(), ""])


def switch(text: str, *, on: bool) -> str:
    """Return a task's text with another `enabled`, and everything else as it stands."""
    front = read_frontmatter(text)
    if front.problem or not front.raw:
        # Whoever reads the task is told what is wrong with it.
        return text
    kept = LINE.sub("", front.raw)
    raw = re.sub(r"\n{2,}", "\n", kept).strip("\r\n")
    line = "" if on else "\nenabled: false"
    return text.replace(f"{front.raw}", f"{raw}{line}\n", 1)


def make_slug(title: str) -> str:
    """Make an id from a title; one without a letter or digit of ASCII gets a plain word."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-")
    return slug if slug and TASK_ID.fullmatch(slug) else "task"


def _quote(value: str | list[str]) -> str:
    return msgspec.json.encode(value).decode()


def _text(data: JsonObject, key: str) -> str:
    value: Any = data.get(key)
    if value is None:
        return ""
    if isinstance(value, bool | list | dict):
        raise refuse("key-type", key=key, wanted=say("a-text"))
    return str(value).strip()


def _flag(data: JsonObject, key: str, *, default: bool) -> bool:
    value = data.get(key, default)
    if not isinstance(value, bool):
        raise refuse("key-type", key=key, wanted=say("a-bool"))
    return value


def _catch_up(data: JsonObject, when: When) -> CatchUp:
    match _text(data, "catch-up"):
        case "":
            return "skip" if when.kind == "heartbeat" else "latest"
        case "latest" | "skip" | "all" as policy:
            return policy
        case other:
            raise refuse("key-choice", key="catch-up", value=other, choices="latest, skip, all")


def _is_enabled(data: JsonObject) -> bool:
    status = _text(data, "status").lower()
    if status not in ("", *ON, *OFF):
        raise refuse("key-choice", key="status", value=status, choices=", ".join((*ON, *OFF)))
    return _flag(data, "enabled", default=True) and status not in OFF


def _deliver(data: JsonObject) -> tuple[str, ...]:
    given: Any = data.get("deliver") or []
    found = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str) for each in found):
        raise refuse("key-type", key="deliver", wanted=say("a-list"))
    # So ShipMyAgent says where a result goes; `notify: false` keeps it from going there.
    if (
        (source := _text(data, "source"))
        and (chat := _text(data, "chatId"))
        and data.get("notify") is not False
    ):
        found = [*found, f"{source}:{'dm' if source == 'telegram' and chat[0] != '-' else 'group'}:{chat}"]
    return tuple(dict.fromkeys(_thread(data, "deliver", each.strip()) for each in found))


def _thread(data: JsonObject, key: str, text: str) -> str:
    if not text:
        return ""
    try:
        return str(ThreadId.parse(text))
    except ThreadIdError as error:
        raise refuse("thread-bad", key=key, why=str(error)) from error
