from __future__ import annotations

import pytest

from shipmate.models.readiness import findings
from shipmate.workspace.config import Llm

NOBODY = {"OLLAMA_HOST": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("llm", "environ", "level", "words"),
    [
        (Llm(), NOBODY, "warn", "rehearsal"),
        (
            Llm(provider="openai", model="gpt-5.5", api_key="secret-key"),
            NOBODY,
            "ok",
            "openai:gpt-5.5 answers",
        ),
        (Llm(provider="openai"), NOBODY, "error", "has no key"),
        (Llm(provider="opnai"), NOBODY, "error", "Did you mean 'openai'"),
        (Llm(), {**NOBODY, "ANTHROPIC_API_KEY": "secret-key"}, "ok", "anthropic:"),
    ],
)
def test_says_how_the_model_stands(llm: Llm, environ: dict[str, str], level: str, words: str) -> None:
    (found,) = findings(llm, environ)
    assert found.level == level
    assert words in found.message
    assert "secret-key" not in f"{found.message} {found.fix}"
    assert level == "ok" or found.fix
