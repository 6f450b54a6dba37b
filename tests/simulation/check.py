"""What must hold of every seed once everything has come to rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shipmate.approvals.value import Approval
from shipmate.orchestrator.lane.ingress import GaveUpError
from shipmate.orchestrator.lane.lane import MAX_ATTEMPTS
from shipmate.orchestrator.lane.note import NoteEvent
from shipmate.orchestrator.turn import message_id_of, run_id_of
from shipmate.thread.course import read_course
from shipmate.thread.pin import pins_of
from shipmate.thread.row import merge_rows, split_lines
from shipmate.values.event import TextEvent
from shipmate.values.message import JsonObject, UIMessage, is_settled, metadata_of, text_of, tool_parts
from tests.simulation.check_chat import chat_troubles
from tests.simulation.outside import Act, Said
from tests.simulation.watcher import Telling

if TYPE_CHECKING:
    from tests.simulation.world import World

ENDINGS = ("replied", "failed", "stopped", "steered")


class Check:
    """The files of a world that is at rest, compared with what people were told."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._outside = world.outside
        self.threads = {thread_id: self._read(thread_id) for thread_id in world.thread_ids()}
        self._calls = {
            (thread_id, part["toolCallId"], part.get("input", {}).get("mark")): part
            for thread_id, messages in self.threads.items()
            for message in messages
            for part in tool_parts(message)
            if isinstance(part.get("input"), dict)
        }

    def troubles(self) -> Iterator[str]:
        """Go over everything that is not as it must be."""
        yield from self._outside.troubles
        for said in self._outside.said.values():
            yield from self._said(said)
        for thread_id, messages in self.threads.items():
            yield from self._order(thread_id, messages)
            yield from self._messages(thread_id, messages)
            is_whole = not (self._world.has_failed and self._world.starts > 1)
            yield from _courses(thread_id, messages, is_whole=is_whole)
        yield from self._acts()
        for run_id, thread_id in self._outside.stopped.items():
            found = [each for each in self.threads[thread_id] if each["id"] == message_id_of(run_id)]
            if not found or metadata_of(found[0]).get("outcome") != "stopped":
                yield f"{run_id} was stopped, and its message says otherwise"
        if self._world.platform is not None:
            yield from chat_troubles(self._world, self._world.platform)
        for watcher in self._world.watchers:
            yield from watcher.troubles
            for telling in watcher.tellings.values():
                yield from self._telling(telling)

    def _read(self, thread_id: str) -> list[UIMessage]:
        data = self._world.read_thread(thread_id)
        rows, problems, _ = split_lines(data, 1)
        if not self._world.has_failed:
            # A line the disk refused may come back in pieces after a power cut; nobody was told of it.
            self._outside.troubles += [f"{thread_id}: line {each.line}: {each.message}" for each in problems]
        if data and not data.endswith(b"\n"):
            self._outside.troubles.append(f"{thread_id}: the last line is torn")
        return merge_rows(rows)

    def _places(self, said: Said) -> list[tuple[UIMessage, JsonObject | None]]:
        """List where an event stands: as a message, or as a part beside calls."""
        event, found = said.event, list[tuple[UIMessage, JsonObject | None]]()
        own = event.message_id if event.platform == "web" else f"{event.platform}-{event.message_id}"
        names = {f"reply-{own}", f"retry-{event.message_id}"}
        for message in self.threads.get(event.thread_id, []):
            if message["role"] != "assistant" and metadata_of(message).get("messageId") == event.message_id:
                found.append((message, None))
            kept = [part for part in message["parts"] if part["type"] in ("data-reply", "data-replaced")]
            found += [(message, part) for part in kept if part.get("id") in names]
        return found

    def _said(self, said: Said) -> Iterator[str]:
        name, places = f"{said.event.thread_id} {said.event.message_id}", self._places(said)
        if len(places) > 1:
            yield f"{name} stands in {len(places)} places"
        if said.is_withdrawn and places:
            yield f"{name} was taken back and stands in the thread"
        if not said.is_acknowledged:
            return
        if not said.outcomes and not said.is_withdrawn:
            yield f"{name} was acknowledged, and nobody was ever told what became of it"
        if not places:
            if isinstance(said.event, TextEvent) and not said.withdrawals:
                yield f"{name} was acknowledged and stands nowhere"
            if isinstance(said.event, NoteEvent) and any(each.status == "replied" for each in said.outcomes):
                yield f"{name} was told to be done and stands nowhere"
            return
        if isinstance(said.event, NoteEvent):
            yield from self._noted(name, said, places[0][0])
        else:
            yield from self._answered(name, said, *places[0])

    def _noted(self, name: str, said: Said, message: UIMessage) -> Iterator[str]:
        """Compare the row of a course or a pin with what was told; it may have been refused before that."""
        stored = message["parts"][0]["data"]["said"]
        for told in said.outcomes:
            if told.status == "replied" and (told.text, told.message_id) != (stored, message["id"]):
                yield f"{name} was told {told}, and stored is {stored!r}"

    def _answered(self, name: str, said: Said, message: UIMessage, part: JsonObject | None) -> Iterator[str]:
        data = metadata_of(message) if part is None else part["data"]
        run_id = run_id_of(data["by"]) if "by" in data else data.get("runId")
        if part is not None and run_id is None:
            # An answer that let nothing go on.
            return
        if not isinstance(run_id, str):
            yield f"{name} names no run"
            return
        messages = self.threads[said.event.thread_id]
        answer = next((each for each in messages if each["id"] == message_id_of(run_id)), None)
        if answer is None:
            yield f"{name} has no answer: there is no {message_id_of(run_id)}"
            return
        outcome = metadata_of(answer).get("outcome")
        for told in said.outcomes:
            if (
                told.status == "replied"
                and told.message_id == answer["id"]
                and told.text not in text_of(answer)
            ):
                yield f"{name} was told {told.text!r}, and stored is {text_of(answer)!r}"
        if outcome not in ENDINGS and not _was_left(messages, answer):
            yield f"{name} has no outcome: {outcome}"
        if part is None and messages.index(answer) < messages.index(message):
            yield f"{name} stands behind its answer"
        is_text = isinstance(said.event, TextEvent) and part is None
        if outcome == "replied" and is_text and said.event.message_id not in text_of(answer):
            words = text_of(message).split(" ")[0]
            if words not in text_of(answer).split():
                yield f"{name} is answered without having been read: {text_of(answer)!r}"

    def _order(self, thread_id: str, messages: list[UIMessage]) -> Iterator[str]:
        places = [
            (said.seq, metadata_of(message).get("messageId"))
            for message in messages
            if message["role"] != "assistant"
            and (said := self._outside.said.get((thread_id, str(metadata_of(message).get("messageId")))))
            and said.seq
        ]
        if places != sorted(places, key=lambda each: each[0] or 0):
            yield f"{thread_id} is out of order: {places}"

    def _messages(self, thread_id: str, messages: list[UIMessage]) -> Iterator[str]:
        for message in messages:
            is_over = metadata_of(message).get("outcome") in ENDINGS or _was_left(messages, message)
            if message["role"] == "assistant" and not is_over:
                yield f"{thread_id} {message['id']} has no outcome"
            errors = [part["data"]["message"] for part in message["parts"] if part["type"] == "data-error"]
            # A kill between the note that a model is asked and the asking counts; where one thread's model
            # kills its process again and again, so does each death while another was about to ask.
            elsewhere = self._outside.deaths.total() - self._outside.deaths[thread_id]
            known = self._outside.broken[thread_id] + elsewhere
            if str(GaveUpError()) in errors and known < MAX_ATTEMPTS - 2:
                yield f"{thread_id} {message['id']} was given up, and few models broke off"
            for part in tool_parts(message):
                if not is_settled(part):
                    yield f"{thread_id} {message['id']} {part['toolCallId']} is {part['state']} at the end"

    def _acts(self) -> Iterator[str]:
        acting = Counter(act.key for act in self._outside.acts if act.tool != "look")
        for key, count in acting.items():
            if count > 1:
                yield f"{key} acted {count} times"
        for act in self._outside.unsure:
            if not self._was_allowed(act):
                yield f"{act} had nobody's leave"
        for act in self._outside.acts:
            part = self._calls.get(act.key)
            if part is None:
                yield f"{act} stands in no thread"
            elif part["state"] == "output-denied" and act.tool != "look":
                yield f"{act} was denied"
        for key, part in self._calls.items():
            is_done = part["state"] == "output-available"
            if is_done and part["type"] in ("tool-act", "tool-deed") and not acting[key]:
                yield f"{key} is told to have been done and was not"

    def _was_allowed(self, act: Act) -> bool:
        """Tell whether somebody said yes in a thread after a call of it was asked about."""
        asked = [each for each in self._world.approvals() if _key(each) == act.key]
        words = [each for each in self._outside.said.values() if getattr(each.event, "text", "") == "yes"]
        here = [each for each in words if each.event.thread_id == act.thread_id]
        return any(
            approval.status == "approved" and (said.received_at or "~") >= approval.requested_at
            for approval in asked
            for said in here
        )

    def _telling(self, telling: Telling) -> Iterator[str]:
        """Compare what a watcher holds of a message with what is stored."""
        stored = next(
            (each for each in self.threads[telling.thread_id] if each["id"] == telling.message_id), None
        )
        if stored is None:
            if telling.is_over:
                yield f"a watcher was told the end of {telling.message_id}, which is stored nowhere"
            return
        held, parts = _comparable(telling.message), _comparable(stored)
        if telling.is_over and held != parts[: len(held)]:
            yield f"a watcher holds of {telling.message_id}\n    {held}\n  and stored is\n    {parts}"


