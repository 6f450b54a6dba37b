"""Calls that a model wrote as text are found where the text is nothing else (point 4 of part 9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.models.port import (
    Finish,
    ModelEvent,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolSpec,
)
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import COMMON
from shipmate.models.wire.text_call import find_calls
from shipmate.models.wire.text_call_reader import TextCallReader, may_be_call
from shipmate.models.wire.wire import WireError

READ = {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}
TOOLS = {"read": READ, "write_file": {"type": "object"}, "ls": {"type": "object"}}
SPECS = [ToolSpec(name, name, schema) for name, schema in TOOLS.items()]
ONE = '{"name": "read", "arguments": {"path": "a.md"}}'
TWO = '{"name": "ls", "arguments": {}}'
A = ("read", {"path": "a.md"})
B = ("ls", {})

SHAPES = {
    "bare": (ONE, [A]),
    "blank around": (f"\n\n  {ONE}\n", [A]),
    "llama 3 parameters": ('{"name": "read", "parameters": {"path": "a.md"}}', [A]),
    "llama 3 several": (f"{ONE}; {TWO}", [A, B]),
    "llama 3 python tag": (f"<|python_tag|>{ONE}<|eom_id|>", [A]),
    "llama 3 function tag": ('<function=read>{"path": "a.md"}</function>', [A]),
    "llama 3.2 pythonic": ('[read(path="a.md"), ls()]', [A, B]),
    "list": (f"[{ONE}, {TWO}]", [A, B]),
    "lines": (f"{ONE}\n{TWO}", [A, B]),
    "qwen2.5-coder fence": (f"```json\n{ONE}\n```", [A]),
    "plain fence": (f"```\n{ONE}\n```", [A]),
    "fence named for it": (f"```tool_call\n{ONE}\n```", [A]),
    "two fences": (f"```json\n{ONE}\n```\n\n```json\n{TWO}\n```", [A, B]),
    "qwen2.5-coder tools tag": (f"<tools>\n{ONE}\n</tools>", [A]),
    "hermes": (f"<tool_call>\n{ONE}\n</tool_call>", [A]),
    "hermes twice": (f"<tool_call>\n{ONE}\n</tool_call>\n<tool_call>\n{TWO}\n</tool_call>", [A, B]),
    "hermes without end": (f"<tool_call>\n{ONE}", [A]),
    "hermes and end of turn": (f"<tool_call>\n{ONE}\n</tool_call><|im_end|>", [A]),
    "fenced hermes": (f"```xml\n<tool_call>\n{ONE}\n</tool_call>\n```", [A]),
    "phi-4": (f"<|tool_call|>[{ONE}]<|/tool_call|>", [A]),
    "granite": (f"<tool_call>[{ONE}]", [A]),
    "function_call tag": (f"<function_call>{ONE}</function_call>", [A]),
    "mistral": (f"[TOOL_CALLS][{ONE}, {TWO}]", [A, B]),
    "mistral 2025": ('[TOOL_CALLS]read{"path": "a.md"}[TOOL_CALLS]ls{}', [A, B]),
    "mistral args": ('[TOOL_CALLS]read[ARGS]{"path": "a.md"}</s>', [A]),
    "qwen3-coder": (
        "<tool_call>\n<function=read>\n<parameter=path>\na.md\n</parameter>\n<parameter=lines>\n3\n</parameter>\n"
        "</function>\n</tool_call>",
        [("read", {"path": "a.md", "lines": 3})],
    ),
    "qwen3-coder string that looks like a number": (
        "<function=read>\n<parameter=path>\n42\n</parameter>\n</function>",
        [("read", {"path": "42"})],
    ),
    "invoke": (
        '<function_calls>\n<invoke name="read">\n<parameter name="path">a.md</parameter>\n</invoke>\n'
        "</function_calls>",
        [A],
    ),
    "glm": (
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>",
        [A],
    ),
    "deepseek r1": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
        '{"path": "a.md"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        [A],
    ),
    "deepseek v3.1": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a.md"}<｜tool▁call▁end｜>'
        "<｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        [A, B],
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        '{"path": "a.md"}<|tool_call_end|><|tool_calls_section_end|>',
        [A],
    ),
    "gpt-oss": (
        '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.md"}<|call|>',
        [A],
    ),
    "gemma": ('```tool_code\nread(path="a.md")\n```', [A]),
    "openai shape": (
        '{"id": "x", "type": "function", '
        '"function": {"name": "read", "arguments": "{\\"path\\": \\"a.md\\"}"}}',
        [A],
    ),
    "wrapped": (f'{{"tool_calls": [{ONE}]}}', [A]),
    "other words for it": ('{"tool": "read", "args": {"path": "a.md"}}', [A]),
    "action": ('{"action": "read", "action_input": {"path": "a.md"}}', [A]),
    "single quotes": ("{'name': 'read', 'arguments': {'path': 'a.md'}}", [A]),
    "arguments as text": ('{"name": "read", "arguments": "{\\"path\\": \\"a.md\\"}"}', [A]),
    "no arguments": ('{"name": "ls", "arguments": null}', [B]),
    "line breaks in a string": (
        '{"name": "write_file", "arguments": {"text": "one\ntwo"}}',
        [("write_file", {"text": "one\ntwo"})],
    ),
    "functions prefix": ('{"name": "functions.read", "arguments": {"path": "a.md"}}', [A]),
}
WORDS = {
    "empty": "",
    "words": "I read the file.",
    "words before": f"Sure!\n{ONE}",
    "words after": f"{ONE}\nThis reads the file.",
    "words between": f"<tool_call>{ONE}</tool_call> and <tool_call>{TWO}</tool_call>",
    "words in the fence": f"```json\nHere: {ONE}\n```",
    "another language": f"```python\n{ONE}\n```",
    "unknown tool": '{"name": "rm", "arguments": {"path": "a.md"}}',
    "one of two unknown": f'[{ONE}, {{"name": "rm", "arguments": {{}}}}]',
    "an object that only has a name": '{"name": "read"}',
    "an object about something": '{"name": "read", "arguments": {"path": "a"}, "because": "you asked"}',
    "another object": '{"path": "a.md"}',
    "a tool's name as key": '{"read": {"path": "a.md"}}',
    "arguments that are no object": '{"name": "read", "arguments": ["a.md"]}',
    "cut": ONE[:-2],
    "numbers": "[1, 2, 3]",
    "empty list": "[]",
    "empty tag": "<tool_call></tool_call>",
    "html": "<div>hello</div>",
    "pythonic with a place": '[read("a.md")]',
    "pythonic that computes": '[read(path=open("a").read())]',
    "python of another kind": '[__import__("os").system("true")]',
    "deep": "[" * 5000 + "]" * 5000,
    "deep objects": '{"name": ' * 3000,
    "python depth": "[" + "-" * 50_000 + "1]",
    "too long": '{"name": "read", "arguments": {"path": "' + "a" * 300_000 + '"}}',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_that_is_calls_is_read(shape: str) -> None:
    text, wanted = SHAPES[shape]
    assert [(call.name, call.arguments) for call in find_calls(text, TOOLS)] == wanted


@pytest.mark.parametrize("shape", WORDS)
def test_anything_else_is_words(shape: str) -> None:
    assert find_calls(WORDS[shape], TOOLS) == []


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "functions prefix"])
def test_a_tool_that_is_not_offered_is_never_called(shape: str) -> None:
    assert find_calls(SHAPES[shape][0], {"other": {}}) == []


@given(st.text())
def test_any_text_is_words_or_calls(text: str) -> None:
    assert all(call.name in TOOLS for call in find_calls(text, TOOLS))


@given(
    st.sampled_from(sorted(SHAPES)),
    st.text(alphabet="ab{}[]<>`\"' \n", min_size=1, max_size=3),
    st.integers(0, 200),
)
def test_a_damaged_call_names_only_offered_tools(shape: str, noise: str, at: int) -> None:
    text = SHAPES[shape][0]
    for call in find_calls(text[:at] + noise + text[at:], TOOLS):
        assert call.name in TOOLS
        assert isinstance(call.arguments, dict)


def chunk(text: str = "", reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return json.dumps({"choices": [choice]}).encode()


def read(text: str, size: int, reason: str | None = "stop") -> list[ModelEvent]:
    reader = TextCallReader(ChatReader(COMMON), SPECS)
    events: list[ModelEvent] = []
    for place in range(0, len(text), size):
        events += reader.take("", chunk(text[place : place + size]))
    if reason:
        events += reader.take("", chunk(reason=reason))
    return [*events, *reader.close()]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("shape", SHAPES)
def test_nobody_sees_the_text_of_a_call(shape: str, size: int) -> None:
    text, wanted = SHAPES[shape]
    events = read(text, size)
    assert [event for event in events if isinstance(event, TextDelta)] == []
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == wanted
    assert len({call.call_id for call in calls}) == len(wanted)
    assert [event.call_id for event in events if isinstance(event, ToolCallDelta)] == [
        c.call_id for c in calls
    ]
    assert events[-1] == Finish("tool-calls")


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "shape", [shape for shape in WORDS if len(WORDS[shape]) < 20_000 and shape != "empty"]
)
def test_words_arrive_as_they_were_said(shape: str, size: int) -> None:
    events = read(WORDS[shape], size)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == WORDS[shape]
    assert events[-1] == Finish("stop")


@pytest.mark.parametrize(
    "text", ["Hello", "<div>", "<think>", "[link](a)", "```python\nx", '{"path": 1', "1", "`code`", "[1, 2"]
)
def test_ordinary_beginnings_are_shown_at_once(text: str) -> None:
    assert not may_be_call(text, TOOLS)


def test_a_call_that_was_cut_is_told_as_text() -> None:
    events = read(ONE, 5, reason="length")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == ONE
    assert events[-1] == Finish("length")


def test_what_was_held_back_is_told_before_the_trouble() -> None:
    reader = TextCallReader(ChatReader(COMMON), SPECS)
    events = list(reader.take("", chunk(ONE)))
    with pytest.raises(WireError):
        events.extend(reader.close())
    assert events == [TextDelta(ONE)]


def test_real_calls_leave_the_text_beside_them_text() -> None:
    reader = TextCallReader(ChatReader(COMMON), SPECS)
    events = list(reader.take("", chunk(ONE)))
    call = {"index": 0, "id": "c", "function": {"name": "ls", "arguments": "{}"}}
    delta = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    events += [*reader.take("", json.dumps(delta).encode()), *reader.close()]
    assert events[0] == TextDelta(ONE)
    assert [event.name for event in events if isinstance(event, ToolCall)] == ["ls"]


def test_a_long_object_is_shown_and_takes_no_longer_than_it_must() -> None:
    text = '{"name": "' + "x" * 400_000 + '"}'
    events = read(text, 16)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text
