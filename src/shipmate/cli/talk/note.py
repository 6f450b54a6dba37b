"""Open courses and pin facts from the terminal."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from shipmate.cli.place import PLATFORM
from shipmate.cli.ship import local_user
from shipmate.cli.talk.slash import Slash
from shipmate.cli.terminal.card import clean
from shipmate.delivery.reception.chat_command import read_model_words, read_plan_word
from shipmate.errors import UserError
from shipmate.orchestrator.lane.note import make_course_event, make_pin_event
from shipmate.thread.service import ThreadService
from shipmate.values.event import CourseEvent, ModelSwitchEvent, PinEvent, PlanEvent, RetryEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import ThreadId

if TYPE_CHECKING:
    from shipmate.app import Shipmate


def read_note(
    thread_id: ThreadId, slash: Slash, member: str | None = None
) -> CourseEvent | PinEvent | ModelSwitchEvent | PlanEvent:
    """Return the event that a command of a chat means; a thread that it begins is the member's."""
    match slash.name:
        case "model":
            return model_here(thread_id, slash.rest, member)
        case "plan":
            return plan_here(thread_id, slash.rest, member)
        case "pin":
            return pin_here(thread_id, slash.rest, member=member)
        case "unpin" if slash.rest.isdecimal():
            return pin_here(thread_id, number=int(slash.rest))
        case "unpin":
            raise UserError("write /unpin NUMBER; /pins shows the numbers")
        case "compact":
            return compact_here(thread_id, slash.rest)
        case _:
            return course_here(thread_id)


def model_here(thread_id: ThreadId, words: str, member: str | None = None) -> ModelSwitchEvent:
    """Choose a model, or ask which one answers, as the person at this terminal."""
    name, scope = read_model_words(words)
    return ModelSwitchEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("model"),
        timestamp=timestamp(),
        member=member,
        name=name,
        scope=scope,
    )


def plan_here(thread_id: ThreadId, words: str, member: str | None = None) -> PlanEvent:
    """Ask for a plan first, or agree to it, as the person at this terminal."""
    return PlanEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("plan"),
        timestamp=timestamp(),
        member=member,
        action=read_plan_word(words),
    )


def retry_here(thread_id: ThreadId) -> RetryEvent:
    """Ask for another answer in place of the last one, as the person at this terminal."""
    return RetryEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("retry"),
        timestamp=timestamp(),
    )


async def hand_over(
    ship: Shipmate,
    event: CourseEvent | PinEvent | ModelSwitchEvent | PlanEvent,
    say: Callable[[str, str], object],
) -> Coroutine[None, None, None]:
    """Hand an event over; return what waits for trouble to say: the feed tells all else."""
    if isinstance(event, ModelSwitchEvent) and event.name not in ("", "default"):
        say(f"asking {clean(event.name)} a short question…", "dim")
    if isinstance(event, CourseEvent) and event.summarise:
        say("summing up…", "dim")
    receipt = await ship.receive(event)
    if ship.keeper.running(event.thread_id) is not None:
        say("this is done when the run ends", "dim")

    async def wait() -> None:
        if error := (await receipt.outcome()).error:
            say(clean(error), "red")

    return wait()


async def pin_lines(threads: ThreadService, thread_id: ThreadId) -> list[str]:
    """List the pins of a thread, which need not exist yet."""
    is_there = await threads.exists(thread_id)
    found = (await threads.read(thread_id)).pins.list() if is_there else []
    lines = [clean(f"{pin.number}. {pin.text}") for pin in found]
    return lines or ["nothing is pinned; /pin TEXT pins a fact"]


def course_here(thread_id: ThreadId) -> CourseEvent:
    """Open a course as the person at this terminal."""
    return make_course_event(str(thread_id), platform=PLATFORM, user_id=local_user())


def compact_here(thread_id: ThreadId, focus: str = "") -> CourseEvent:
    """Sum a thread up into a new course as the person at this terminal."""
    who = local_user()
    return make_course_event(str(thread_id), platform=PLATFORM, user_id=who, summarise=True, focus=focus)


def pin_here(
    thread_id: ThreadId, text: str = "", number: int | None = None, *, member: str | None = None
) -> PinEvent:
    """Pin a text, or take a pin off, as the person at this terminal."""
    who = local_user()
    return make_pin_event(str(thread_id), text, number, platform=PLATFORM, user_id=who, member=member)
