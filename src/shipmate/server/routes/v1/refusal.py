"""Say no as OpenAI's own service does: a status, the field that is meant, and a code."""

from __future__ import annotations

from math import ceil

from shipmate.server.guard.error import ApiError
from shipmate.values.event import Outcome

# The status and code of what can go wrong at a model. A refused key is ours to mend, not the caller's: 401
# would make programs ask for another token.
TROUBLE: dict[str, tuple[int, str]] = {
    "busy": (429, "rate_limit_exceeded"),
    "down": (503, "model_unavailable"),
    "stream": (502, "model_broke_off"),
    "auth": (502, "model_key_refused"),
    "context": (400, "context_length_exceeded"),
    "request": (400, "model_refused_request"),
    "model": (502, "model_failed"),
}


def bad(param: str, message: str, code: str = "invalid") -> ApiError:
    """Say which field of a request cannot be taken, and why."""
    error = ApiError(400, code, f"{param}: {message}")
    error.param = param
    return error


def unsupported(param: str, advice: str) -> ApiError:
    """Say that a field would change the answer and is not supported."""
    return bad(param, f"this value is not supported here. {advice}", "unsupported_value")


def unknown_model(name: str, known: list[str]) -> ApiError:
    """Say that there is no member of that name."""
    shown = name if len(name) <= 100 and name.isprintable() else "that"
    error = ApiError(
        404,
        "model_not_found",
        f"There is no model {shown!r}.",
        f"A model is a member of the crew: {', '.join(known)}.",
    )
    error.param = "model"
    return error


def failure(outcome: Outcome, *, has_acted: bool) -> ApiError:
    """Say how a run failed. A program that would ask again by itself is told whether it may."""
    words = outcome.error or "The run failed."
    if outcome.kind is not None:
        status, code = TROUBLE.get(outcome.kind, TROUBLE["model"])
    else:
        status, code = (503, "unavailable") if outcome.retryable else (500, "run_failed")
    may_repeat = outcome.retryable and not has_acted
    headers = {"x-should-retry": "true" if may_repeat else "false"}
    if may_repeat and outcome.retry_after is not None:
        headers["retry-after"] = str(ceil(outcome.retry_after))
    return ApiError(status, code, words, headers=headers)
