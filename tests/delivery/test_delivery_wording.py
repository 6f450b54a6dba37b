"""Everything that leaves beside a member's words is said in both languages, with the same places."""

from __future__ import annotations

from shipmate.delivery.compose import compose_answer
from shipmate.delivery.delivery_wording import FOLDER
from shipmate.orchestrator.loop import StepLimitError
from shipmate.values.event import AdapterCapabilities, Outcome
from shipmate.values.saying import PLACE, load_sayings


def test_both_languages_say_the_same_things() -> None:
    english, chinese = (load_sayings(FOLDER, language) for language in ("en", "zh"))
    assert english.keys() == chinese.keys()
    assert {key: set(PLACE.findall(words)) for key, words in english.items()} == {
        key: set(PLACE.findall(words)) for key, words in chinese.items()
    }


def test_what_went_wrong_is_said_in_the_chats_language() -> None:
    failed = Outcome(run_id="r", status="failed", error=str(StepLimitError()))
    told = {
        language: compose_answer("memory:dm:1", None, failed, AdapterCapabilities(), language)[-1].text
        for language in ("en", "zh")
    }
    assert told == {
        "en": f"⚠️ {StepLimitError()}",
        "zh": "⚠️ 已走了 30 步还没有答复，所以停下了。说“继续”让它接着做。",
    }
