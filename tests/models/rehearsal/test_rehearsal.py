from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.errors import ModelStreamError
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolSpec,
)
from shipmate.models.rehearsal.language import load_words
from shipmate.models.rehearsal.rehearsal import RehearsalModel
from shipmate.tools.toolset import default_toolset
from shipmate.values.message import JsonObject, UIMessage, user_message
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of
from tests.support.search import examples


def tool(name: str, *required: str, **optional: str) -> ToolSpec:
    properties = {key: {"type": "string"} for key in required} | {k: {"type": v} for k, v in optional.items()}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(required)})


TOOLS = [
    tool("read", "path", offset="integer"),
    tool("glob", "pattern", path="string"),
    tool("grep", "pattern", path="string"),
    tool("write", "path", "content"),
    tool("edit", "path", "old", "new"),
    tool("exec", "command"),
    tool("web_fetch", "url"),
    tool("memory_upsert", "content"),
    tool("show_image", "path"),
    tool("send_file", "path"),
]


def request(*messages: UIMessage | str, tools: list[ToolSpec] | None = None) -> ModelRequest:
    made = [user_message(f"u{n}", m) if isinstance(m, str) else m for n, m in enumerate(messages)]
    return ModelRequest(system="You are kind.", messages=made, tools=TOOLS if tools is None else tools)


def reply(*parts: JsonObject, message_id: str = "a1") -> UIMessage:
    return {"id": message_id, "role": "assistant", "parts": [{"type": "step-start"}, *parts]}


def result(name: str, state: str = "output-available", **fields: Any) -> JsonObject:
    part = {"type": f"tool-{name}", "toolCallId": f"c_{name}", "state": state, "input": {"path": "a.md"}}
    return part | fields


async def play(asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in RehearsalModel().stream(asked)]


def words(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls(events: list[ModelEvent]) -> list[tuple[str, JsonObject]]:
    made = [event for event in events if isinstance(event, ToolCall)]
    return [(event.name, msgspec.json.decode(event.arguments)) for event in made]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("read Agent.md", [("read", {"path": "Agent.md"})]),
        ("读 Agent.md", [("read", {"path": "Agent.md"})]),
        ("read a.md and b.md", [("read", {"path": "a.md"}), ("read", {"path": "b.md"})]),
        ("list files", [("glob", {"pattern": "*"})]),
        ("search tea in docs", [("grep", {"pattern": "tea", "path": "docs"})]),
        ("run ls -l", [("exec", {"command": "ls -l"})]),
        ("把 你好 写入 a.txt", [("write", {"path": "a.txt", "content": "你好"})]),
        ("edit a.txt: replace x with y", [("edit", {"path": "a.txt", "old": "x", "new": "y"})]),
        ("fetch http://127.0.0.1/", [("web_fetch", {"url": "http://127.0.0.1/"})]),
        ("记住 四点喝茶", [("memory_upsert", {"content": "四点喝茶"})]),
        ("show image a.png", [("show_image", {"path": "a.png"})]),
        ("send file a.png", [("send_file", {"path": "a.png"})]),
        ('call glob {"pattern": "x"}', [("glob", {"pattern": "x"})]),
    ],
)
async def test_a_plain_request_calls_the_tool(said: str, expected: list[tuple[str, JsonObject]]) -> None:
    events = await play(request(said))
    assert calls(events) == expected
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "tool-calls"


@pytest.mark.parametrize(
    ("said", "tool_name"),
    [
        ("read Agent.md", "read"),
        ("list files", "glob"),
        ("search tea in docs", "grep"),
        ("run ls", "exec"),
        ("run sleep 9 in the background", "exec"),
        ("jobs", "job"),
        ("write tea to a.txt", "write"),
        ("edit a.txt: replace x with y", "edit"),
        ("fetch https://example.org", "web_fetch"),
        ("remember that tea is at four", "memory_upsert"),
        ("show image a.png", "show_image"),
        ("send file a.png", "send_file"),
    ],
)
async def test_the_tools_members_really_have_accept_its_calls(
    tmp_path: Path, said: str, tool_name: str
) -> None:
    toolset = default_toolset(captain_of(Layout(tmp_path)))
    ((name, arguments),) = calls(await play(request(said, tools=toolset.specs())))
    found = toolset.get(name)
    assert name == tool_name
    assert found is not None
    assert msgspec.to_builtins(found.parse(arguments)).items() >= arguments.items()


