"""The neutral form of a conversation, which every wire starts from."""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal, TypeAlias

import msgspec

from shipmate.values.message import JsonObject

CallOutcome: TypeAlias = Literal["success", "failed", "denied", "interrupted"]


class TextBlock(msgspec.Struct, frozen=True):
    """Words; never blank."""

    text: str


class FileBlock(msgspec.Struct, frozen=True):
    """A file that a person attached, in base64. A wire that cannot carry its type says `line` instead."""

    media_type: str
    data: str
    name: str
    line: str


class ReasoningBlock(msgspec.Struct, frozen=True):
    """Thinking that the model asked signed itself; its words may be empty."""

    text: str
    signature: JsonObject


class CallBlock(msgspec.Struct, frozen=True):
    """A call of a tool; arguments that were no object are one that holds them."""

    id: str
    name: str
    arguments: JsonObject
    signature: JsonObject = {}

    @property
    def text(self) -> str:
        """Return the arguments as JSON text, for protocols that carry them so."""
        return msgspec.json.encode(self.arguments).decode()


class ResultBlock(msgspec.Struct, frozen=True):
    """What came of a call; never blank."""

    id: str
    name: str
    text: str
    outcome: CallOutcome


Block: TypeAlias = TextBlock | FileBlock | ReasoningBlock | CallBlock | ResultBlock


class ModelMessage(msgspec.Struct, frozen=True):
    """One side's turn: the user's holds results, which come first, words and files, the other's the rest."""

    role: Literal["user", "assistant"]
    blocks: list[Block]


def describe_message(message: ModelMessage) -> JsonObject:
    """Return a message as JSON for people; of files and signatures it is said only that they are there."""
    return {"role": message.role, "blocks": list(map(_describe, message.blocks))}


def _describe(block: Block) -> JsonObject:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case FileBlock():
            digest = blake2b(block.data.encode(), digest_size=9).hexdigest()
            size = len(block.data) * 3 // 4
            return {
                "type": "file",
                "name": block.name,
                "mediaType": block.media_type,
                "bytes": size,
                "digest": digest,
            }
        case ReasoningBlock():
            return {"type": "reasoning", "text": block.text}
        case CallBlock():
            return {"type": "call", "id": block.id, "name": block.name, "arguments": block.arguments}
        case ResultBlock():
            said = {"id": block.id, "name": block.name, "text": block.text, "outcome": block.outcome}
            return {"type": "result", **said}
