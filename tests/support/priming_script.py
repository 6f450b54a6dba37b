"""Write small scripts for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Put = Callable[..., Path]


def words(said: str, answer: str, *, genseq: int = 1, message_id: str = "m-1") -> str:
    """Write one exchange as records."""
    return (
        f"### record human_text_record\n``````markdown\n---\ngenseq: {genseq}\nmsgId: {message_id}\n---\n"
        f"{said}\n``````\n"
        f"### record agent_words_record\n``````markdown\n---\ngenseq: {genseq}\n---\n{answer}\n``````\n"
    )
