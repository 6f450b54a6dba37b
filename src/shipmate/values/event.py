"""Describe what passes between a platform and the core: ingress events, egress messages, capabilities."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from shipmate.errors import UserError
from shipmate.values.message import JsonObject


class Attachment(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A file that came with a message or leaves with one."""

    url: str
    media_type: str
    filename: str | None = None
    # In bytes, as far as whoever named it says.
    size: int | None = None


class ClientTool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool of the program that asks; its calls are made by that program, not here."""

    name: str
    description: str = ""
    schema: JsonObject = {}


# A command that a person typed is run by no model, and told in the thread as made by this.
TYPED = "typed"
TYPED_MODEL = f"rehearsal:{TYPED}"


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a program asks of the run that answers it, beside its words."""

    # `temperature`, `top_p`, `max_tokens`, `stop` and `seed`, those of them that were given.
    sampling: JsonObject = {}
    tools: tuple[ClientTool, ...] = ()
    # Without, no tool is offered at all, the member's own neither.
    offers_tools: bool = True


class Errand(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one member asks of another: no person said it, so it decides nothing."""

    # Who asked whom up to here, ids of members; the last of them asks.
    chain: tuple[str, ...]
    # Where the asker was asked, and by which run.
    thread_id: str
    run_id: str
    # Who is asked.
    asked: str = ""
    # The thread of a person in which it all began: what it costs is booked there.
    payer: str
    # Strangers may have written what the asker read.
    is_tainted: bool = False
    # The asker waits for the answer; otherwise it comes as words of their own.
    is_awaited: bool = True
    # These words are the answer to such a question.
    is_answer: bool = False


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True):
    """What every platform event has."""

    platform: str
    thread_id: str
    user_id: str
    message_id: str
    timestamp: str
    member: str | None = None
    correlation_id: str | None = None
    # How the person is called where they said it; anybody may call themselves anything.
    speaker: str | None = None


class TextEvent(_Event, frozen=True, kw_only=True, tag="text"):
    """A person's words, with any files they attached."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    # Words that should reach the running turn at its next step instead of waiting for its end.
    steer: bool = False
    # Text for the model about where this was said; never stored in the thread.
    extra_context: str | None = None
    # The model that answers, as provider:model; None means the member's own.
    model: str | None = None
    # Words that were heard, not typed: a yes among them is put back as a question.
    spoken: bool = False
    # What said it when no person did, such as `task:<id>`; it answers no question.
    source: str | None = None
    # What a thread that begins with these words is called; their first line when not given.
    title: str = ""
    options: RunOptions = RunOptions()
    # Set when a member says it.
    errand: Errand | None = None

    @property
    def is_persons(self) -> bool:
        """Return whether a person said it, and not a member or the clock."""
        return self.errand is None and self.source is None


class VoiceEvent(_Event, frozen=True, kw_only=True, tag="voice"):
    """A spoken message before it is transcribed; then it is a TextEvent whose words were `spoken`."""

    audio: Attachment
    # Words that were written beside it.
    text: str = ""
    extra_context: str | None = None
    model: str | None = None
    # Why it has no words, once that was tried; without an address its audio could not be had either.
    unheard: str = ""


class ApprovalReplyEvent(_Event, frozen=True, kw_only=True, tag="approval-reply"):
    """A person's answer to one or more approvals: words, or a pressed button."""

    text: str
    approval_id: str | None = None
    # Several that a person saw together and decides at once.
    approval_ids: tuple[str, ...] = ()
    # A pressed button decides without parsing words; None means the words decide.
    approved: bool | None = None
    # How long a pressed approval holds: "once", "thread", "always", or a number of minutes such as "10m".
    scope: str = "once"


class ToolResultEvent(_Event, frozen=True, kw_only=True, tag="tool-result"):
    """What the tools of a program brought, by the id of the call; the run that made the calls goes on."""

    results: dict[str, str]
    options: RunOptions = RunOptions()


class RetryEvent(_Event, frozen=True, kw_only=True, tag="retry"):
    """The wish for another answer in place of the last one, which stays in the thread.

    Its message id is the client's key: the same key replaces nothing twice.
    """

    # The answer to replace; None means whichever is the last.
    replaces: str | None = None


class CourseEvent(_Event, frozen=True, kw_only=True, tag="course"):
    """The wish for a new course: the model sees nothing of what was said before, but for what is pinned."""

    # It also sees a summary of what was said, with heed to the focus if there is one.
    summarise: bool = False
    focus: str = ""


class PinEvent(_Event, frozen=True, kw_only=True, tag="pin"):
    """A text to pin, or the number of a pin to take off; with neither, the question which pins there are."""

    text: str = ""
    number: int | None = None
    # The message the text was taken from, if it was.
    source: str | None = None


class ModelSwitchEvent(_Event, frozen=True, kw_only=True, tag="model"):
    """The wish for another model, from the next turn on; without a name, the question which one answers."""

    # As provider:model, or a model of the provider in use; "default" takes the choice back.
    name: str = ""
    scope: Literal["thread", "member"] = "thread"


class PlanEvent(_Event, frozen=True, kw_only=True, tag="plan"):
    """The wish that nothing acts in the thread before a plan is agreed, or the word that it is."""

    action: Literal["open", "go", "off"] = "open"


class HandoffEvent(_Event, frozen=True, kw_only=True, tag="handoff"):
    """The word passed to `member` in the same thread: it answers what was said last."""

    # Who passes it, and how that was written.
    giver: str
    marker: str


class CommandEvent(_Event, frozen=True, kw_only=True, tag="command"):
    """A person's command that no member answers."""

    # "stop", "context", "help"; "more" and "full" for the rest of a long answer; "release" and "drop" for
    # sends that wait for a word, "resend" and "forget" for one of them by its number; "stranger" for
    # somebody who may not talk here.
    name: str
    # What stands behind it: the code of a stranger, the number of a send.
    text: str = ""


IngressEvent: TypeAlias = (
    TextEvent
    | VoiceEvent
    | ApprovalReplyEvent
    | ToolResultEvent
    | RetryEvent
    | CourseEvent
    | PinEvent
    | ModelSwitchEvent
    | PlanEvent
    | CommandEvent
    | HandoffEvent
)


class EgressMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the core wants said on a platform."""

    thread_id: str
    text: str | None = None
    attachments: tuple[Attachment, ...] = ()
    reply_to_message_id: str | None = None
    # Buttons, cards and the like, for adapters whose capabilities allow them.
    extra: JsonObject = {}


class AdapterCapabilities(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a platform can show and be asked; the core asks nothing of it beyond this."""

    supports_buttons: bool = False
    supports_rich_cards: bool = False
    supports_voice: bool = False
    # A message can be sent as the reply to another one.
    supports_threaded_replies: bool = False
    # A message that was sent can be given another text and other buttons.
    supports_edits: bool = False
    supports_files: bool = False
    # The most one message holds, counted as the platform counts.
    max_message_chars: int = 4096
    counts: Literal["characters", "utf16", "bytes"] = "characters"
    # The largest file it takes, and the largest it hands out.
    max_file_bytes: int = 0
    max_incoming_bytes: int = 20 * 1024 * 1024
    # The shortest time between two changes of a message in one chat.
    edit_seconds: float = 1.0
    # `Adapter.find` can tell whether a send arrived.
    can_find_sends: bool = False
    # For how long a repeated send with the same key sends nothing twice.
    keeps_keys_seconds: float = 0.0


OutcomeStatus = Literal["replied", "suspended", "stopped", "steered", "failed"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a run ended; a repeated delivery of the same message gets this again."""

    run_id: str
    status: OutcomeStatus
    message_id: str | None = None
    text: str = ""
    # Why what was said is not the whole answer: "length" or "content-filter".
    ending: str | None = None
    # The model that answered in place of the one that was asked, when that one did not.
    model: str | None = None
    error: str | None = None
    retryable: bool = False
    # What sort of trouble at the model it was; see `ModelError.kind`.
    kind: str | None = None
    # The seconds after which the model said it may be asked again.
    retry_after: float | None = None


def encode_event(event: IngressEvent) -> bytes:
    """Serialise an event for the inbox."""
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError as error:
        raise UserError("the message holds half a character, or is not UTF-8; send it as UTF-8") from error


_decoder: msgspec.json.Decoder[IngressEvent] = msgspec.json.Decoder(IngressEvent)


def decode_event(raw: bytes | str) -> IngressEvent:
    """Read an event back from the inbox."""
    return _decoder.decode(raw)


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """What one platform is to the core. A platform nobody described may do nothing of this."""

    # Whoever speaks here holds the workspace itself: its files, or the token of its page.
    is_owner: bool = False
    # People are shown the call they are asked about. Elsewhere nobody can approve one, only refuse it.
    shows_calls: bool = False
    # One call can be looked at whole, however long it is.
    shows_whole: bool = False
    # The client's message ids are unique, and kept, so that both sides agree on them.
    keeps_ids: bool = False


# What a guest of a team is called in events: they may talk, and no word of theirs decides anything.
GUEST = "guest:"
UNKNOWN = Surface()
SURFACES = {
    "cli": Surface(is_owner=True, shows_calls=True, shows_whole=True),
    "web": Surface(is_owner=True, shows_calls=True, shows_whole=True, keeps_ids=True),
    # An editor that the owner set up to start Shipmate, on the machine of the workspace.
    "acp": Surface(is_owner=True, shows_calls=True, shows_whole=True),
    "telegram": Surface(shows_calls=True),
    "feishu": Surface(shows_calls=True),
}


def surface_of(platform: str) -> Surface:
    """Return what a platform shows; nothing, when it is not known."""
    return SURFACES.get(platform, UNKNOWN)


# What the clock says comes from here, and the threads of tasks that name none lie here.
SCHEDULE = "schedule"
# How a heartbeat is named as what said something, and what a member answers that has nothing to say to it.
HEARTBEAT = "heartbeat:"
QUIET = "NOTHING_TO_SAY"


def is_quiet(source: str | None, words: str = QUIET) -> bool:
    """Return whether an answer to a heartbeat says that there is nothing to say."""
    return (source or "").startswith(HEARTBEAT) and words.strip(" \n.`*_\"'") == QUIET
