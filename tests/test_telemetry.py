"""Traces and metrics of a whole turn, at a collector on loopback that reads the real protobuf."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from shipmate.app import Shipmate
from shipmate.telemetry import end_telemetry, find_collector, find_trouble, is_wanted
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, ask_tools, refuse, say
from tests.support.workspace import said

KEY = "sk-harbour-71e2"
HEADER = "tok-collector-93ab"


class Received:
    """What a collector was sent."""

    def __init__(self) -> None:
        self.raw = b""
        self.paths: set[str] = set()
        self.headers: set[str | None] = set()
        self.all: list[Any] = []
        # The last of each name.
        self.spans: dict[str, Any] = {}
        self.metrics: dict[str, Any] = {}
        self.service = ""

    def take(self, path: str, data: bytes) -> None:
        self.raw += data
        self.paths.add(path)
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                self.service = attributes(resource.resource)["service.name"]
                spans = [span for scope in resource.scope_spans for span in scope.spans]
                self.all += spans
                self.spans |= {span.name: span for span in spans}
        else:
            for resource in ExportMetricsServiceRequest.FromString(data).resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics |= {metric.name: metric for metric in scope.metrics}


def attributes(thing: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in thing.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@contextmanager
def collecting() -> Generator[tuple[str, Received]]:
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            assert self.headers["content-type"] == "application/x-protobuf"
            received.headers.add(self.headers.get("x-token"))
            received.take(self.path, data)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_turn_with_a_fallback_and_a_tool_is_told_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Agent.md").write_text("# Ada\n")
    (tmp_path / "a.md").write_text("the secret rope")
    with collecting() as (collector, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-token={HEADER}")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=yard")
        end_telemetry()
        async with ProviderServer() as server:
            server.script(
                refuse(503, "busy with private matters"),
                ask_tools(Call("read", '{"path": "a.md"}', "call_7")),
                refuse(503, "busy"),
                say("The rope is blue."),
            )
            llm = {
                "provider": "openai-compatible",
                "baseUrl": f"{server.url}/v1",
                "apiKey": KEY,
                "maxRetries": 0,
            }
            chain = {**llm, "model": "first", "fallback": [{**llm, "model": "second"}]}
            (tmp_path / "ship.json").write_text(json.dumps({"llm": chain}))
            async with Shipmate.open(tmp_path, environ={}) as ship:
                outcome = await (await ship.receive(said("what colour is it?"))).outcome()
                used = await ship.store.ledger.usage("")
            assert outcome.status == "replied", outcome.error
            # A person sees with each step why another model answered.
            assert [(step.model, step.route.startswith("openai-compatible:first: ")) for step in used] == [
                *(("openai-compatible:second", True),) * 2
            ]
        end_telemetry()
    assert received.paths == {"/v1/traces", "/v1/metrics"}
    assert received.headers == {HEADER}
    assert received.service == "shipmate"
    turn, tool = received.spans["invoke_agent Ada"], received.spans["execute_tool read"]
    assert attributes(turn)["gen_ai.agent.name"] == "Ada"
    assert tool.parent_span_id == turn.span_id
    assert attributes(tool)["gen_ai.tool.call.id"] == "call_7"
    chats = [span for span in received.all if span.name.startswith("chat ")]
    chats.sort(key=lambda span: span.start_time_unix_nano)
    assert [span.name for span in chats] == ["chat first", "chat second"] * 2
    assert {span.parent_span_id for span in chats} == {turn.span_id}
    failed, answered = received.spans["chat first"], received.spans["chat second"]
    assert attributes(failed)["error.type"] == "ModelDownError"
    assert failed.status.code == 2
    told = attributes(answered)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "second"
    assert told["gen_ai.response.finish_reasons"] == ["stop"]
    assert told["gen_ai.usage.input_tokens"] > 0
    assert told["gen_ai.conversation.id"] == attributes(turn)["gen_ai.conversation.id"]
    points = received.metrics["gen_ai.client.token.usage"].histogram.data_points
    assert {attributes(point)["gen_ai.token.type"] for point in points} == {"input", "output"}
    spent = received.metrics["gen_ai.client.operation.duration"].histogram.data_points
    assert {attributes(point)["gen_ai.operation.name"] for point in spent} == {
        *("chat", "execute_tool", "invoke_agent"),
    }
    for secret in (KEY, HEADER, "rope", "colour", "private matters", "a.md"):
        assert secret.encode() not in received.raw, secret


def test_nothing_is_told_unless_a_variable_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    end_telemetry()
    assert find_collector() is None
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    assert is_wanted(named)
    assert is_wanted({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:9/v1/metrics"})
    assert not is_wanted({**named, "OTEL_SDK_DISABLED": "True"})
    assert not is_wanted({**named, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"})
    assert find_trouble(named) == ""
    assert "http/protobuf" in find_trouble({**named, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})

    def nowhere(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("importlib.util.find_spec", nowhere)
    assert "shipmate[otel]" in find_trouble(named)
