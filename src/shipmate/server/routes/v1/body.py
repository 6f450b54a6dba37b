"""Read a completion request: what counts, what travels to the model, and what is refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from shipmate.server.guard.error import ApiError, invalid
from shipmate.server.routes.v1.refusal import bad, unsupported
from shipmate.values.event import ClientTool, RunOptions
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

NAME = r"^[A-Za-z0-9_-]{1,64}$"
CALL_ID_LIMIT = 256
TOOL_LIMIT = 128
STOP_LIMIT = 4
WHERE = re.compile(r" - at `\$\.?([^`]*)`$")
Name = Annotated[str, Meta(pattern=NAME)]
CallId = Annotated[str, Meta(min_length=1, max_length=CALL_ID_LIMIT)]
Role = Literal["system", "developer", "user", "assistant", "tool"]
# What would change the answer and is not supported, with the values that change nothing; null never does.
NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "reasoning_effort": (),
    "verbosity": ("medium",),
    "web_search_options": (),
}
SAMPLING = ("temperature", "top_p", "seed")


class CalledFunction(msgspec.Struct, frozen=True):
    """What a call names and hands over, as the model wrote it."""

    name: Name
    arguments: str


class ClientCall(msgspec.Struct, frozen=True):
    """A call in an assistant's message."""

    id: CallId
    function: CalledFunction
    type: Literal["function"] = "function"


class ClientMessage(msgspec.Struct, frozen=True):
    """A message of the history a program sends along."""

    role: Role
    content: str | list[JsonObject] | None = None
    tool_calls: list[ClientCall] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None


class OfferedFunction(msgspec.Struct, frozen=True):
    """A function of the program that the model may call."""

    name: Name
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None


class OfferedTool(msgspec.Struct, frozen=True):
    """A tool of the program."""

    type: Literal["function"]
    function: OfferedFunction


class StreamOptions(msgspec.Struct, frozen=True):
    """What else a stream tells."""

    include_usage: bool | None = None


class CompletionBody(msgspec.Struct, frozen=True):
    """A completion request; unknown fields pass."""

    messages: Annotated[list[ClientMessage], Meta(min_length=1)]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    # Names the thread `api:user:<user>`; without it and the header the history of the request is the thread.
    user: str | None = None
    tools: Annotated[list[OfferedTool], Meta(max_length=TOOL_LIMIT)] | None = None
    tool_choice: str | JsonObject | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | Annotated[list[str], Meta(max_length=STOP_LIMIT)] | None = None
    seed: int | None = None

    @property
    def wants_usage(self) -> bool:
        """Return whether the stream ends with what was used."""
        return bool(self.stream_options and self.stream_options.include_usage)


def read_completion(raw: bytes) -> tuple[CompletionBody, JsonObject]:
    """Decode a completion request, and return it as it came beside it."""
    try:
        given = msgspec.json.decode(check_nesting(raw))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is not JSON: {error}"[:300], "") from error
    if not isinstance(given, dict):
        raise invalid("The body must be one JSON object.", "")
    for field, value in given.items():
        if field in NEUTRAL and not _is_neutral(value, NEUTRAL[field]):
            raise unsupported(field, "Leave it out.")
    try:
        return msgspec.convert(given, CompletionBody), given
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from error


def _is_neutral(value: Any, neutral: tuple[object, ...]) -> bool:
    # True equals 1 for Python, but is no number for anyone else.
    is_same = any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in neutral)
    return value is None or is_same


def _misfit(text: str) -> ApiError:
    found = WHERE.search(text)
    what = WHERE.sub("", text)[:300]
    return bad(found[1], what) if found and found[1] else invalid(what, "")


def read_options(body: CompletionBody) -> RunOptions:
    """Return what the request asks of the run beside its words."""
    tools = tuple(_tool(place, offered) for place, offered in enumerate(body.tools or ()))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise bad("tools", "two of them have one name.")
    if tools and body.parallel_tool_calls is False:
        raise unsupported("parallel_tool_calls", "Leave it out; a model may ask for several calls at once.")
    if body.tool_choice not in (None, "auto", "none"):
        raise unsupported("tool_choice", "`auto` and `none` are.")
    is_free = body.tool_choice != "none"
    return RunOptions(sampling=_sampling(body), tools=tools if is_free else (), offers_tools=is_free)


def _tool(place: int, offered: OfferedTool) -> ClientTool:
    given = offered.function
    if given.strict:
        raise unsupported(f"tools[{place}].function.strict", "Leave it out and check the arguments.")
    schema = given.parameters or {"type": "object", "properties": {}}
    return ClientTool(name=given.name, description=given.description or "", schema=schema)


def _sampling(body: CompletionBody) -> JsonObject:
    found: JsonObject = {name: value for name in SAMPLING if (value := getattr(body, name)) is not None}
    if (limit := body.max_completion_tokens or body.max_tokens) is not None:
        found["max_tokens"] = limit
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    if any(stops):
        found["stop"] = [each for each in stops if each]
    return found