async def test_arguments_follow_the_schema_of_the_tool_on_offer() -> None:
    memory = ToolSpec(
        "memory_upsert",
        "",
        {
            "type": "object",
            "properties": {
                "scope": {"enum": ["project", "user"]},
                "title": {"type": "string"},
                "fact": {"type": "string"},
                "weight": {"type": "integer"},
                "tag": {"type": "string", "default": "none"},
            },
            "required": ["scope", "title", "fact", "weight", "tag"],
        },
    )
    other = [tool("read_file", "file_path"), tool("exec_shell", "cmd"), memory]
    assert calls(await play(request("read a.md and run ls", tools=other))) == [
        ("read_file", {"file_path": "a.md"}),
        ("exec_shell", {"cmd": "ls"}),
    ]
    assert calls(await play(request("remember tea", tools=other))) == [
        ("memory_upsert", {"scope": "project", "title": "tea", "fact": "tea", "weight": 1, "tag": "none"})
    ]


async def test_a_tool_that_is_not_on_offer_is_named() -> None:
    events = await play(request("read a.md and run ls", tools=[tool("read", "path")]))
    assert "`exec`, which is not on offer" in words(events)
    assert calls(events) == [("read", {"path": "a.md"})]
    assert "`exec`，但这里没有提供" in words(await play(request("运行 ls", tools=[])))


async def test_the_text_of_arguments_is_streamed_before_the_call() -> None:
    events = await play(request(f"write {'long ' * 20}to a.txt"))
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    (call,) = [event for event in events if isinstance(event, ToolCall)]
    assert len(deltas) > 3
    assert "".join(event.arguments for event in deltas) == call.arguments
    assert {event.call_id for event in deltas} == {call.call_id}


async def test_results_are_told_in_the_language_of_the_person() -> None:
    done = result("read", output="one\ntwo\n")
    english = words(await play(request("read a.md", reply(done))))
    assert english == "`read` `a.md` gave 2 lines:\n\n```\none\ntwo\n```"
    assert "给出了 2 行" in words(await play(request("读 a.md", reply(done))))


async def test_errors_and_denials_are_told_with_their_reason() -> None:
    bad = result("read", "output-error", errorText="no such file")
    denied = result(
        "exec", "output-denied", input={"command": "ls"}, approval={"id": "x", "reason": "not now"}
    )
    silent = result("exec", "output-denied", input={})
    told = words(await play(request("read a.md and run ls", reply(bad, denied, silent))))
    assert "`read` `a.md` did not work: no such file" in told
    assert "`exec` `ls` was not allowed: not now" in told
    assert "`exec` was not allowed: no reason was given" in told


async def test_long_and_empty_and_fenced_output_stay_readable() -> None:
    long = words(await play(request("x", reply(result("read", output="line\n" * 40)))))
    assert "… and 28 more lines." in long
    assert "gave nothing" in words(await play(request("x", reply(result("read", output="")))))
    fenced = words(await play(request("x", reply(result("read", output={"text": "```\nx\n```"})))))
    assert "\n````\n```\nx\n```\n````" in fenced
    assert '{"n":1}' in words(await play(request("x", reply(result("read", output={"n": 1})))))


async def test_stages_follow_one_another_and_stop_at_trouble() -> None:
    said = "read a.md, then write done to b.txt, then run ls"
    first = await play(request(said))
    assert calls(first) == [("read", {"path": "a.md"})]
    second = await play(request(said, reply(result("read", output="hi"))))
    assert calls(second) == [("write", {"path": "b.txt", "content": "done"})]
    parts = [result("read", output="hi"), {"type": "step-start"}, result("write", "output-denied")]
    last = await play(request(said, reply(*parts)))
    assert calls(last) == []
    assert "leave out what should have come next: Running `ls`" in words(last)


async def test_words_that_arrived_together_are_answered_together() -> None:
    events = await play(request("read a.md", "read b.md"))
    assert [arguments["path"] for _, arguments in calls(events)] == ["a.md", "b.md"]


