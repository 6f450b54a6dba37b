from __future__ import annotations

from hypothesis import given, settings
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)

from shipmate.models.neutral import (
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.provider.conversion import convert_messages
from shipmate.models.to_model import to_model_messages
from shipmate.values.message import UIMessage
from tests.support.search import examples
from tests.support.thread_strategy import threads

SIGNED = {"by": "bedrock:m", "provider": "bedrock", "signature": "c2ln"}


@given(threads())
@settings(max_examples=examples(100), deadline=None)
def test_any_thread_becomes_messages_that_need_no_repair(thread: list[UIMessage]) -> None:
    made = convert_messages(to_model_messages(thread), "bedrock")
    written = ModelMessagesTypeAdapter.dump_json(made)
    assert ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(written)) == written
    assert repair_messages(made) == made


def test_everything_arrives_in_its_place() -> None:
    messages = [
        ModelMessage("user", [TextBlock("One."), FileBlock("image/png", "aGk=", "a.png", "[a.png]")]),
        ModelMessage(
            "assistant",
            [ReasoningBlock("Hm.", SIGNED), TextBlock("Yes."), CallBlock("c1", "read", {"path": "a"})],
        ),
        ModelMessage(
            "user", [ResultBlock("c1", "read", "No.", "denied"), TextBlock("Two."), TextBlock("3.")]
        ),
    ]
    first, answer, last = convert_messages(messages, "azure")
    assert isinstance(first, ModelRequest)
    (said,) = first.parts
    assert isinstance(said, UserPromptPart)
    assert list(said.content) == ["One.", BinaryContent(b"hi", media_type="image/png")]
    assert isinstance(answer, ModelResponse)
    thought, _, call = answer.parts
    assert isinstance(thought, ThinkingPart)
    assert (thought.content, thought.signature, thought.provider_name) == ("Hm.", "c2ln", "bedrock")
    assert isinstance(call, ToolCallPart)
    assert (call.tool_call_id, call.args) == ("c1", {"path": "a"})
    result, words = last.parts
    assert isinstance(result, ToolReturnPart)
    assert (result.outcome, result.content) == ("denied", "No.")
    assert isinstance(words, UserPromptPart)
    assert words.content == "Two.\n\n3."


def test_a_file_of_a_type_the_provider_does_not_take_is_named() -> None:
    pdf = ModelMessage("user", [FileBlock("application/pdf", "aGk=", "a.pdf", "[a.pdf]")])
    for provider, carried in (("bedrock", True), ("azure", False), ("cohere", False)):
        (request,) = convert_messages([pdf], provider)
        (said,) = request.parts
        assert isinstance(said, UserPromptPart)
        assert isinstance(said.content, str) is not carried