def _courses(thread_id: str, messages: list[UIMessage], *, is_whole: bool) -> Iterator[str]:
    """Check that courses follow one another, each opened by its row, and that pins have their own numbers."""
    current, pins = 1, Counter[int]()
    for message in messages:
        course = metadata_of(message).get("course")
        opened = read_course(message)
        if opened is not None and (opened.course, course) != (current + 1, current + 1):
            yield f"{thread_id} {message['id']} opens course {opened.course} after {current}"
        if opened is not None and opened.closes is not None and opened.closes.course != current:
            yield f"{thread_id} {message['id']} closes another course than {current}"
        current = opened.course if opened is not None else current
        # The first line of a message says it, and others build on that line once it can be read. One that the
        # disk neither synced nor took back can be read, no later sync looks at it again, and a power cut may
        # take it away from under the others. It held more than the number, so repeating that saves nothing.
        if course != current and (is_whole or course is not None):
            yield f"{thread_id} {message['id']} is of course {course} and stands in {current}"
        pins.update(part["data"]["number"] for part in message["parts"] if part["type"] == "data-pin")
        in_force = [pin.number for pin in pins_of(messages[: messages.index(message)])]
        if opened is not None and [pin.number for pin in opened.pins] != in_force:
            yield f"{thread_id} {message['id']} carries other pins than {in_force}"
    yield from (f"{thread_id}: {count} pins have number {each}" for each, count in pins.items() if count > 1)


def _key(approval: Approval) -> tuple[str, str, str]:
    return approval.thread_id, approval.call_id, approval.input["mark"]


def _was_left(messages: list[UIMessage], message: UIMessage) -> bool:
    """Tell whether a message waited for a person and the talk went on to another answer meanwhile."""
    later = messages[messages.index(message) + 1 :]
    has_asked = any("approval" in part for part in tool_parts(message))
    return has_asked and any(metadata_of(each).get("outcome") in ENDINGS for each in later)


def _comparable(message: UIMessage) -> list[str]:
    """Describe the parts of a message as far as watching and storing agree."""
    found: list[str] = []
    for part in message["parts"]:
        match part["type"]:
            case "text" | "reasoning":
                found.append(f"{part['type']} {part['text']}")
            case "step-start":
                found.append("step")
            case kind if kind.startswith("tool-"):
                found.append(f"{kind} {part['toolCallId']} {part.get('input')}")
            case _:
                pass
    return found
