"""Thread ids are read, written and encoded as file names without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ThreadIdError
from shipmate.values.thread_id import ThreadId

words = st.from_regex(r"[a-z][a-z0-9_-]{0,10}", fullmatch=True)
printable = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=6)
ids = st.builds(
    ThreadId, words, words, printable.filter(lambda text: ":topic:" not in text), st.none() | printable
)


@given(ids)
def test_an_id_comes_back_from_its_text_and_from_its_file_name(thread_id: ThreadId) -> None:
    assert ThreadId.parse(str(thread_id)) == thread_id
    assert ThreadId.decode(thread_id.encode()) == thread_id


@given(ids, ids)
def test_different_ids_never_share_a_file_even_without_case(one: ThreadId, other: ThreadId) -> None:
    if one != other:
        assert one.encode().lower() != other.encode().lower()


@given(ids)
def test_a_file_name_is_plain_and_hides_no_path(thread_id: ThreadId) -> None:
    name = thread_id.encode()
    assert "/" not in name
    assert ":" not in name
    assert not name.startswith(".")
    assert name.isascii()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("telegram:dm:42", ThreadId("telegram", "dm", "42")),
        ("telegram:group:-100123:topic:7", ThreadId("telegram", "group", "-100123", "7")),
        ("web:room:a:b", ThreadId("web", "room", "a:b")),
    ],
)
def test_the_forms_of_the_documents_are_read(text: str, expected: ThreadId) -> None:
    assert ThreadId.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "web", "web:room", "web:room:", "Web:room:1", "web:room:\n", "web:room:" + "字" * 80]
)
def test_what_is_no_id_is_refused_with_words(text: str) -> None:
    with pytest.raises(ThreadIdError, match=r"\w"):
        ThreadId.parse(text)
