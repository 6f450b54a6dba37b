"""Turn what pydantic-ai raises into one of our errors, in one or two sentences without any key."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_ai import exceptions as theirs

from shipmate.errors import ModelError
from shipmate.models import failure
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire import WireError

# Their names for trouble, the narrower ones first, and the code that stands for each.
CODES: tuple[tuple[type[Exception], str], ...] = (
    (theirs.ModelContextWindowExceededError, "context_length_exceeded"),
    (theirs.ModelQuotaExceededError, "insufficient_quota"),
    (theirs.ModelAuthenticationError, "authentication_error"),
    (theirs.ModelRateLimitError, "rate_limit_error"),
    (theirs.ModelOverloadedError, "overloaded_error"),
    (theirs.ModelHTTPError, ""),
    (theirs.ModelUnavailableError, "server_error"),
    (theirs.ModelServerError, "server_error"),
    (theirs.ModelRequestRejectedError, "invalid_request_error"),
    (theirs.ContentFilterError, "invalid_request_error"),
)
BROKEN_OFF = "broken-off"


def explain(error: Exception, model: str, secrets: Iterable[str | None], *, begun: bool) -> ModelError:
    """Name the trouble; once an answer has begun, whatever ends it early has broken it off."""
    return failure.explain(read_fault(error), model, secrets, begun=begun)


def broke_off(model: str) -> ModelError:
    """Say that an answer ended without being finished."""
    return failure.explain(WireError(code=BROKEN_OFF), model, (), begun=True)


def read_fault(error: Exception) -> WireError | HttpFault:
    """Return one of their errors as the trouble that a wire would tell of."""
    if isinstance(error, theirs.ModelTimeoutError | theirs.ModelRequestTimeout):
        return HttpFault("timeout", "")
    if isinstance(error, theirs.ModelConnectionError):
        # The request went out and the reply could not be read to its end: a cut stream, not an absent server.
        return WireError(code=BROKEN_OFF) if error.phase == "read" else HttpFault("unreachable", "")
    code = next((code for kind, code in CODES if isinstance(error, kind)), None)
    if code is None:
        return HttpFault("unreachable", "") if isinstance(error, OSError) else WireError(code=BROKEN_OFF)
    status = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
    wait = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
    return WireError(read_words(error), status=status, code=code, retry_after=wait)


def read_words(error: Exception) -> str:
    """Return the provider's own words; what a library says about bytes and sockets helps nobody."""
    body: object = error.body if isinstance(error, theirs.ModelAPIError) else None
    inner = body.get("error") if isinstance(body, dict) else None
    for found in (inner, body):
        if isinstance(found, dict) and isinstance(message := found.get("message"), str):
            return message
    return body if isinstance(body, str) else inner if isinstance(inner, str) else ""
