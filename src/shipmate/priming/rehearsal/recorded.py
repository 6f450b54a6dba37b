"""Read what a script recorded: what was said, and what answered it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shipmate.values.message import UIMessage


def split_answers(messages: Sequence[UIMessage]) -> Iterator[tuple[UIMessage, list[UIMessage]]]:
    """Yield each user turn with what answered it; words said one after the other were answered together."""
    said: UIMessage | None = None
    answers: list[UIMessage] = []
    for message in messages:
        if message["role"] == "user" and said is not None and not answers:
            said = {**said, "parts": [*said["parts"], *message["parts"]]}
        elif message["role"] == "user":
            if said is not None:
                yield said, answers
            said, answers = message, []
        elif message["role"] == "assistant" and said is not None:
            answers.append(message)
    if said is not None:
        yield said, answers
