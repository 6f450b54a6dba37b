"""A model behind a wire: what the loop asks goes out as the wire writes it, and comes back as events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import msgspec

from shipmate.errors import ModelAuthError
from shipmate.models.failure import explain
from shipmate.models.port import Finish, ModelEvent, ModelRequest, ReasoningEnd, ToolCall
from shipmate.models.price import find_cost
from shipmate.models.to_model import messages_of
from shipmate.models.wire.answer_stream import read_answer
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.model_endpoint import Endpoint, join_path
from shipmate.models.wire.provider_fault import read_refusal
from shipmate.models.wire.wire import AnswerReader, Wire, WireError, WireSettings
from shipmate.values.message import JsonObject
from shipmate.workspace.secret.setting import address_secrets

REFUSAL_LIMIT = 65_536


class WireModel:
    """One model of one provider, spoken to directly."""

    def __init__(
        self, wire: Wire, settings: WireSettings, endpoint: Endpoint, client: HttpClient | None = None
    ) -> None:
        self._wire = wire
        self._settings = settings
        self._endpoint = endpoint
        self._client = client or HttpClient(endpoint.environ, endpoint.patience)
        self._secrets = [endpoint.key, *endpoint.headers.values(), *address_secrets(endpoint.base_url)]

    @property
    def name(self) -> str:
        """Return the provider's and the model's name."""
        return f"{self._settings.provider}:{self._settings.model}"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request; trouble is raised as a `ModelError`."""
        if self._endpoint.lacks:
            raise ModelAuthError(self._endpoint.lacks)
        begun = False
        try:
            async with aclosing(self._ask(request)) as events:
                async for event in events:
                    begun = True
                    yield self._sign(event)
        except (WireError, HttpFault) as fault:
            raise explain(fault, self.name, self._secrets, begun=begun) from None

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._client.close()

    async def _ask(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        reader = self._make_reader(request)
        try:
            async with aclosing(self._receive(request, reader)) as events:
                async for event in events:
                    yield event
        except (HttpFault, WireError):
            # What was held back was said all the same.
            for event in reader.release():
                yield event
            raise

    def _make_reader(self, request: ModelRequest) -> AnswerReader:
        reader = self._wire.reader(self._settings)
        if words := _list_stops(request):
            from shipmate.models.wire.stop_reader import StopReader

            reader = StopReader(reader, words)
        if self._settings.text_calls and request.tools:
            from shipmate.models.wire.text_call_reader import TextCallReader

            reader = TextCallReader(reader, request.tools)
        return reader

    async def _receive(self, request: ModelRequest, reader: AnswerReader) -> AsyncGenerator[ModelEvent]:
        async with self._client.send(
            "POST",
            join_path(self._endpoint.base_url, self._wire.path(self._settings)),
            headers=self._write_headers(),
            content=self.write_body(request),
            may_repeat=True,
        ) as answer:
            if answer.status >= 300:
                body = await answer.read(REFUSAL_LIMIT, cut=True)
                raise read_refusal(answer.status, answer.headers, body)
            async with aclosing(read_answer(answer, reader)) as events:
                async for event in events:
                    yield event
            # Before the end is told, for whoever hears it leaves.
            await answer.rest()
            for event in reader.close():
                yield event

    def _write_headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "user-agent": "shipmate",
        }
        return {**headers, **self._wire.headers(self._endpoint.key), **self._endpoint.headers}

    def write_body(self, request: ModelRequest) -> bytes:
        """Return the bytes that a request is sent as."""
        messages = messages_of(request, self.name)
        return msgspec.json.encode(self._wire.body(request, messages, self._settings))

    def _sign(self, event: ModelEvent) -> ModelEvent:
        if isinstance(event, ReasoningEnd | ToolCall) and event.signature:
            signature: JsonObject = {**event.signature, "by": self.name}
            return msgspec.structs.replace(event, signature=signature)
        return self._price(event) if isinstance(event, Finish) else event

    def _price(self, finish: Finish) -> Finish:
        usage = finish.usage
        if usage.cost is None:
            cost = find_cost(self._settings.provider, self._settings.model, usage)
            usage = msgspec.structs.replace(usage, cost=cost)
        return msgspec.structs.replace(finish, usage=usage, model=self.name)


def _list_stops(request: ModelRequest) -> list[str]:
    stop = request.sampling.get("stop")
    given = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    return [word for word in given if isinstance(word, str) and word]
