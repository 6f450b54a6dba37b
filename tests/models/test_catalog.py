from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from shipmate.models.catalog import PROVIDERS
from shipmate.models.choose import choose_model
from shipmate.workspace.config import Llm

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_the_page_names_every_provider_with_its_key_and_first_model() -> None:
    for name, entry in PROVIDERS.items():
        assert f"`{name}`" in PAGE
        if entry.model:
            row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}`"))
            assert f"`{entry.keys[0]}`" in row
            assert f"`{entry.model}`" in row
            assert entry.wire is not None or f"pip install '{entry.extra}'" in row


def test_every_provider_that_a_wire_speaks_has_an_address_or_asks_for_one() -> None:
    own_server = {"litellm", "ollama", "openai-compatible", "vllm"}
    assert {name for name, entry in PROVIDERS.items() if entry.wire and not entry.home} == own_server
    assert all(entry.home.startswith("https://") for entry in PROVIDERS.values() if entry.home and entry.keys)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_of_the_page_can_be_used(example: dict[str, object]) -> None:
    llm = msgspec.convert(example["llm"], Llm)
    assert choose_model(llm, {"OLLAMA_HOST": "127.0.0.1:1"}).name.startswith(f"{llm.provider}:")
