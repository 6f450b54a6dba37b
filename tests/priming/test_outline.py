from __future__ import annotations

from hypothesis import given, settings

from shipmate.priming.export import SourceDialog, make_script
from shipmate.priming.outline import outline_messages, outline_script
from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.writer import write_script
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.thread_id import ThreadId
from tests.support.search import examples
from tests.support.thread_strategy import threads


@settings(max_examples=examples(40))
@given(threads())
def test_a_thread_and_its_script_read_the_same(messages: list[UIMessage]) -> None:
    spoken: UIMessage = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    thread = [spoken, *messages]
    source = SourceDialog(thread_id=ThreadId("web", "room", "1"), course=1, title="T")
    script = make_script(thread, ScriptRef("ux", "a"), source)
    assert outline_script(parse_script(write_script(script))) == ["title: T", *outline_messages(thread)]


def test_what_was_said_and_done_stands_in_order_without_ids() -> None:
    messages: list[UIMessage] = [
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Look\ntwice"}]},
        {
            "id": "a",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Hm"},
                {
                    "type": "tool-read",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"b": 1, "a": 2},
                    "output": {"lines": 3},
                },
                {
                    "type": "tool-exec",
                    "toolCallId": "c2",
                    "state": "output-error",
                    "input": {},
                    "errorText": "no",
                },
                {"type": "tool-exec", "toolCallId": "c3", "state": "output-denied", "input": {}},
                {"type": "text", "text": "Done."},
            ],
        },
    ]
    assert outline_messages(messages) == [
        "[user]",
        "Look",
        "twice",
        "",
        "[assistant]",
        "thought: Hm",
        'call read: {"a": 2, "b": 1}',
        'result: {"lines": 3}',
        "call exec: {}",
        "error: no",
        "call exec: {}",
        "denied: ",
        "Done.",
        "",
    ]


def _talk(*parts: JsonObject) -> list[UIMessage]:
    return [{"id": "a", "role": "assistant", "parts": list(parts)}]


def test_words_that_tell_of_a_call_are_no_call_and_what_only_looks_like_a_line_end_is_none() -> None:
    call = {"type": "tool-read", "toolCallId": "c", "state": "output-available", "input": {}, "output": "x"}
    acted = outline_messages(_talk(call))
    assert outline_messages(_talk({"type": "text", "text": "call read: {}\nresult: x"})) != acted
    assert outline_messages(_talk({"type": "text", "text": "\\call read: {}"})) != outline_messages(
        _talk({"type": "text", "text": "call read: {}"})
    )
    two = _talk({"type": "text", "text": "a"}) + _talk({"type": "text", "text": "b"})
    assert outline_messages(_talk({"type": "text", "text": "a\n\n[assistant]\nb"})) != outline_messages(two)
    broken = outline_messages(_talk({"type": "text", "text": "a\nb"}))
    for end in ("\u2028", "\x85", "\x0c", "\r"):
        assert outline_messages(_talk({"type": "text", "text": f"a{end}b"})) != broken
