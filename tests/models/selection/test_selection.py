from __future__ import annotations

from typing import Any

import pytest

from shipmate.errors import ConfigError, UserError
from shipmate.models.selection.selection import SelectedModel, join_settings, plan_selection, read_selection
from shipmate.workspace.config import Config, Llm
from shipmate.workspace.environ import Environ
from shipmate.workspace.load import Loaded
from shipmate.workspace.secret.secret import Mask


def loaded(llm: Llm | None = None, process: Any = None, file: Any = None) -> Loaded:
    environ = Environ(process or {}, file or {})
    return Loaded(config=Config(llm=llm or Llm()), environ=environ, findings=[], mask=Mask(()))


def test_a_typed_key_counts_with_what_stands_in_env() -> None:
    """The address of .env holds for a key that is going to stand there (U11)."""
    known = loaded(file={"OPENAI_BASE_URL": "http://own.example/v1"})
    plan = plan_selection(SelectedModel(provider="openai", model="m", key="sk-typed-1"), known)
    assert plan.variable == "OPENAI_API_KEY"
    assert plan.stated == {"provider": "openai", "model": "m", "apiKey": "${OPENAI_API_KEY}"}
    assert dict(plan.environ)["OPENAI_API_KEY"] == "sk-typed-1"


def test_a_key_that_is_there_is_named_by_its_variable() -> None:
    known = loaded(process={"GOOGLE_API_KEY": "sk-there-1"})
    plan = plan_selection(SelectedModel(provider="google", model="m"), known)
    assert plan.stated["apiKey"] == "${GOOGLE_API_KEY}"
    assert plan.variable is None


def test_a_stored_key_is_for_its_own_address() -> None:
    known = loaded(process={"OPENAI_API_KEY": "sk-there-1"})
    wanted = SelectedModel(provider="openai", model="m", base_url="http://other.example/v1")
    with pytest.raises(ConfigError, match="Nothing was sent"):
        plan_selection(wanted, known)


@pytest.mark.parametrize(
    ("before", "stated", "is_fresh", "kept"),
    [
        (
            {"provider": "openai", "model": "a", "apiKey": "k", "baseUrl": "u"},
            {},
            False,
            {"apiKey", "baseUrl"},
        ),
        ({"provider": "openai", "model": "a", "contextWindow": 4096}, {}, False, set[str]()),
        ({"provider": "openai", "model": "a", "apiKey": "k", "baseUrl": "u"}, {}, True, set[str]()),
        ({"provider": "google", "apiKey": "k", "fallback": [], "topP": 1}, {}, False, {"fallback", "topP"}),
        ({"provider": "openai-chat", "apiKey": "k"}, {"baseUrl": "new"}, False, set[str]()),
    ],
)
def test_what_belongs_to_the_model_before_goes(
    before: dict[str, Any], stated: dict[str, Any], is_fresh: bool, kept: set[str]
) -> None:
    chosen = {"provider": "openai", "model": "b", **stated}
    joined = join_settings(before, chosen, is_fresh=is_fresh)
    assert {key: joined[key] for key in chosen} == chosen
    assert set(joined) - set(chosen) == kept


def test_a_provider_that_is_not_known_is_named_unless_it_looks_like_a_key() -> None:
    with pytest.raises(UserError, match="Did you mean 'openai'"):
        read_selection("opnai:x")
    with pytest.raises(UserError) as caught:
        read_selection("sk-abcdefghijklmnop1234")
    assert "abcdefghijklmnop" not in str(caught.value)
