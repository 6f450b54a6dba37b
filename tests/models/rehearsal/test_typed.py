from __future__ import annotations

from shipmate.models.port import Finish, ModelRequest, TextDelta, ToolCall, ToolSpec
from shipmate.models.rehearsal.typed import TypedModel
from shipmate.values.message import JsonObject, UIMessage

EXEC = ToolSpec(name="exec", description="", schema={})


async def answer(text: str, *tools: ToolSpec) -> list[object]:
    said: UIMessage = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    request = ModelRequest(system="", messages=[said], tools=tools)
    return [event async for event in TypedModel().stream(request)]


async def test_u14_it_calls_exec_with_what_stands_behind_the_mark() -> None:
    call, finish = await answer("!ls -l", EXEC)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("exec", '{"command":"ls -l"}')
    assert isinstance(finish, Finish)
    assert (finish.reason, finish.usage.input_tokens) == ("tool-calls", 0)


async def test_u14_words_are_no_command_and_without_the_tool_it_says_so() -> None:
    for text, tools in (("ls -l", (EXEC,)), ("!ls", ())):
        told, finish = await answer(text, *tools)
        assert isinstance(told, TextDelta)
        assert isinstance(finish, Finish)
        assert finish.reason == "stop"


async def test_u14_answered_late_it_tells_of_that_command_and_begins_no_other() -> None:
    def call(command: str) -> list[JsonObject]:
        made = {"type": "tool-exec", "toolCallId": command, "input": {"command": command}}
        return [{"type": "step-start"}, {**made, "state": "output-available", "output": "[exit 0]"}]

    history: list[UIMessage] = [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "!touch made"}]},
        {"id": "m2", "role": "assistant", "parts": call("touch made")},
        {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "!ls"}]},
        {
            "id": "m4",
            "role": "assistant",
            "parts": [*call("ls"), {"type": "text", "text": "It gave a line."}],
        },
    ]
    request = ModelRequest(system="", messages=history, tools=(EXEC,))
    told, _ = [event async for event in TypedModel().stream(request)]
    assert isinstance(told, TextDelta)
    assert "touch made" in told.text
    assert "ls" not in told.text