async def test_words_that_steer_a_run_are_a_new_request() -> None:
    events = await play(request("read a.md", reply(result("read", output="hi")), "read b.md"))
    assert calls(events) == [("read", {"path": "b.md"})]


async def test_help_lists_only_what_is_on_offer() -> None:
    told = words(await play(request("help", tools=[tool("read", "path")])))
    assert "rehearsal model" in told
    assert "ANTHROPIC_API_KEY" in told
    assert "`read Agent.md`" in told
    assert "`run ls" not in told
    assert "`读 Agent.md`" in words(await play(request("帮助")))


async def test_other_words_are_echoed_with_proposals() -> None:
    told = words(await play(request("what is love?")))
    assert "“what is love?”" in told
    assert "`read Agent.md`, `list files`, `run ls -l`" in told
    assert "ship.json" in told
    assert "“我想喝茶”" in words(await play(request("我想喝茶")))


async def test_reasoning_is_shown_when_asked_to_think() -> None:
    events = await play(request("think about boats"))
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert "boats" in thought
    assert ReasoningEnd() in events
    assert "boats" in words(events)


async def test_counting_sends_a_delta_for_each_number() -> None:
    events = await play(request("count to 30"))
    assert words(events).startswith("1 2 3 ")
    assert words(events).endswith("That was 30.")
    assert sum(isinstance(event, TextDelta) for event in events) == 31


async def test_a_slow_count_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipmate.models.rehearsal.rehearsal.SLOW_SECONDS", 0.001)
    assert words(await play(request("慢慢数到 3"))) == "1 2 3 \n\n一共数了 3 个。"


async def test_fail_breaks_off_half_way() -> None:
    seen: list[ModelEvent] = []

    async def collect() -> None:
        seen.extend([event async for event in RehearsalModel().stream(request("fail"))])

    with pytest.raises(ModelStreamError, match="because it was asked to"):
        await collect()
    stream = RehearsalModel().stream(request("fail"))
    assert isinstance(await anext(stream), TextDelta)


async def test_it_lists_tools_sums_up_and_shows_markdown() -> None:
    assert "`read`, `glob`" in words(await play(request("tools")))
    assert words(await play(request("tools", tools=[]))) == "No tools are on offer here."
    assert "- read a.md\n- summarize" in words(await play(request("read a.md", reply(), "summarize")))
    assert "| exec | yes |" in words(await play(request("markdown")))
    assert words(await play(request("hello"))).startswith("Hello! I am the **rehearsal model**")


async def test_usage_is_estimated_and_free() -> None:
    finish = (await play(request("help")))[-1]
    assert isinstance(finish, Finish)
    assert finish.usage.cost == 0
    assert finish.usage.input_tokens > 50
    assert finish.usage.output_tokens > 100
    assert finish.model == "rehearsal"


@settings(max_examples=examples(100))
@given(st.text(max_size=80).filter(lambda text: "数到" not in text and "count" not in text.lower()))
async def test_the_same_words_always_get_the_same_answer(said: str) -> None:
    assert await play(request(said)) == await play(request(said))


def test_both_languages_say_the_same_things() -> None:
    english, chinese = load_words("en"), load_words("zh")
    assert list(english) == list(chinese)
    kinds = [[line.split(" | ")[0] for line in words["tries"].splitlines()] for words in (english, chinese)]
    assert kinds[0] == kinds[1]


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, shipmate.models.rehearsal.rehearsal, shipmate.models.scripted; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"pydantic", "pydantic_ai", "rich", "httpx", "fastapi"} & set(loaded)


async def test_m6_a_result_is_told_though_a_pin_was_noted_while_the_call_waited() -> None:
    part: JsonObject = {
        "type": "tool-read",
        "toolCallId": "c1",
        "state": "output-available",
        "input": {"path": "Agent.md"},
        "output": "# Ada",
    }
    messages: list[UIMessage] = [
        user_message("u1", "read Agent.md"),
        {"id": "a1", "role": "assistant", "parts": [part]},
        {"id": "p1", "role": "system", "parts": [{"type": "text", "text": "Pinned: tea at four."}]},
    ]
    made = ModelRequest(system="", messages=messages, tools=TOOLS)
    events = [event async for event in RehearsalModel().stream(made)]
    assert "# Ada" in "".join(event.text for event in events if isinstance(event, TextDelta))
