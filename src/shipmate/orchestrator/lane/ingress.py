"""Turn what a person sent into rows of the thread."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shipmate.approvals.value import DecidedCall
from shipmate.errors import ShipmateError
from shipmate.orchestrator.lane.note import NoteEvent, outcome_of_note
from shipmate.orchestrator.turn import describe_outcome, message_id_of, run_id_of
from shipmate.store.port import InboxRow
from shipmate.thread.course import read_course
from shipmate.thread.pin import is_pin_row
from shipmate.thread.service import Thread
from shipmate.values.event import (
    TYPED,
    TYPED_MODEL,
    ApprovalReplyEvent,
    Attachment,
    CommandEvent,
    HandoffEvent,
    IngressEvent,
    ModelSwitchEvent,
    Outcome,
    PlanEvent,
    RetryEvent,
    RunOptions,
    TextEvent,
    ToolResultEvent,
    VoiceEvent,
    surface_of,
)
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    client_calls,
    data_part,
    metadata_of,
    new_id,
    tool_parts,
)

# What makes a turn of its own, with nothing beside it.
ALONE = RetryEvent | NoteEvent | ModelSwitchEvent | PlanEvent | ToolResultEvent | CommandEvent | HandoffEvent
# What becomes a message of the thread.
SAID = TextEvent | VoiceEvent | ApprovalReplyEvent | HandoffEvent
# Where nobody has to be told who speaks.
PRIVATE = "dm"


class GaveUpError(ShipmateError):
    """This run broke off five times at one point, so it was given up. Send the message anew."""


def user_row(
    event: TextEvent | VoiceEvent | ApprovalReplyEvent | HandoffEvent, thread: Thread, run_id: str
) -> UIMessage:
    """Make the user message of an event. Its id follows from the event, so that it is stored once.

    It names the run that answers it: after a crash that run goes on, and a repeat finds its answer.
    """
    parts = [_file_part(attachment) for attachment in _attached(event)]
    # Where not even the audio could be had, that is what is left of the message.
    unheard = event.unheard if isinstance(event, VoiceEvent) and not parts else ""
    text = "" if isinstance(event, HandoffEvent) else event.text or unheard
    if isinstance(event, HandoffEvent):
        # People see who passed the word to whom; no model reads it.
        passed = {"from": event.giver, "to": event.member, "marker": event.marker}
        parts.append(data_part("handoff", passed, "handoff"))
    if text or not parts:
        parts.append({"type": "text", "text": text})
    metadata: JsonObject = {
        "timestamp": event.timestamp,
        "platform": event.platform,
        "userId": event.user_id,
        "messageId": event.message_id,
        "threadId": event.thread_id,
        "course": thread.course,
        "runId": run_id,
    }
    if event.correlation_id:
        metadata["correlationId"] = event.correlation_id
    if _is_command(event):
        metadata[TYPED] = True
    if isinstance(event, VoiceEvent) or (isinstance(event, TextEvent) and event.spoken):
        metadata["spoken"] = True
    if isinstance(event, HandoffEvent):
        metadata["sourceTag"] = f"member:{event.giver}"
    elif isinstance(event, TextEvent) and event.errand is not None:
        metadata["sourceTag"] = f"member:{event.errand.chain[-1]}"
        metadata["errand"] = msgspec.to_builtins(event.errand)
    elif isinstance(event, TextEvent) and event.source:
        metadata["sourceTag"] = event.source
        if event.title:
            metadata["title"] = event.title
    if event.speaker and (thread.id.scope_type != PRIVATE or "errand" in metadata):
        metadata["speaker"] = event.speaker
    return {"id": user_message_id(event), "role": "user", "metadata": metadata, "parts": parts}


def _attached(event: TextEvent | VoiceEvent | ApprovalReplyEvent | HandoffEvent) -> tuple[Attachment, ...]:
    match event:
        case TextEvent():
            return event.attachments
        case VoiceEvent():
            return (event.audio,) if event.audio.url else ()
        case ApprovalReplyEvent() | HandoffEvent():
            return ()


def _file_part(attachment: Attachment) -> JsonObject:
    part: JsonObject = {"type": "file", "mediaType": attachment.media_type, "url": attachment.url}
    if attachment.filename:
        part["filename"] = attachment.filename
    return part


def is_kept(thread: Thread, event: IngressEvent) -> bool:
    """Return whether an event is in the thread already, as a message or as an answer to approvals."""
    return thread.find(user_message_id(event)) is not None or _kept_aside(thread, event) is not None


def _kept_aside(thread: Thread, event: IngressEvent) -> JsonObject | None:
    """Return the data part that keeps an event which is no message: an answer to approvals, or a retry."""
    if not isinstance(event, RetryEvent) and reply_id(event) not in thread.replies:
        return None
    for message in reversed(thread.messages):
        for part in message["parts"]:
            if _keeps(part, event):
                return part
    return None


def _keeps(part: JsonObject, event: IngressEvent) -> bool:
    if isinstance(event, RetryEvent):
        return part.get("type") == "data-replaced" and part["data"].get("key") == event.message_id
    return part.get("type") == "data-reply" and part.get("id") == reply_id(event)


def run_of(thread: Thread, event: IngressEvent) -> str | None:
    """Return the run that answers an event, once the thread says so."""
    message = thread.find(user_message_id(event))
    known = metadata_of(message).get("runId") if message is not None else None
    if message is None and (part := _kept_aside(thread, event)) is not None:
        by = part["data"].get("by")
        known = run_id_of(by) if isinstance(by, str) else part["data"].get("runId")
    return known if isinstance(known, str) else None


def run_to_resume(thread: Thread, message_id: str | None) -> str:
    """Return the run that goes on with a message: its own while it is the last word, else a new one."""
    last = thread.messages[-1] if thread.messages else None
    known = metadata_of(last) if last is not None and last["id"] == message_id else {}
    suspended = known.get("runId") if "outcome" not in known else None
    return suspended if isinstance(suspended, str) else new_id("run")


def outcome_of(thread: Thread, event: IngressEvent) -> Outcome | None:
    """Return how the run that answers an event ended, as far as the thread says."""
    if isinstance(event, NoteEvent):
        return outcome_of_note(thread.find(user_message_id(event)))
    run_id = run_of(thread, event)
    if run_id is None:
        part = _kept_aside(thread, event)
        # An answer that let nothing go on is over with the words said to it.
        return None if part is None else Outcome(run_id="", status="replied", text=_said_to(thread, event))
    message = thread.find(message_id_of(run_id))
    if message is None:
        return None
    ending = metadata_of(message).get("outcome")
    if ending is None and (client_calls(message) or _asks_person(message)):
        ending = "suspended"
    return None if ending is None else describe_outcome(message, run_id, ending)


def _asks_person(message: UIMessage) -> bool:
    return any(part["state"] == "approval-requested" for part in tool_parts(message))


def _said_to(thread: Thread, event: IngressEvent) -> str:
    notice = f"notice-{user_message_id(event)}"
    for message in reversed(thread.messages):
        for part in message["parts"]:
            if part.get("type") == "data-notice" and part.get("id") == notice:
                return str(part["data"].get("text", ""))
    return ""


def reply_id(event: IngressEvent) -> str:
    """Return the id of the part that keeps an answer to approvals."""
    return f"reply-{user_message_id(event)}"


def is_outdated(thread: Thread, event: IngressEvent) -> bool:
    """Return whether a retry is about an answer that is not, or no longer, the last."""
    if not isinstance(event, RetryEvent):
        return False
    last = last_said(thread)
    return last is None or read_course(last) is not None or event.replaces not in (None, last["id"])


def last_said(thread: Thread) -> UIMessage | None:
    """Return the last message; one that only changes the pins is none."""
    return next((message for message in reversed(thread.messages) if not is_pin_row(message)), None)


def replaced_row(thread: Thread, by: str, key: str) -> list[UIMessage]:
    """Mark the last answer as replaced by another; it stays in the thread and leaves the model's view.

    The key of the retry is kept with it, so that the same one replaces nothing twice.
    """
    last = last_said(thread)
    if last is None or last["role"] != "assistant" or last["id"] == by:
        return []
    part = data_part("replaced", {"by": by, "key": key}, "replaced")
    return [{"id": last["id"], "role": "assistant", "metadata": {"replacedBy": by}, "parts": [part]}]


def user_message_id(event: IngressEvent) -> str:
    """Return the id of an event's message; the web client's own is kept, so that both sides agree on it."""
    is_kept = surface_of(event.platform).keeps_ids
    return event.message_id if is_kept else f"{event.platform}-{event.message_id}"


def speaker_of(thread: Thread) -> str | None:
    """Return who said the last thing."""
    spoken = (message for message in reversed(thread.messages) if message["role"] == "user")
    found = metadata_of(last).get("userId") if (last := next(spoken, None)) is not None else None
    return found if isinstance(found, str) else None


def initiators_of(thread: Thread, before: str | None = None) -> tuple[str, ...]:
    """Return the people whose words a run answers, in the order they spoke.

    These are the messages that stand together last (before a given message, where there is one), and those
    that a run was turned away from. Whoever only answers an approval asked for nothing.
    """
    messages = thread.messages
    if before is not None:
        place = next((place for place, each in enumerate(messages) if each["id"] == before), len(messages))
        messages = messages[:place]
    found: list[str | None] = []
    for message in reversed(messages):
        if message["role"] == "user":
            found.append(_person(thread, message))
        elif is_pin_row(message):
            continue
        elif found and metadata_of(message).get("outcome") != "steered":
            break
    return tuple(dict.fromkeys(person for person in reversed(found) if person))


def _person(thread: Thread, message: UIMessage) -> str | None:
    """Return the person who said something; words that no person said here name nobody."""
    metadata = metadata_of(message)
    user_id, platform = metadata.get("userId"), metadata.get("platform")
    if not isinstance(user_id, str) or not user_id or metadata.get("sourceTag"):
        return None
    return user_id if platform in (None, thread.id.platform) else f"{platform}:{user_id}"


def answered_message(thread: Thread, event: IngressEvent) -> str | None:
    """Return the message that keeps an event as an answer to its approvals."""
    kept = reply_id(event)
    if kept not in thread.replies:
        return None
    for message in reversed(thread.messages):
        if any(part.get("id") == kept and part["type"] == "data-reply" for part in message["parts"]):
            return message["id"]
    return None


def decision_rows(thread: Thread, decisions: list[DecidedCall]) -> list[UIMessage]:
    """Make the rows that put decisions into the tool parts they are about."""
    rows: list[UIMessage] = []
    for decision in decisions:
        message = thread.find(decision.message_id)
        part = None if message is None else _waiting_part(message, decision)
        if message is None or part is None:
            continue
        approval: JsonObject = {"id": decision.approval_id, "approved": decision.approved}
        if decision.reason:
            approval["reason"] = decision.reason
        answered = {**part, "state": "approval-responded", "approval": approval}
        rows.append({"id": message["id"], "role": message["role"], "parts": [answered]})
    return rows


def _waiting_part(message: UIMessage, decision: DecidedCall) -> JsonObject | None:
    for part in tool_parts(message):
        if part["state"] == "approval-requested" and part["approval"]["id"] == decision.approval_id:
            return part
    return None


def reply_row(
    message_id: str, event: TextEvent | ApprovalReplyEvent, say: str | None, run_id: str | None
) -> UIMessage:
    """Keep an answer to approvals, and any words back, beside the calls it is about.

    It names the run that it lets go on, if it does.
    """
    data: JsonObject = {"text": event.text, "userId": event.user_id}
    if run_id is not None:
        data["runId"] = run_id
    parts = [data_part("reply", data, reply_id(event))]
    if say:
        parts.append(data_part("notice", {"text": say}, f"notice-{user_message_id(event)}"))
    return {"id": message_id, "role": "assistant", "parts": parts}


def result_row(thread: Thread, event: ToolResultEvent, run_id: str) -> UIMessage | None:
    """Put what a program's tools brought into the calls it is about; None when they do not wait for it.

    The number of steps so far is kept with it, so that what the rest of the run used can be told.
    """
    last = last_said(thread)
    calls = client_calls(last) if last is not None else []
    if last is None or {part["toolCallId"] for part in calls} != event.results.keys():
        return None
    settled = [
        {**part, "state": "output-available", "output": event.results[part["toolCallId"]]} for part in calls
    ]
    steps = sum(part["type"] == "step-start" for part in last["parts"])
    data = {"text": "", "userId": event.user_id, "runId": run_id, "steps": steps, "key": event.correlation_id}
    kept = data_part("reply", data, reply_id(event))
    return {"id": last["id"], "role": "assistant", "parts": [*settled, kept]}


def surroundings_of(rows: Sequence[InboxRow]) -> str | None:
    """Return what a model is told about where the words of a turn were said, each thing once."""
    found = [row.event.extra_context for row in rows if isinstance(row.event, TextEvent | VoiceEvent)]
    return "\n\n".join(dict.fromkeys(filter(None, found))) or None


def options_of(event: IngressEvent) -> RunOptions:
    """Return what a program asks of the run that answers an event."""
    return event.options if isinstance(event, TextEvent | ToolResultEvent) else RunOptions()


def is_typed(thread: Thread, run_id: str, answered: str | None) -> bool:
    """Return whether a run was begun by a command that a person typed, or answers what such a one asked."""
    asking = None if answered is None else thread.find(answered)
    runs = {run_id} if asking is None else {run_id, metadata_of(asking).get("runId")}
    # A run ends with its course, so what began it stands in the course of what it asked.
    course = thread.course if asking is None else metadata_of(asking).get("course", 0)
    for message in reversed(thread.messages):
        said = metadata_of(message)
        if message["role"] == "user" and said.get("runId") in runs and said.get(TYPED) is True:
            return True
        if said.get("course", course) < course:
            return False
    return False


def member_of(message: UIMessage | None) -> str | None:
    """Return whose message it is, when it is not of the member the thread belongs to."""
    found = metadata_of(message).get("member") if message is not None else None
    return found if isinstance(found, str) else None


def split_overtaken(rows: list[InboxRow]) -> tuple[list[InboxRow], list[InboxRow]]:
    """Return the rows that pass the word to members while a person has spoken since, and the others."""
    if not any(isinstance(row.event, TextEvent) and row.event.is_persons for row in rows):
        return [], rows
    overtaken = [row for row in rows if isinstance(row.event, HandoffEvent)]
    return overtaken, [row for row in rows if row not in overtaken]


def one_turn(rows: list[InboxRow]) -> list[InboxRow]:
    """Return the rows that make one turn.

    A retry has its own: behind new words its answer is not last. So has what opens a course: words before it
    belong to the course it closes. So has what asks for tools of its own, which others do not know, and a
    command that a person typed: no words beside it may be taken for one.
    """
    alone = (place for place, row in enumerate(rows) if _stands_alone(row.event))
    return rows[: next(alone, len(rows))] or rows[:1]


def _stands_alone(event: IngressEvent) -> bool:
    # What no person said is beside nobody's words: they would count as having asked for it.
    is_own = isinstance(event, TextEvent) and event.source is not None
    return isinstance(event, ALONE) or options_of(event) != RunOptions() or _is_command(event) or is_own


def _is_command(event: IngressEvent) -> bool:
    return isinstance(event, TextEvent) and event.model == TYPED_MODEL
