"""Make what an answer sends from its message's parts: words, files, questions, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence

from shipmate.approvals.question import describe, offer_scopes
from shipmate.approvals.value import Approval
from shipmate.delivery.cleaning import clean
from shipmate.delivery.delivery_wording import say, tell
from shipmate.delivery.press import approve_data, command_data, deny_data
from shipmate.delivery.splitting import split
from shipmate.orchestrator.turn import since_answer
from shipmate.values.event import AdapterCapabilities, Attachment, EgressMessage, Outcome
from shipmate.values.message import JsonObject, UIMessage, metadata_of, text_of

# So many messages an answer may take at once; a longer one is shown page by page.
AT_ONCE = 2
# Room for the line that says how to go on.
FOOT = 120


def compose_answer(
    thread_id: str,
    message: UIMessage | None,
    outcome: Outcome,
    capabilities: AdapterCapabilities,
    language: str,
) -> list[EgressMessage]:
    """Return the words and files of an answer, in the order they leave."""
    parts = since_answer(message)["parts"] if message is not None else []
    words = words_of(message, outcome)
    notices = [tell(language, _notice(part)) for part in parts if part.get("type") == "data-notice"]
    sends = page_out(thread_id, words, capabilities, language, message_id=outcome.message_id)
    for place, text in enumerate(filter(None, notices)):
        sends.append(make_send(thread_id, f"notice.{place}", "notice", text))
    for place, part in enumerate(part for part in parts if part.get("type") == "file"):
        sends.append(make_file(thread_id, place, part))
    if outcome.error:
        failure = say(language, "failed", why=tell(language, outcome.error))
        sends.append(make_send(thread_id, "error", "failure", failure))
    return sends


def words_of(message: UIMessage | None, outcome: Outcome | None = None) -> str:
    """Return what a member said in an answer so far, as people shall read it."""
    if message is None or message["role"] != "assistant":
        return clean(outcome.text) if outcome is not None else ""
    words = clean(text_of(since_answer(message)))
    # A bot has one face: where another member than the thread's own speaks, it says who.
    member = metadata_of(message).get("member")
    return f"**{member}:** {words}" if words and member else words


def page_out(
    thread_id: str,
    words: str,
    capabilities: AdapterCapabilities,
    language: str,
    first: int = 0,
    message_id: str | None = None,
) -> list[EgressMessage]:
    """Return words as one or two messages, or as a page of many that says how to read on."""
    if not words:
        return []
    pages = split(words, capabilities)
    if len(pages) <= AT_ONCE:
        return [make_send(thread_id, f"words.{place}", "words", text) for place, text in enumerate(pages)]
    pages = split(words, capabilities, reserve=FOOT)
    number = min(first, len(pages) - 1)
    foot = say(
        language, "page" if number + 1 < len(pages) else "last-page", page=number + 1, pages=len(pages)
    )
    buttons: list[list[list[str]]] = []
    if capabilities.supports_buttons and number + 1 < len(pages):
        labels = (("more", say(language, "more")), ("full", say(language, "full")))
        buttons = [[[label, command_data(name)] for name, label in labels]]
    text = f"{pages[number]}\n\n{foot}"
    extra = {"page": number, "pages": len(pages), "of": message_id}
    return [make_send(thread_id, f"words.{number}", "words", text, buttons, **extra)]


def make_question(
    approval: Approval, capabilities: AdapterCapabilities, language: str
) -> list[EgressMessage]:
    """Return the question about a call, whole, with its choices under the last message it takes."""
    buttons: list[list[list[str]]] = []
    if capabilities.supports_buttons or capabilities.supports_rich_cards:
        buttons.append(
            [
                [say(language, "approve"), approve_data(approval.id, "once")],
                [say(language, "deny"), deny_data(approval.id)],
            ]
        )
        scopes = offer_scopes(approval, language)
        buttons += [[[say(language, f"scope-{scope}"), approve_data(approval.id, scope)]] for scope in scopes]
    *before, last = split(describe(approval, language), capabilities)
    sends = [
        make_send(approval.thread_id, f"question.{approval.id}.{place}", "question", text)
        for place, text in enumerate(before)
    ]
    name = f"question.{approval.id}"
    return [*sends, make_send(approval.thread_id, name, "question", last, buttons, approval=approval.id)]


def make_send(
    thread_id: str,
    name: str,
    kind: str,
    text: str,
    buttons: Sequence[Sequence[Sequence[str]]] = (),
    **more: object,
) -> EgressMessage:
    """Make one message; its name is its place in the answer."""
    extra: JsonObject = {"name": name, "kind": kind, **more}
    if buttons:
        extra["buttons"] = [[list(button) for button in row] for row in buttons]
    return EgressMessage(thread_id=thread_id, text=text, extra=extra)


def _notice(part: JsonObject) -> str:
    data = part.get("data")
    return str(data.get("text", "")) if isinstance(data, dict) else ""


def make_file(thread_id: str, place: int, part: JsonObject) -> EgressMessage:
    """Make the message of a kept file."""
    file = Attachment(
        url=part["url"], media_type=str(part.get("mediaType", "")), filename=part.get("filename")
    )
    extra = {"name": f"file.{place}", "kind": "words"}
    return EgressMessage(thread_id=thread_id, attachments=(file,), extra=extra)
