"""Speak to a provider through pydantic-ai. Import this module only when a provider is used."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from typing import Any, cast

import msgspec
import pydantic_ai
from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from shipmate.errors import ModelAuthError, ModelError, ModelRequestError
from shipmate.models import failure
from shipmate.models.catalog import NO_KEY, PROVIDERS
from shipmate.models.port import (
    Finish,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.models.provider.ambient import is_settled, settle_client
from shipmate.models.provider.conversion import convert_messages
from shipmate.models.provider.recipe import Recipe
from shipmate.models.to_model import messages_of
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire import WireError
from shipmate.models.wording import say
from shipmate.values.message import JsonObject
from shipmate.workspace.secret.setting import address_secrets

# Our `openai` is the Chat protocol, which is what servers called OpenAI-compatible speak.
THEIR_NAMES = {"openai": "openai-chat"}


class Translator:
    """Translates one answer; a call keeps the id it was announced with, made unique where one repeats."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: dict[int, tuple[str, str]] = {}

    @property
    def has_calls(self) -> bool:
        """Return whether the answer asked for a tool."""
        return bool(self._calls)

    def take(self, event: object) -> Iterator[ModelEvent]:
        """Translate one event."""
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield TextDelta(text)
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                yield ReasoningDelta(text)
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                yield self._announce(index, part)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield TextDelta(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
                yield ReasoningDelta(text)
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(text))) if text:
                if index in self._calls:
                    yield ToolCallDelta(*self._calls[index], text)
            case PartEndEvent(part=ThinkingPart() as part):
                yield ReasoningEnd(self._sign(part))
            case _:
                return

    def close(self, answer: ModelResponse) -> Iterator[ModelEvent]:
        """Yield the complete calls.

        They come last, because arguments of parallel calls may arrive interleaved.
        """
        parts = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        announced = [self._calls[index] for index in sorted(self._calls)]
        for (call_id, _), part in zip(announced, parts, strict=False):
            yield ToolCall(call_id, part.tool_name, write_arguments(part), self._sign(part))

    def _sign(self, part: ThinkingPart | ToolCallPart) -> JsonObject | None:
        signature = read_signature(part)
        return signature and {"by": self._model, **signature}

    def _announce(self, index: int, part: ToolCallPart) -> ToolCallDelta:
        taken = {call_id for call_id, _ in self._calls.values()}
        call_id = part.tool_call_id
        while call_id in taken:
            call_id += "_"
        self._calls[index] = call_id, part.tool_name
        return ToolCallDelta(call_id, part.tool_name, write_arguments(part))


def write_arguments(part: ToolCallPart) -> str:
    """Return a call's arguments as text, as the model wrote them where it wrote text."""
    if part.args is None:
        return ""
    return part.args if isinstance(part.args, str) else msgspec.json.encode(part.args).decode()


def read_signature(part: ThinkingPart | ToolCallPart) -> JsonObject | None:
    """Return what the provider needs to recognise its thinking or call later; None when it needs nothing."""
    signature = part.signature if isinstance(part, ThinkingPart) else None
    kept = {"id": part.id, "signature": signature, "details": part.provider_details}
    found = {key: value for key, value in kept.items() if value}
    return {"provider": part.provider_name, **found} if found and part.provider_name else None


def count_usage(answer: ModelResponse) -> Usage:
    """Read the tokens of an answer, with its price where one is published."""
    used = answer.usage
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        cost=_read_cost(answer),
    )


def _read_cost(answer: ModelResponse) -> float | None:
    name = answer.provider_name, answer.model_name
    if not answer.model_name or not answer.usage.has_values() or name in _unpriced:
        return None
    try:
        return float(answer.cost().total_price)
    except (LookupError, ValueError):
        # Looking through every price list again for each answer would cost half a millisecond.
        _unpriced.add(name)
        return None


_unpriced: set[tuple[str | None, str | None]] = set()


def assemble(recipe: Recipe) -> Model:
    """Make the model; a missing key or library is said in one line."""
    keys = PROVIDERS[recipe.provider].keys
    if keys and not recipe.api_key and not recipe.base_url:
        raise ModelAuthError(say("no-key", provider=recipe.provider, variable=keys[0]))
    try:
        model = _assemble(recipe)
    except UserError as error:
        words = error.message.partition(" To try Pydantic AI")[0]
        raise ModelAuthError(say("unusable", provider=recipe.provider, why=words)) from None
    except ImportError as error:
        raise ModelRequestError(say("no-library", provider=recipe.provider, why=error)) from None
    if "pydantic_ai.models.openai" in sys.modules:
        _tune_openai(model)
    return model


