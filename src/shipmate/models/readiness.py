"""Check that the configured models can be used, without asking them anything."""

from __future__ import annotations

from collections.abc import Mapping

from shipmate.models.catalog import PROVIDERS
from shipmate.models.choose import find_overlooked, name_model
from shipmate.workspace.config import Llm
from shipmate.workspace.finding import Finding


def findings(llm: Llm, environ: Mapping[str, str]) -> list[Finding]:
    """Say which model would answer, and what it lacks."""
    overlooked = [Finding("warn", "model", *line.split(": ", 1)) for line in find_overlooked(llm, environ)]
    return [*overlooked, _find_one(llm, environ)]


def _find_one(llm: Llm, environ: Mapping[str, str]) -> Finding:
    name, lacks = name_model(llm, environ)
    if lacks:
        return Finding("error", "model", lacks, "Mend `llm` in ship.json; docs/models.md shows how.")
    provider = name.partition(":")[0]
    if provider == "rehearsal":
        fix = "Set a key such as ANTHROPIC_API_KEY, start Ollama, or choose a model in ship.json."
        return Finding("warn", "model", "the built-in rehearsal model answers; it is no AI", fix)
    keys = () if PROVIDERS[provider].is_keyless else PROVIDERS[provider].keys
    if keys and not llm.api_key and not llm.base_url and not any(environ.get(key) for key in keys):
        return Finding("error", "model", f"{name} has no key", f"Set {keys[0]} or llm.apiKey.")
    return Finding("ok", "model", f"{name} answers")
