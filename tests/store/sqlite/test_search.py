"""Words are found in any language, and each message once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.store.sqlite.database import Database
from shipmate.store.sqlite.search import SearchTable
from shipmate.values.message import user_message
from tests.support.search import examples

ROOM = "web:room:1"


@pytest.fixture
def table() -> Iterator[SearchTable]:
    database = Database(None)
    yield SearchTable(database)
    database.close()


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("今天天气很好", "天气", True),
        ("今天天气很好", "天好", False),
        ("今天天气很好", "好", True),
        ("今天天气很好", "今天天气", True),
        ("Use git status_x here", "status_x", True),
        ("Use git status here", "GIT stat", True),
        ("部署 deploy 完成", "deploy 完成", True),
        ("日本語のテスト", "テスト", True),
        ("plain", '" OR *', False),
    ],
)
def test_words_are_found_in_any_language(table: SearchTable, text: str, query: str, *, found: bool) -> None:
    table.put(ROOM, [user_message("m1", text)])
    assert [hit.message_id for hit in table.find(query)] == (["m1"] if found else [])


def test_a_grown_message_is_found_by_its_new_words_and_once(table: SearchTable) -> None:
    table.put(ROOM, [user_message("m1", "first draft")])
    table.put(ROOM, [user_message("m1", "first draft and ending")])
    assert len(table.find("draft")) == 1
    assert len(table.find("ending")) == 1
    table.drop(ROOM)
    assert table.find("draft") == []


def test_a_thread_that_is_replaced_has_its_new_messages_alone(table: SearchTable) -> None:
    table.put(ROOM, [user_message("m1", "tea"), user_message("m2", "coffee"), user_message("m3", "milk")])
    table.replace(ROOM, [user_message("m1", "tea"), user_message("m2", "water")])
    found = {
        word: [hit.message_id for hit in table.find(word)] for word in ("tea", "coffee", "milk", "water")
    }
    assert found == {"tea": ["m1"], "coffee": [], "milk": [], "water": ["m2"]}


@settings(max_examples=examples(100))
@given(st.text(max_size=40))
def test_no_query_breaks_the_search(query: str) -> None:
    database = Database(None)
    table = SearchTable(database)
    table.put(ROOM, [user_message("m1", "anything 任何 " + query)])
    assert isinstance(table.find(query), list)
    database.close()


@given(st.text("你好世界天气", min_size=2, max_size=12), st.data())
def test_every_chinese_substring_is_found(text: str, data: st.DataObject) -> None:
    database = Database(None)
    table = SearchTable(database)
    table.put(ROOM, [user_message("m1", text)])
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert len(table.find(text[start:end])) == 1
    database.close()
