from __future__ import annotations

from shipmate.models.port import Finish, ModelEvent, ModelRequest, ReasoningDelta, TextDelta, ToolCall
from shipmate.rehearsal.recorded_model import RecordedModel
from shipmate.values.message import UIMessage
from tests.support.cassette import STEP, called, words

ANSWER: list[UIMessage] = [
    {
        "id": "a1",
        "role": "assistant",
        "parts": [
            STEP,
            {"type": "reasoning", "text": "Hm."},
            words("Two at once."),
            called("read", "c1", output="a", path="a"),
            called("read", "c2", output="b", path="b"),
            {"type": "data-notice", "data": {"text": "not said by the member"}},
            words("Between."),
            called("read", "c3", output="c", path="c"),
        ],
    },
    {"id": "a2", "role": "assistant", "parts": [words("And then.")]},
]


async def play(model: RecordedModel) -> list[ModelEvent]:
    return [event async for event in model.stream(ModelRequest(system="", messages=[]))]


async def test_the_member_s_side_is_played_step_by_step() -> None:
    model = RecordedModel()
    model.begin(ANSWER)
    steps = [await play(model) for _ in range(4)]
    said = [
        [
            event.text if isinstance(event, TextDelta | ReasoningDelta) else event.call_id
            for event in step
            if isinstance(event, TextDelta | ReasoningDelta | ToolCall)
        ]
        for step in steps
    ]
    assert said == [["Hm.", "Two at once.", "c1", "c2"], ["Between.", "c3"], ["And then."], []]
    ends = [step[-1].reason for step in steps if isinstance(step[-1], Finish)]
    assert ends == ["tool-calls", "tool-calls", "stop", "stop"]
    assert model.is_over


async def test_arguments_that_are_no_json_are_written_as_they_were() -> None:
    part = {
        "type": "tool-read",
        "toolCallId": "c1",
        "state": "output-error",
        "input": "{nonsense",
        "errorText": "no",
    }
    model = RecordedModel()
    model.begin([{"id": "a", "role": "assistant", "parts": [part]}])
    assert [event.arguments for event in await play(model) if isinstance(event, ToolCall)] == ["{nonsense"]
