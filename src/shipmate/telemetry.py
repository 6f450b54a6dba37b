"""Traces and metrics for a collector, by the variables and the GenAI conventions of OpenTelemetry.

While no variable names a collector nothing is loaded and nothing is measured. Names, counts and times are
told: no words of people or models, no arguments, no results.
"""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from shipmate import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue

log = logging.getLogger(__name__)

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = ("TRACES", "METRICS")
# So long the end of a process waits for a collector.
END_SECONDS = 3.0
PROTOCOL = "http/protobuf"
# What the conventions call providers, where that is not what they are called here.
PROVIDERS = {
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
# The buckets the conventions advise.
TOKEN_BUCKETS = [4.0**power for power in range(14)]
SECOND_BUCKETS = [0.01 * 2**power for power in range(14)]
Attributes = dict[str, "AttributeValue"]


class CountedTokens(Protocol):
    """What one request used."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...


class Collector:
    """Where traces and metrics go."""

    def __init__(self, tracing: TracerProvider, metering: MeterProvider) -> None:
        self._providers = tracing, metering
        self.tracer = tracing.get_tracer("shipmate", __version__)
        meter = metering.get_meter("shipmate", __version__)
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens in and out",
            explicit_bucket_boundaries_advisory=TOKEN_BUCKETS,
        )
        self.seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="How long models, tools and turns take",
            explicit_bucket_boundaries_advisory=SECOND_BUCKETS,
        )

        # Waits to send what is left: at the exit no thread can be begun any more.
        self._ending = Event()
        self._sender = Thread(target=self._send_rest, name="telemetry", daemon=True)
        self._sender.start()
        atexit.register(self.end)

    def end(self) -> None:
        """Send what is left; a collector that does not answer is not waited for."""
        atexit.unregister(self.end)
        self._ending.set()
        self._sender.join(END_SECONDS)

    def _send_rest(self) -> None:
        self._ending.wait()
        for provider in self._providers:
            provider.shutdown()


class RequestWatch:
    """One thing that is being done."""

    def __init__(self, collector: Collector | None, span: Span | None, attributes: Attributes) -> None:
        self._collector = collector
        self._span = span
        self._attributes = attributes

    def finish(self, model: str, reason: str, used: CountedTokens) -> None:
        """Tell how a model's answer ended, and what it used."""
        if self._collector is None or self._span is None:
            return
        counts = {"input": used.input_tokens, "output": used.output_tokens}
        answered = {"gen_ai.response.model": model.partition(":")[2] or model} if model else {}
        told: Attributes = {
            **answered,
            "gen_ai.response.finish_reasons": [reason],
            "gen_ai.usage.input_tokens": used.input_tokens,
            "gen_ai.usage.output_tokens": used.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": used.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": used.cache_write_tokens,
        }
        self._span.set_attributes(told)
        for kind, count in counts.items():
            self._collector.tokens.record(count, {**self._attributes, **answered, "gen_ai.token.type": kind})


NOTHING = RequestWatch(None, None, {})


@contextmanager
def watch_run(member_id: str, name: str, thread_id: str) -> Generator[None]:
    """RequestWatch a turn of a member; what it does within it belongs to it."""
    collector = find_collector()
    if collector is None:
        yield
        return
    known: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    more: Attributes = {"gen_ai.agent.id": member_id, "gen_ai.conversation.id": thread_id}
    with _spanning(collector, f"invoke_agent {name}", known, more, is_parent=True):
        yield


@contextmanager
def watch_tool(name: str, call_id: str) -> Generator[None]:
    """RequestWatch the run of a tool."""
    collector = find_collector()
    if collector is None:
        yield
        return
    known: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    more: Attributes = {"gen_ai.tool.call.id": call_id, "gen_ai.tool.type": "function"}
    with _spanning(collector, f"execute_tool {name}", known, more, is_parent=True):
        yield


@contextmanager
def watch_model(model: str, thread_id: str) -> Generator[RequestWatch]:
    """RequestWatch one request to a model, from within a generator too."""
    collector = find_collector()
    if collector is None:
        yield NOTHING
        return
    provider, _, name = model.partition(":")
    known: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider),
        "gen_ai.request.model": name or model,
    }
    more: Attributes = {"gen_ai.conversation.id": thread_id} if thread_id else {}
    with _spanning(collector, f"chat {name or model}", known, more, is_parent=False) as span:
        yield RequestWatch(collector, span, known)


@contextmanager
def _spanning(
    collector: Collector, title: str, known: Attributes, more: Attributes, *, is_parent: bool
) -> Generator[Span]:
    """Span a block; `known` are the few values that metrics are kept apart by as well."""
    from opentelemetry import context
    from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context

    kind = SpanKind.INTERNAL if is_parent else SpanKind.CLIENT
    span = collector.tracer.start_span(title, kind=kind, attributes={**known, **more})
    token = context.attach(set_span_in_context(span)) if is_parent else None
    began, trouble = time.perf_counter(), {}
    try:
        yield span
    except BaseException as error:
        # The kind alone: messages may repeat what people said. Who leaves a generator early meant to.
        if not isinstance(error, GeneratorExit):
            trouble = {"error.type": type(error).__name__}
            span.set_attributes(trouble)
            span.set_status(StatusCode.ERROR)
        raise
    finally:
        if token is not None:
            context.detach(token)
        span.end()
        collector.seconds.record(time.perf_counter() - began, {**known, **trouble})


@cache
def find_collector() -> Collector | None:
    """Return where to tell what is done; None while no variable names it."""
    if not is_wanted(os.environ):
        return None
    if trouble := find_trouble(os.environ):
        log.warning("OpenTelemetry: %s.", trouble)
        return None
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # What the variables say of the service counts before what is said here.
    is_named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    known = {"service.version": __version__} | ({} if is_named else {"service.name": "shipmate"})
    resource = Resource.create(known)
    # Each try of a collector that is away is told nobody; that it stays away is an error.
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
    if _exports(os.environ, "TRACES"):
        tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if _exports(os.environ, "METRICS") else []
    metering = MeterProvider(resource=resource, metric_readers=readers, shutdown_on_exit=False)
    return Collector(tracing, metering)


def end_telemetry() -> None:
    """Send what is left, and look at the variables anew when something is watched again."""
    collector = find_collector()
    find_collector.cache_clear()
    if collector is not None:
        collector.end()


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether the variables name a collector."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not is_off and any(_exports(environ, signal) for signal in SIGNALS)


def _exports(environ: Mapping[str, str], signal: str) -> bool:
    named = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or environ.get(ENDPOINT)
    return bool(named) and environ.get(f"OTEL_{signal}_EXPORTER", "otlp").strip() == "otlp"


def find_trouble(environ: Mapping[str, str]) -> str:
    """Return why nothing can be told although a collector is named; nothing when all is well."""
    from importlib.util import find_spec

    said = [environ.get(f"OTEL_EXPORTER_OTLP_{each}PROTOCOL") for each in ("", "TRACES_", "METRICS_")]
    if any(each and each != PROTOCOL for each in said):
        return f"no other protocol than {PROTOCOL} is spoken. Set OTEL_EXPORTER_OTLP_PROTOCOL to it"
    try:
        found = all(find_spec(f"opentelemetry.{each}") for each in ("sdk", "exporter.otlp.proto.http"))
    except ModuleNotFoundError:
        found = False
    if not found:
        return f"{ENDPOINT} is set, but the extra is missing. Run `pip install 'shipmate[otel]'`"
    return ""
