"""Whatever comes from Feishu is read, or passed over: what broke here would be delivered again and again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from shipmate.adapters.feishu.feishu_event import read_click, read_message, read_recall
from tests.support.feishu_platform import BOT, FeishuPlatform, walk
from tests.support.search import examples

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
ODD = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("tag", "text", "key", "id", "open_id", "x")), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = (
    "event",
    "message",
    "sender",
    "sender_id",
    "mentions",
    "content",
    "message_id",
    "chat_id",
    "thread_id",
)
CLICKS = ("action", "value", "context", "operator", "open_message_id", "thread", "data")


@settings(max_examples=examples(50))
@given(ODD, st.sampled_from((*KEYS, *CLICKS, "create_time", "header", "message_type")))
@example({"a": 1}, "content")
@example("[" * 100_000, "content")
@example(5, "mentions")
def test_whatever_comes_is_read_or_passed_over(odd: Any, place: str) -> None:
    platform = FeishuPlatform()
    mentions: list[Any] = [odd, {"key": "@_user_1", "id": odd, "name": odd}]
    value = {"thread": "feishu:dm:oc_1", "data": "d:x"}
    click = {"action": {"value": value}, "context": {"open_message_id": "om_1", "open_chat_id": "oc_1"}}
    for payload in (
        platform.say("@_user_1 hi", mentions=mentions),
        platform.message("post", {"content": [[{"tag": "text", "text": odd}, odd], odd]}),
        platform.message("post", {"content": odd, "title": odd}),
        platform.message("file", {"file_key": odd, "file_name": odd}),
        platform.event("card.action.trigger", {**click, "operator": {"open_id": "ou_1"}}),
        platform.recall("om_1"),
    ):
        for each in walk(payload):
            if place in each:
                each[place] = odd
        for found in (read_message("feishu", payload, BOT), read_click("feishu", payload)):
            assert found is None or found.message_id
        read_recall(json.loads(json.dumps(payload)))
