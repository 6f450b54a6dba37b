"""Say what went wrong at a model: one of our errors, in one or two sentences without any key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

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
from shipmate.models.wording import say
from shipmate.values.saying import Saying
from shipmate.workspace.secret.secret import Mask

LONGEST_DETAIL = 240
# Seconds after which waiting is no advice any more.
LONG_WAIT = 60
# The sayings that say what happened alone.
SHORT = {"trouble": "short", "trouble-said": "short-said"}
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
# What happened, by the name of its saying; that name with `-advice` says what to do.
KINDS: dict[type[ModelError], str] = {
    ModelAuthError: "auth",
    ModelBusyError: "busy",
    ModelDownError: "down",
    ContextTooLongError: "too-long",
    ModelRequestError: "request",
    ModelStreamError: "broke-off",
}


class Trouble(NamedTuple):
    """What happened at a model, and what to do, by the names of their sayings."""

    kind: type[ModelError]
    what: str
    advice: str


UNREADABLE = Trouble(ModelStreamError, "unreadable", "unreadable-advice")
TIMED_OUT = Trouble(ModelDownError, "late", "late-advice")
AWAY = Trouble(ModelDownError, "down", "down-advice")
# What happens on the way, before or after the provider said anything.
WAY: dict[str, Trouble] = {
    "address": Trouble(ModelRequestError, "unaskable", "address-advice"),
    "model-name": Trouble(ModelRequestError, "unaskable", "request-advice"),
    "header": Trouble(ModelAuthError, "unaskable", "header-advice"),
    "certificate": Trouble(ModelRequestError, "untrusted", "certificate-advice"),
    "proxy": Trouble(ModelDownError, "down", "proxy-advice"),
    "redirect": Trouble(ModelRequestError, "elsewhere", "elsewhere-advice"),
    "unknown-host": AWAY,
    "unreachable": AWAY,
    "connect-timeout": AWAY,
    "timeout": TIMED_OUT,
    "stalled": TIMED_OUT,
}


def explain(
    fault: WireError | HttpFault, model: str, secrets: Iterable[str | None], *, begun: bool
) -> ModelError:
    """Name the trouble; once an answer has begun, whatever ends it early has broken it off."""
    trouble = _name(ModelStreamError) if begun else _describe(fault)
    status = fault.status if isinstance(fault, WireError) else None
    code = f" ({status})" if status is not None and not begun else ""
    said = _quote(fault.words, Mask(secrets))
    wait = fault.retry_after if isinstance(fault, WireError) else None
    advice = say(trouble.advice)
    if wait is not None and wait >= LONG_WAIT and trouble.kind is ModelBusyError:
        advice = say("busy-long", span=_name_span(wait))
    told = {"model": model, "what": say(trouble.what), "code": code, "advice": advice}
    words = say("trouble-said", said=said, **told) if said else say("trouble", **told)
    return trouble.kind(words, retry_after=wait)


def in_short(error: ModelError) -> str:
    """Return what happened, without what to do about it: that is being done."""
    said = error.args[0]
    if isinstance(said, Saying) and said.key in SHORT:
        return said.rename(SHORT[said.key])
    return f"{str(error).partition('. ')[0].rstrip('.')}."


def _name(kind: type[ModelError]) -> Trouble:
    return Trouble(kind, KINDS[kind], f"{KINDS[kind]}-advice")


def _describe(fault: WireError | HttpFault) -> Trouble:
    if isinstance(fault, HttpFault):
        return WAY.get(fault.kind, UNREADABLE)
    if has_no_credit(fault):
        return Trouble(ModelAuthError, "no-credit", "no-credit-advice")
    kind = classify(fault)
    if kind is ModelStreamError:
        return UNREADABLE
    if kind is ModelDownError:
        # It was reached, or it could not say so.
        return Trouble(kind, "own-trouble", "own-trouble-advice")
    if fault.status == 404 and kind is ModelRequestError:
        return Trouble(kind, "unknown", "unknown-advice")
    return _name(kind)


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


def _name_span(seconds: float) -> Saying:
    for size, name in ((86_400, "days"), (3_600, "hours")):
        if seconds >= 2 * size:
            return say(name, count=f"{seconds / size:.0f}")
    if seconds >= 120:
        return say("minutes", count=f"{seconds / 60:.0f}")
    return say("seconds", count=f"{seconds:.0f}")


def _quote(words: str, mask: Mask) -> str:
    """Return the words of a fault in one line without secrets."""
    # Masked before it is cut: half of a key is not known for one.
    if isinstance(words, Saying):
        return words.change(lambda value: _line(mask(value)))
    return _line(mask(words))


def _line(text: str) -> str:
    # What moves a terminal's cursor is no word.
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"
    return line.removesuffix(".")
