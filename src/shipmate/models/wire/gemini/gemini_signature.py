"""Keep what Gemini signs of its words and thoughts, and put it back into the parts it came with.

A signature belongs to one part, and no part that bears one may be joined to another. The words of a stretch
are shown as one text all the same, so what is kept says how long each part of the stretch was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shipmate.models.neutral import ReasoningBlock
from shipmate.values.message import JsonObject


class SignedStretch:
    """Words, or thoughts, that come one after the other in any number of parts."""

    def __init__(self, *, is_thought: bool) -> None:
        self.is_thought = is_thought
        self._lengths: list[int] = [0]
        self._signatures: list[str] = [""]

    def add(self, text: str, signature: str) -> None:
        """Add a part; those without a signature are one, whatever pieces they came in."""
        if signature and (self._lengths[-1] or self._signatures[-1]):
            self._begin()
        self._lengths[-1] += len(text)
        if signature:
            self._signatures[-1] = signature
            self._begin()

    def _begin(self) -> None:
        self._lengths.append(0)
        self._signatures.append("")

    @property
    def signature(self) -> JsonObject | None:
        """Return what has to come back, None when nothing was signed."""
        kept = [
            [length, signature]
            for length, signature in zip(self._lengths, self._signatures, strict=True)
            if length or signature
        ]
        if not any(signature for _, signature in kept):
            return None
        return {"kind": "thought" if self.is_thought else "text", "parts": kept}


def sign_text(block: ReasoningBlock, words: str) -> Iterator[JsonObject]:
    """Yield the parts of a stretch as they came; `words` are those right before it, which it may sign."""
    is_thought = block.signature.get("kind") == "thought"
    if is_thought and words:
        yield {"text": words}
    text = block.text if is_thought else words
    pieces = list(_read_pieces(block.signature.get("parts")))
    if sum(length for length, _ in pieces) != len(text):
        # The words are others than those that were signed, so each stands for itself.
        pieces = [(len(text), ""), *((0, signature) for _, signature in pieces if signature)]
    start = 0
    for length, signature in pieces:
        part = {"text": text[start : start + length]} if length or signature else None
        start += length
        if part is not None:
            mark: JsonObject = {"thought": True} if is_thought else {}
            yield {**part, **mark, **({"thoughtSignature": signature} if signature else {})}


def _read_pieces(value: Any) -> Iterator[tuple[int, str]]:
    for piece in value if isinstance(value, list) else []:
        match piece:
            case [int(length), str(signature)] if length >= 0:
                yield length, signature
            case _:
                pass
