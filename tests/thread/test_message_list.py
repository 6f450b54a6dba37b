from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.thread.message_list import AT_HAND, BLOCK, MessageList
from shipmate.values.message import UIMessage, text_of, user_message
from tests.support.search import examples

SIZE = AT_HAND + 4 * BLOCK + 30


def make(size: int) -> list[UIMessage]:
    return [user_message(f"m{number}", f"话 {number}") for number in range(size)]


def packed(size: int = SIZE) -> tuple[MessageList, list[UIMessage]]:
    plain = make(size)
    found = MessageList()
    for message in plain:
        found.append(message)
    found.pack(size)
    return found, plain


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, SIZE), st.integers(0, SIZE), st.sampled_from([1, 2, -1, -7]))
def test_a_packed_list_is_read_as_any_other(start: int, stop: int, step: int) -> None:
    found, plain = PACKED
    assert found[start:stop] == plain[start:stop]
    assert found[start:stop:step] == plain[start:stop:step]
    assert found.place_of(f"m{start}") == (start if start < SIZE else None)
    assert found[-1 - start % SIZE] is not None


PACKED = packed()


def test_packed_messages_are_found_replaced_and_gone_through() -> None:
    found, plain = packed()
    assert list(found) == plain
    assert list(reversed(found)) == plain[::-1]
    assert found.place_of("none") is None
    place = BLOCK + 7
    changed = user_message(f"m{place}", "changed")
    found.replace(place, changed)
    assert text_of(found[place]) == "changed"
    # Another block is unpacked in between.
    assert text_of(found[2 * BLOCK]) == f"话 {2 * BLOCK}"
    assert found[place] == changed
    found.append(user_message("last", "x"))
    found.pack(len(found))
    assert (found.place_of("last"), len(found)) == (SIZE, SIZE + 1)
