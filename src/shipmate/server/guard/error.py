"""Shape every answer that says no: a code, a sentence and what to do next. Nothing of the machine leaks."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from shipmate.errors import (
    ApprovalError,
    ConfigError,
    KeeperError,
    MediaError,
    MemberError,
    ModelError,
    NotFoundError,
    PathError,
    PrimingError,
    RewindError,
    ShipmateError,
    StorageError,
    ThreadIdError,
    UserError,
    WorkspaceError,
)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused, and what to do next."""

    code: str
    message: str
    next: str
    # What to look for in the log.
    id: str | msgspec.UnsetType = msgspec.UNSET
    # The version that stands, where another was written against; None where nothing stands.
    version: str | msgspec.UnsetType | None = msgspec.UNSET


class Refusal(msgspec.Struct, frozen=True):
    """The problem, wrapped as in every refusal."""

    error: Problem


class ClientProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused, in OpenAI's words."""

    message: str
    type: str
    # The field of the request that is meant, where one is.
    param: str | None
    code: str


class ClientRefusal(msgspec.Struct, frozen=True):
    """The problem, wrapped as OpenAI's clients expect it."""

    error: ClientProblem


class ApiError(Exception):
    """A refused request: a status, a code, a sentence and a next step."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        next_: str = "",
        *,
        headers: dict[str, str] | None = None,
        id: str | msgspec.UnsetType = msgspec.UNSET,
        version: str | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers
        self.problem = Problem(code=code, message=message, next=next_, id=id, version=version)
        # The field of the request that is meant, where one is.
        self.param: str | None = None

    def response(self) -> Response:
        """Return the answer to send."""
        content = msgspec.json.encode(Refusal(self.problem))
        return Response(content, self.status, self.headers, media_type="application/json")


def respond(error: ApiError, path: str) -> Response:
    """Return the answer to send, in the shape that programs expect at this address: OpenAI's under /v1."""
    if not path.startswith(CLIENT_PATHS):
        return error.response()
    content = msgspec.json.encode(ClientRefusal(client_problem(error)))
    return Response(content, error.status, error.headers, media_type="application/json")


def client_problem(error: ApiError) -> ClientProblem:
    """Say what went wrong as OpenAI does."""
    usual = "server_error" if error.status >= 500 else "invalid_request_error"
    return ClientProblem(
        message=f"{error} {error.problem.next}".strip(),
        type=TYPES.get(error.status, usual),
        param=error.param,
        code="invalid_api_key" if error.code == "auth" else error.code.replace("-", "_"),
    )


CLIENT_PATHS = "/v1/"
TYPES = {403: "permission_error", 429: "rate_limit_error"}
# The first class that fits decides. Our own sentences are shown only for mistakes of the person who asked;
# paths in them are cut out, and every other error is told in the general words of its class.
KINDS: tuple[tuple[type[ShipmateError], int, str], ...] = (
    (NotFoundError, 404, "not-found"),
    (ApprovalError, 409, "conflict"),
    (RewindError, 409, "conflict"),
    (ThreadIdError, 400, "invalid"),
    (PathError, 400, "invalid"),
    (MediaError, 415, "invalid"),
    (PrimingError, 422, "invalid"),
    (WorkspaceError, 409, "setup"),
    # No `setup`, which means that there is no Agent.md: the page offers to write one then.
    (MemberError, 409, "member"),
    (ConfigError, 409, "config"),
    (UserError, 400, "invalid"),
    (StorageError, 503, "unavailable"),
    (KeeperError, 503, "unavailable"),
    (ModelError, 502, "unavailable"),
)


def translate(error: ShipmateError, root: str) -> ApiError | None:
    """Turn an error of ours into an answer; None for what nobody foresaw."""
    for kind, status, code in KINDS:
        if isinstance(error, kind):
            what, _, next_ = error.general().partition(". ")
            message = str(error) if isinstance(error, UserError) else f"{what.removesuffix('.')}."
            return ApiError(status, code, hide_root(message, root), next_)
    return None


def hide_root(text: str, root: str) -> str:
    """Write paths of the workspace as people name them: relative to it."""
    return text.replace(root + "/", "").replace(root, "the workspace")


def missing(what: str) -> ApiError:
    """Say that something does not exist."""
    return ApiError(404, "not-found", f"There is no {what}.", "List what exists and try again.")


def invalid(message: str, next_: str = "Read /docs for what is expected.") -> ApiError:
    """Say that the request does not fit."""
    return ApiError(400, "invalid", message, next_)
