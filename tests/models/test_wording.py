"""What people are told of trouble at a model is said in their language."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import ModelStreamError
from shipmate.models.failure import STATUS, WAY, explain, in_short
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire import WireError
from shipmate.models.wording import FOLDER, say
from shipmate.orchestrator import run_wording as run_words
from shipmate.values.saying import PLACE, load_sayings, tell, tell_error

SECRET = "sk-secret-0123456789"
FAULTS = [
    *(HttpFault(kind, say("ended", host="h")) for kind in WAY),
    *(WireError("over", status=status) for status in (*STATUS, 400, 404, 500)),
    WireError("later", status=429, retry_after=90_000),
    WireError(code="broken-off"),
]


@pytest.mark.parametrize("folder", [FOLDER, run_words.FOLDER], ids=["models", "orchestrator"])
def test_both_languages_say_the_same_things(folder: Path) -> None:
    english, chinese = load_sayings(folder, "en"), load_sayings(folder, "zh")
    assert list(english) == list(chinese)
    for key, words in english.items():
        assert sorted(set(PLACE.findall(words))) == sorted(set(PLACE.findall(chinese[key]))), key


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{getattr(fault, 'kind', '')}{fault.args}"[:30])
def test_trouble_is_told_in_each_language_and_without_its_advice_while_it_is_mended(
    fault: WireError | HttpFault, *, begun: bool
) -> None:
    error = explain(fault, "openai:m", [], begun=begun)
    english, chinese = str(error), tell_error(error, "zh")
    assert english == tell_error(error, "en")
    assert english.isascii() or "“" in english
    assert chinese.startswith("openai:m ")
    assert chinese.endswith(("。", "`。"))
    assert not any(word in chinese for word in ("the ", "Send", "Check", "Set "))
    assert english.startswith(str(in_short(error)).removesuffix("."))
    assert chinese.startswith(tell(in_short(error), "zh"))
    assert chinese != tell(in_short(error), "zh")


def test_a_providers_own_words_stay_and_its_secrets_go_in_every_language() -> None:
    error = explain(WireError(f"bad key {SECRET}", status=401), "openai:m", [SECRET], begun=False)
    assert SECRET not in tell_error(error, "zh")
    assert "bad key" in tell_error(error, "zh")
    inside = explain(HttpFault("cut", say("ended", host=SECRET)), "openai:m", [SECRET], begun=False)
    assert SECRET not in str(inside) + tell_error(inside, "zh")


def test_an_error_nobody_put_into_words_is_told_as_it_is() -> None:
    assert tell_error(ModelStreamError("plain"), "zh") == "plain"
