"""Check that the configured models can be used, and ask them when that is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shipmate.errors import ModelError, ShipmateError
from shipmate.models.catalog import ALIASES, PROVIDERS
from shipmate.models.choose import choose_model, find_idle, find_overlooked, name_model
from shipmate.models.relay import close_model
from shipmate.models.selection.probe import Measured, ask_once, is_right_call
from shipmate.models.selection.source import find_source
from shipmate.models.wire.client import is_sendable
from shipmate.workspace.config import Llm
from shipmate.workspace.finding import Finding


def findings(llm: Llm, environ: Mapping[str, str]) -> list[Finding]:
    """Say which model is configured, what it lacks, and which keys nothing uses; nobody is asked."""
    overlooked = [Finding("warn", "model", *line.split(": ", 1)) for line in find_overlooked(llm, environ)]
    return [*overlooked, *find_doubled(environ), _find_one(llm, environ), *_find_others(llm, environ)]


def _find_others(llm: Llm, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Name the keys that are there for other models."""
    if idle := find_idle(llm, environ):
        named = ", ".join(f"{key} ({name})" for key, name in idle)
        yield Finding("ok", "keys", f"not used, as another model is chosen: {named}; /model switches")


def find_doubled(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Name keys of one provider that hold different values: only the first is used."""
    for name, entry in PROVIDERS.items():
        held = [key for key in entry.keys if environ.get(key)]
        if name in ("openai-responses", "azure-responses") or len({environ[key] for key in held}) < 2:
            continue
        others = " and ".join(held[1:])
        yield Finding(
            "warn",
            "model",
            f"{held[0]} and {others} differ; {name} gets {held[0]}",
            f"unset {others} or make them equal",
        )


async def ask_live(llm: Llm, environ: Mapping[str, str]) -> list[Finding]:
    """Ask the model one question, and for one call of a tool; say what was measured."""
    name, lacks = name_model(llm, environ)
    if lacks or name == "rehearsal":
        return []
    model = choose_model(llm, environ)
    try:
        told = [Finding("ok", "model", _describe(await ask_once(model)))]
        called = await ask_once(model, with_tool=True)
        return [*told, _judge(called)]
    except ModelError as error:
        return [
            Finding("error", "model", f"asked, and {error}", "Mend `llm` in ship.json, or `shipmate model`.")
        ]
    except ShipmateError as error:
        return [Finding("error", "model", f"{name} cannot be asked: {error}")]
    finally:
        await close_model(model)


def _judge(called: Measured) -> Finding:
    if is_right_call(called):
        return Finding("ok", "model tools", f"asked for one call, {called.model} made it rightly")
    made = f"{len(called.calls)} calls" if called.calls else f"none, and said {called.reply[:60]!r}"
    return Finding(
        "warn",
        "model tools",
        f"asked for one call, {called.model} made {made}",
        "it may not be able to use tools; try another model, or llm.textCalls",
    )


def _describe(measured: Measured) -> str:
    usage = measured.usage
    times = f"first byte after {measured.first_ms} ms, whole after {measured.total_ms} ms"
    return f"{measured.model} answered: {times}, {usage.input_tokens} tokens in, {usage.output_tokens} out"


def _find_one(llm: Llm, environ: Mapping[str, str]) -> Finding:
    name, lacks = name_model(llm, environ)
    if lacks:
        fix = "Choose one with `shipmate model`, or mend `llm` in ship.json; docs/models.md shows how."
        return Finding("error", "model", lacks, fix)
    provider = name.partition(":")[0]
    if provider == "rehearsal":
        fix = "Choose one with `shipmate model`, set a key such as ANTHROPIC_API_KEY, or start Ollama."
        return Finding("warn", "model", "the built-in rehearsal model answers; it is no AI", fix)
    entry = PROVIDERS[ALIASES.get(provider, provider)]
    key = find_source(ALIASES.get(provider, provider), environ, llm.api_key).key
    if entry.keys and not entry.is_keyless and not llm.base_url and not key:
        return Finding("error", "model", f"{name} has no key", f"Set {entry.keys[0]} or llm.apiKey.")
    if key and not is_sendable(key):
        place = next((each for each in entry.keys if environ.get(each, "").strip() == key), "llm.apiKey")
        problem = f"{name} cannot be asked: {place} holds characters that cannot be sent"
        return Finding("error", "model", problem, f"Set {place} to the key alone, or run `shipmate model`.")
    return Finding("ok", "model", f"{name} is configured; not asked (doctor --live asks it)")
