"""Open courses and pin facts from the terminal."""

from __future__ import annotations

from shipmate.cli.place import PLATFORM
from shipmate.cli.ship import local_user
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.slash import Slash
from shipmate.errors import UserError
from shipmate.thread.service import ThreadService
from shipmate.values.event import CourseEvent, PinEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import ThreadId


def read_note(thread_id: ThreadId, slash: Slash) -> CourseEvent | PinEvent:
    """Return the event that a command of a chat means."""
    match slash.name:
        case "pin":
            return make_pin(thread_id, slash.rest)
        case "unpin" if slash.rest.isdecimal():
            return make_pin(thread_id, number=int(slash.rest))
        case "unpin":
            raise UserError("write /unpin NUMBER; /pins shows the numbers")
        case _:
            return make_course(thread_id)


async def pin_lines(threads: ThreadService, thread_id: ThreadId) -> list[str]:
    """List the pins of a thread, which need not exist yet."""
    is_there = await threads.exists(thread_id)
    found = (await threads.read(thread_id)).pins.list() if is_there else []
    lines = [clean(f"{pin.number}. {pin.text}") for pin in found]
    return lines or ["nothing is pinned; /pin TEXT pins a fact"]


def make_course(thread_id: ThreadId) -> CourseEvent:
    """Make the event that opens a course from here."""
    return CourseEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("course"),
        timestamp=timestamp(),
    )


def make_pin(thread_id: ThreadId, text: str = "", number: int | None = None) -> PinEvent:
    """Make the event that pins a text from here, or takes a pin off."""
    return PinEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("pin"),
        timestamp=timestamp(),
        text=text,
        number=number,
    )
