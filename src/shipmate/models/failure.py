"""Say what went wrong at a model: one of our errors, in one or two sentences without any key."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shipmate.errors import (
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
    ModelStreamError,
)
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire import WireError
from shipmate.workspace.secret.secret import Mask

LONGEST_DETAIL = 240
# Seconds after which waiting is no advice any more.
LONG_WAIT = 60
# Servers that speak another's protocol word this in their own way and send no code.
TOO_LONG = re.compile(
    r"context.{0,12}(length|window|size)|too many (input )?tokens|(prompt|input|request) is too long"
    r"|maximum (context|number of tokens)|exceeds? the .{0,30}(context|tokens)",
    re.IGNORECASE,
)
NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|balance|credit|fund)|(credit )?balance is too low|out of credits?"
    r"|billing[_ ](hard[_ ]limit|not[_ ]active)|requires more credits",
    re.IGNORECASE,
)
BAD_KEY = re.compile(
    r"api[ _-]?key.{0,20}(invalid|not valid|incorrect|expired)|(invalid|incorrect) api[ _-]?key", re.I
)

STATUS: dict[int, type[ModelError]] = {
    401: ModelAuthError,
    402: ModelAuthError,
    403: ModelAuthError,
    407: ModelDownError,
    408: ModelDownError,
    413: ContextTooLongError,
    429: ModelBusyError,
    529: ModelBusyError,
}
# What providers call their errors, whatever the status they send with it.
CODES: dict[str, type[ModelError]] = {
    "context_length_exceeded": ContextTooLongError,
    "context_window_exceeded": ContextTooLongError,
    "exceed_context_size_error": ContextTooLongError,
    "model_max_prompt_tokens_exceeded": ContextTooLongError,
    "request_too_large": ContextTooLongError,
    "authentication_error": ModelAuthError,
    "invalid_api_key": ModelAuthError,
    "permission_error": ModelAuthError,
    "PERMISSION_DENIED": ModelAuthError,
    "UNAUTHENTICATED": ModelAuthError,
    "engine_overloaded_error": ModelBusyError,
    "insufficient_system_resource": ModelBusyError,
    "overloaded_error": ModelBusyError,
    "rate_limit_error": ModelBusyError,
    "rate_limit_exceeded": ModelBusyError,
    "rate_limit_reached_error": ModelBusyError,
    "RESOURCE_EXHAUSTED": ModelBusyError,
    "server_is_overloaded": ModelBusyError,
    "slow_down": ModelBusyError,
    "api_error": ModelDownError,
    "server_error": ModelDownError,
    "internal_server_error": ModelDownError,
    "timeout_error": ModelDownError,
    "INTERNAL": ModelDownError,
    "UNAVAILABLE": ModelDownError,
    "DEADLINE_EXCEEDED": ModelDownError,
    "invalid_request_error": ModelRequestError,
    "model_not_found": ModelRequestError,
    "not_found_error": ModelRequestError,
    "INVALID_ARGUMENT": ModelRequestError,
    "FAILED_PRECONDITION": ModelRequestError,
    "NOT_FOUND": ModelRequestError,
}
WORDS: dict[type[ModelError], tuple[str, str]] = {
    ModelAuthError: ("refused the key", "Set the right one in ship.json or the environment."),
    ModelBusyError: ("is over its limit", "Wait a little and send the message again."),
    ModelDownError: (
        "cannot be reached",
        "Check the network and `llm.baseUrl`, then send the message again.",
    ),
    ContextTooLongError: (
        "cannot read a conversation this long",
        "Open a new course: /course in the terminal, /new in a chat, “New course” on the page, or "
        "`shipmate threads new-course`.",
    ),
    ModelRequestError: ("did not accept the request", "Check `llm.model` in ship.json."),
    ModelStreamError: ("broke off its answer", "What it said is kept; send the message again to go on."),
}
UNREADABLE = (
    ModelStreamError,
    "sent no answer that can be read",
    "Check `llm.baseUrl`, then send the message again.",
)
TIMED_OUT = (
    ModelDownError,
    "did not answer in time",
    "Send the message again, or raise `llm.timeoutSeconds` in ship.json.",
)
NO_CREDIT_LEFT = (
    ModelAuthError,
    "has no credit left for this key",
    "Top up the account or choose another model.",
)
# What happens on the way, before or after the provider said anything.
WAY: dict[str, tuple[type[ModelError], str, str]] = {
    "address": (ModelRequestError, "cannot be asked", "Mend `llm.baseUrl` in ship.json."),
    "model-name": (ModelRequestError, "cannot be asked", "Check `llm.model` in ship.json."),
    "header": (ModelAuthError, "cannot be asked", "Set the right key in ship.json or the environment."),
    "certificate": (
        ModelRequestError,
        "cannot be trusted",
        "Check `llm.baseUrl`; name a certificate of your own in SSL_CERT_FILE.",
    ),
    "proxy": (ModelDownError, "cannot be reached", "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
    "redirect": (
        ModelRequestError,
        "is to be had elsewhere",
        "Nothing was sent there. Set `llm.baseUrl` to the address that answers.",
    ),
    "unknown-host": (ModelDownError, *WORDS[ModelDownError]),
    "unreachable": (ModelDownError, *WORDS[ModelDownError]),
    "connect-timeout": (ModelDownError, *WORDS[ModelDownError]),
    "timeout": TIMED_OUT,
    "stalled": TIMED_OUT,
}


def explain(
    fault: WireError | HttpFault, model: str, secrets: Iterable[str | None], *, begun: bool
) -> ModelError:
    """Name the trouble; once an answer has begun, whatever ends it early has broken it off."""
    kind, what, advice = (ModelStreamError, *WORDS[ModelStreamError]) if begun else _describe(fault)
    status = fault.status if isinstance(fault, WireError) else None
    code = f" ({status})" if status is not None and not begun else ""
    # Masked before it is cut: half of a key is not known for one.
    said = _line(Mask(secrets)(fault.words))
    wait = fault.retry_after if isinstance(fault, WireError) else None
    if wait is not None and wait >= LONG_WAIT and kind is ModelBusyError:
        advice = f"It wants to be left alone for {_name_span(wait)}; choose another model until then."
    return kind(f"{model} {what}{code}{f': {said}' if said else ''}. {advice}", retry_after=wait)


def _describe(fault: WireError | HttpFault) -> tuple[type[ModelError], str, str]:
    if isinstance(fault, HttpFault):
        return WAY.get(fault.kind, UNREADABLE)
    if has_no_credit(fault):
        return NO_CREDIT_LEFT
    kind = classify(fault)
    if kind is ModelStreamError:
        return UNREADABLE
    if kind is ModelDownError:
        # It was reached, or it could not say so.
        return kind, "has trouble of its own", "Send the message again in a while."
    if fault.status == 404 and kind is ModelRequestError:
        return kind, "was not found", "Check `llm.model` and `llm.baseUrl` in ship.json."
    return kind, *WORDS[kind]


def has_no_credit(fault: WireError) -> bool:
    """Return whether a person has to pay before this goes on."""
    return fault.status == 402 or NO_CREDIT.search(f"{fault.code} {fault.words}") is not None


def classify(fault: WireError) -> type[ModelError]:
    """Choose our error for what a provider told: by its code, by the status, else by its words."""
    known = CODES.get(fault.code)
    if known is not None and known is not ModelRequestError:
        return known
    if TOO_LONG.search(fault.words) and fault.status in (None, 400, 413, 422, 500):
        return ContextTooLongError
    if BAD_KEY.search(fault.words) and fault.status in (None, 400):
        return ModelAuthError
    if fault.status is None:
        return known or ModelStreamError
    if fault.status in STATUS:
        return STATUS[fault.status]
    return ModelDownError if fault.status >= 500 else ModelRequestError


def _name_span(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "hours")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def _line(text: str) -> str:
    # What moves a terminal's cursor is no word.
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"
    return line.removesuffix(".")