def _tune_openai(model: Model) -> None:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    if isinstance(model, OpenAIChatModel):
        # Without this an answer that breaks off passes for a finished one.
        strict = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
        model.profile = cast(OpenAIModelProfile, merge_profile(model.profile, strict))


def _assemble(recipe: Recipe) -> Model:
    name = THEIR_NAMES.get(recipe.provider, recipe.provider)
    return infer_model(f"{name}:{recipe.model}", provider_factory=lambda name: _provider(name, recipe))


def _provider(name: str, recipe: Recipe) -> Provider[Any]:
    made = infer_provider_class(name)
    accepted = inspect.signature(made.__init__).parameters
    address = next((key for key in ("base_url", "api_base", "azure_endpoint") if key in accepted), None)
    entry = PROVIDERS[recipe.provider]
    if recipe.base_url and address is None:
        raise ModelRequestError(say("no-base-url", provider=recipe.provider))
    # Whatever is left open the library takes from the environment, where another's may stand.
    key = recipe.api_key or (NO_KEY if entry.is_keyless or recipe.base_url else None)
    wanted = {"api_key": key, "token": key, address or "": recipe.base_url or entry.home, **recipe.more}
    provider = made(**{key: value for key, value in wanted.items() if value and key in accepted})
    settle_client(provider.client, recipe.more)
    return provider


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


pydantic_ai.BANNER_ENABLED = False

FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "error",
}


class Engine:
    """One pydantic-ai model, whose answers are streamed as our events."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._name = f"{recipe.provider}:{recipe.model}"
        self._secrets = [recipe.api_key, *address_secrets(recipe.base_url or "")]
        self._model = assemble(recipe)
        retries = {} if is_settled(self._model) else {"max_retries": 0}
        self._settings: JsonObject = {"cache": True, **recipe.settings, **retries}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Answer one request."""
        neutral = messages_of(request, self._name)
        translator = Translator(self._name)
        opened: list[StreamedResponse] = []
        async with aclosing(
            self._receive(request, convert_messages(neutral, self._recipe.provider), opened)
        ) as events:
            async for event in events:
                for ours in translator.take(event):
                    yield ours
        answer = opened[0].get()
        for ours in translator.close(answer):
            yield ours
        if answer.finish_reason is None:
            raise broke_off(self._name)
        reason = FINISH.get(answer.finish_reason, "other")
        if translator.has_calls and reason == "stop":
            reason = "tool-calls"
        yield Finish(reason, count_usage(answer), self._name)

    async def _receive(
        self, request: ModelRequest, messages: list[ModelMessage], opened: list[StreamedResponse]
    ) -> AsyncGenerator[Any]:
        begun = False
        try:
            async with model_request_stream(
                self._model,
                messages,
                model_settings=cast(ModelSettings, {**self._settings, **read_sampling(request)}),
                model_request_parameters=make_parameters(request),
            ) as response:
                opened.append(response)
                async for event in cast(AsyncIterator[Any], response):
                    begun = True
                    yield event
        # The edge to a stranger's server: whatever bytes it sends, the SDK that reads them raises errors of
        # its own making (assertions and key errors among them). Each is reported in the thread as a
        # ModelError, and its cause is left out because it can hold the key.
        except Exception as error:  # noqa: BLE001
            raise explain(error, self._name, self._secrets, begun=begun) from None

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._model.__aenter__()
        await self._model.__aexit__(None, None, None)


def make_parameters(request: ModelRequest) -> ModelRequestParameters:
    """Return the tools and the system prompt of a request."""
    tools = [
        ToolDefinition(name=spec.name, description=spec.description, parameters_json_schema=spec.schema)
        for spec in request.tools
    ]
    instructions = [InstructionPart(request.system)] if request.system.strip() else []
    return ModelRequestParameters(function_tools=tools, instruction_parts=instructions)


def read_sampling(request: ModelRequest) -> JsonObject:
    """Return what a request wants otherwise than the settings, by pydantic-ai's names."""
    return {"stop_sequences" if key == "stop" else key: value for key, value in request.sampling.items()}
