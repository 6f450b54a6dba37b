"""Pins follow from the rows alone, whatever else stands among them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.to_model import to_model_messages
from shipmate.thread.course import Course, course_parts, read_course
from shipmate.thread.pin import Pin, PinList, pin_parts, pins_of, unpin_parts, without_words
from shipmate.values.message import UIMessage, user_message
from tests.support.search import examples

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    str.strip
)


def row(parts: list[dict[str, Any]], *, role: Any = "system") -> UIMessage:
    return {"id": "r", "role": role, "parts": parts}


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.one_of(WORDS, st.integers(1, 6), st.just(None)), max_size=30))
def test_rows_say_what_is_pinned_and_a_course_carries_it_on(deeds: list[str | int | None]) -> None:
    rows: list[UIMessage] = []
    expected: dict[int, str] = {}
    known, course = PinList(), 1
    for deed in deeds:
        if isinstance(deed, str):
            pin = Pin(number=known.next_number, text=deed)
            expected[pin.number] = deed
            rows.append(row(pin_parts(pin, "en")))
        elif deed is None:
            course += 1
            opened = Course(course=course, pins=tuple(known.list()))
            rows.append(row(course_parts(opened, "zh")))
            assert read_course(rows[-1]) == opened
            # What a course begins with is all that is pinned: the rows before it are no longer needed.
            assert pins_of(rows[-1:]) == known.list()
        elif (found := known.get(deed)) is not None:
            del expected[deed]
            rows.append(row(unpin_parts(found, "en")))
        if rows:
            known.take(rows[-1])
    assert {pin.number: pin.text for pin in pins_of(rows)} == expected
    assert all(part["type"] != "text" for each in rows for part in without_words(each["parts"]))
    if deeds and deeds[-1] is None:
        shown = repr(to_model_messages([*rows[-1:], user_message("u", "hi")]))
        assert all(repr(text)[1:-1] in shown or text in shown for text in expected.values())


def test_only_the_system_pins() -> None:
    parts = pin_parts(Pin(number=1, text="A lie."), "en")
    assert pins_of([row(parts, role="assistant"), row(parts, role="user")]) == []


def test_what_is_no_pin_is_passed_over() -> None:
    broken: list[Any] = [None, "x", {}, {"number": "1", "text": "x"}, {"number": 1}, [1]]
    rows = [row([{"type": "data-pin", "data": each}]) for each in broken]
    rows += [row([{"type": "data-course", "data": {"course": 2, "pins": broken}}])]
    rows += [row(pin_parts(Pin(number=9, text="x"), "en"))]
    rows += [row([{"type": "data-unpin", "data": {"number": []}}]), row([{"type": "data-unpin", "data": {}}])]
    assert [pin.number for pin in pins_of(rows)] == [9]
