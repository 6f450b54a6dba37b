"""What models leave in their words by mistake reaches nobody; code does as it is."""

from __future__ import annotations

import pytest

from shipmate.delivery.cleaning import clean


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<think>hm\n```\nx\n```\n</think>Hello.", "Hello."),
        ("Hello.<|im_end|>", "Hello."),
        ("Assistant: Hello.", "Hello."),
        ("助手：你好。", "你好。"),
        ('Hello.\n<tool_call>{"name": "x"}</tool_call>', "Hello."),
        ("Hello. <thinking>not done", "Hello."),
        ("one\n\n\n\n\ntwo", "one\n\ntwo"),
        (
            "Use `<think>` so:\n```\n<think>x</think>\n\n\n\n```",
            "Use `<think>` so:\n```\n<think>x</think>\n\n\n\n```",
        ),
        ("a < b and b > c", "a < b and b > c"),
        ("I think [that] is it.", "I think [that] is it."),
    ],
)
def test_artefacts_go_and_code_stays(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize("piece", ["<think", "<invoke ", "<|", "<s", "`", "\n ", "[INST"])
def test_no_words_take_long(piece: str) -> None:
    # What looked at all of it from each of its places would not be done today.
    assert clean(piece * 100_000) is not None
