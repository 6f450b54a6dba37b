"""Convert the neutral form of a conversation to the messages of pydantic-ai."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime

from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelMessage as TheirMessage

from shipmate.models.neutral import (
    Block,
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)

# The same thread must give the same messages, so nothing here carries the time of day.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The formats every provider with eyes takes, and those of the providers that take others, or none.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
CARRIED = {
    "bedrock": IMAGES | {"application/pdf"},
    "google-cloud": IMAGES | {"application/pdf", "audio/mpeg", "audio/wav", "video/mp4", "video/webm"},
    "cohere": frozenset[str](),
}


def convert_messages(messages: Iterable[ModelMessage], provider: str) -> list[TheirMessage]:
    """Convert a conversation; a file that the provider takes no such type of is named in words."""
    carried = CARRIED.get(provider, IMAGES)
    return [
        ModelRequest(_convert_user(message.blocks, carried))
        if message.role == "user"
        else ModelResponse([_convert_answer(block) for block in message.blocks], timestamp=EPOCH)
        for message in messages
    ]


def _convert_user(blocks: Iterable[Block], carried: frozenset[str]) -> list[ModelRequestPart]:
    results: list[ModelRequestPart] = []
    said: list[UserContent] = []
    for block in blocks:
        match block:
            case ResultBlock():
                results.append(
                    ToolReturnPart(block.name, block.text, block.id, timestamp=EPOCH, outcome=block.outcome)
                )
            case FileBlock() if block.media_type in carried:
                said.append(BinaryContent(base64.b64decode(block.data), media_type=block.media_type))
            case FileBlock():
                said.append(block.line)
            case TextBlock():
                said.append(block.text)
            case _:
                pass
    return [*results, UserPromptPart(_join(said), timestamp=EPOCH)] if said else results


def _join(said: list[UserContent]) -> str | list[UserContent]:
    words = [each for each in said if isinstance(each, str)]
    return "\n\n".join(words) if len(words) == len(said) else said


def _convert_answer(block: Block) -> ModelResponsePart:
    match block:
        case ReasoningBlock():
            signed = block.signature
            return ThinkingPart(
                block.text,
                id=signed.get("id"),
                signature=signed.get("signature"),
                provider_name=signed.get("provider"),
                provider_details=signed.get("details"),
            )
        case CallBlock():
            signed = block.signature
            return ToolCallPart(
                block.name,
                block.arguments,
                block.id,
                id=signed.get("id"),
                provider_name=signed.get("provider"),
                provider_details=signed.get("details"),
            )
        case TextBlock():
            return TextPart(block.text)
        case _:
            raise TypeError(f"an answer holds no {type(block).__name__}")
