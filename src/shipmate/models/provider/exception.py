"""Turn what pydantic-ai raises into one of our errors, in one or two sentences without any key."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_ai import exceptions as theirs

from shipmate.errors import (
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
    ModelStreamError,
)
from shipmate.models.failure import LONGEST_DETAIL, STATUS, TOO_LONG, WORDS
from shipmate.workspace.secret.secret import Mask


def explain(error: Exception, model: str, secrets: Iterable[str | None], *, begun: bool) -> ModelError:
    """Name the trouble; once an answer has begun, whatever ends it early has broken it off."""
    kind = ModelStreamError if begun else classify(error)
    what, advice = WORDS[kind]
    if kind is ModelStreamError and not begun:
        what, advice = "sent no answer that can be read", "Check `llm.baseUrl`, then send the message again."
    status = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
    if kind is ModelDownError and status is not None:
        what, advice = "has trouble of its own", "Send the message again in a while."
    if isinstance(error, theirs.ModelQuotaExceededError) and not begun:
        what, advice = "has no credit left for this key", "Top up the account or choose another model."
    code = f" ({status})" if status is not None else ""
    said = Mask(secrets)(detail(error))
    wait = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
    return kind(f"{model} {what}{code}{f': {said}' if said else ''}. {advice}", retry_after=wait)


def broke_off(model: str) -> ModelStreamError:
    """Say that an answer ended without being finished."""
    return ModelStreamError(f"{model} {'. '.join(WORDS[ModelStreamError])}")


def classify(error: Exception) -> type[ModelError]:
    """Choose our error for one of theirs."""
    if isinstance(error, theirs.ModelContextWindowExceededError):
        return ContextTooLongError
    if isinstance(error, theirs.ModelAuthenticationError | theirs.ModelQuotaExceededError):
        return ModelAuthError
    if isinstance(error, theirs.ModelRateLimitError | theirs.ModelOverloadedError):
        return ModelBusyError
    if isinstance(error, theirs.ModelHTTPError):
        return classify_status(error)
    if isinstance(error, theirs.ModelConnectionError):
        # The request went out and the reply could not be read to its end: a cut stream, not an absent server.
        cut = error.phase == "read" and not isinstance(error, theirs.ModelTimeoutError)
        return ModelStreamError if cut else ModelDownError
    if isinstance(error, theirs.ModelUnavailableError | theirs.ModelServerError | theirs.ModelRequestTimeout):
        return ModelDownError
    if isinstance(error, theirs.ModelRequestRejectedError | theirs.ContentFilterError):
        return ModelRequestError
    return ModelDownError if isinstance(error, OSError) else ModelStreamError


def classify_status(error: theirs.ModelHTTPError) -> type[ModelError]:
    """Choose our error for an HTTP status."""
    known = STATUS.get(error.status_code)
    if known is not None:
        return known
    if error.status_code >= 500:
        return ModelDownError
    return ContextTooLongError if TOO_LONG.search(str(error.body)) else ModelRequestError


def detail(error: Exception) -> str:
    """Return the provider's own words: one line, not too long, without its closing full stop."""
    body: object = error.body if isinstance(error, theirs.ModelAPIError) else None
    inner = body.get("error") if isinstance(body, dict) else None
    for found in (inner, body):
        if isinstance(found, dict) and isinstance(message := found.get("message"), str):
            return _line(message)
    if isinstance(body, str) or isinstance(inner, str):
        return _line(body if isinstance(body, str) else str(inner))
    # What a library says about bytes and sockets helps nobody who reads a thread.
    return ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"
    return line.removesuffix(".")
