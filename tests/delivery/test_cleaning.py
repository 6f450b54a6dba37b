"""What models leave in their words by mistake reaches nobody; code does as it is."""

from __future__ import annotations

from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.delivery.cleaning import CleanChunks, CleanStream, clean, remove
from shipmate.values import chunk as chunks


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


PIECES = st.sampled_from(
    [
        *(
            "Hello. ",
            "a < b, ",
            "[that](x) ",
            "\n\n",
            "`<s>` ",
            "```\n<think>x</think>\n```\n",
            "<b>bold</b> ",
            "你好。",
        ),
        *(
            "<|im_end|>",
            "[/INST]",
            "</think>",
            "<think>hm ",
            "</s>",
            '<tool_call>{"a": 1}</tool_call>',
            "Assistant: ",
        ),
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(st.integers(1, 7), min_size=1))
def test_words_are_cleaned_while_they_are_written_as_when_they_are_whole(
    text: str, lengths: list[int]
) -> None:
    stream, told, rest = CleanStream(), "", text
    for length in cycle(lengths):
        if not rest:
            break
        told += stream.push(rest[:length])
        rest = rest[length:]
    assert told + stream.end() == remove(text)


def test_words_are_not_held_up() -> None:
    stream = CleanStream()
    assert [stream.push(each) for each in ("Look", ": a ", "< b, [x](y) <", "b>")] == [
        "Look",
        ": a ",
        "< b, [x](y) ",
        "<b>",
    ]
    message = [
        chunks.start("m", {}),
        chunks.text("text-start", "1"),
        chunks.text("text-delta", "1", "It is <thi"),
        chunks.text("text-delta", "1", "nk>a secret</think>done.<|im_"),
        chunks.text("text-end", "1"),
    ]
    told = [chunk.get("delta", chunk["type"]) for chunk in CleanChunks().take(message)]
    assert told == ["start", "text-start", "It is ", "done.", "<|im_", "text-end"]


@pytest.mark.parametrize("piece", ["<think", "<invoke ", "<|", "<s", "`", "\n ", "[INST"])
def test_no_words_take_long(piece: str) -> None:
    # What looked at all of it from each of its places would not be done today.
    assert clean(piece * 100_000) is not None
