"""Everything that leaves beside a member's words is said in both languages, with the same places."""

from __future__ import annotations

from shipmate.delivery.delivery_wording import FOLDER
from shipmate.values.saying import PLACE, load_sayings


def test_both_languages_say_the_same_things() -> None:
    english, chinese = (load_sayings(FOLDER, language) for language in ("en", "zh"))
    assert english.keys() == chinese.keys()
    assert {key: set(PLACE.findall(words)) for key, words in english.items()} == {
        key: set(PLACE.findall(words)) for key, words in chinese.items()
    }
