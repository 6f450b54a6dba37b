"""Take out of a member's words what models leave in them by mistake; code is left as it is."""

from __future__ import annotations

import re

# Thoughts and calls that were written as text, whole or without their end.
_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|scratchpad|tool_calls?|function_calls?|invoke|tool_result|"
    r"function_results?)\b[^<>]*>.*?(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# Thoughts before all else, which may hold code of their own.
_OPENING = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LEFT_OVER = re.compile(
    r"</(think|thinking|thought|reasoning|tool_calls?|function_calls?|invoke)>", re.IGNORECASE
)
# Marks between turns, such as <|im_end|>, [/INST] and <s>.
_MARK = re.compile(
    r"<\|[a-z_0-9]{1,40}\|>|</?s>|\[/?INST\]|<<?/?SYS>>?|<(?:start|end)_of_turn>", re.IGNORECASE
)
# The name of the speaker, as in a transcript.
_SPEAKER = re.compile(r"\A\s*(?:assistant|ai|bot|助手)\s*[:\uff1a]\s*", re.IGNORECASE)
_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")
_CODE = re.compile(
    r"(^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)|`[^`\n]+`)", re.DOTALL | re.MULTILINE
)


def clean(text: str) -> str:
    """Return words without what no person should read: thoughts, marks of turns, calls written as text."""
    pieces = _CODE.split(_OPENING.sub("", text))
    # Each piece of code is followed by its fence, which the code has already.
    cleaned = [
        piece if place % 3 == 1 else _clean(piece) for place, piece in enumerate(pieces) if place % 3 != 2
    ]
    return _SPEAKER.sub("", "".join(cleaned)).strip()


def _clean(text: str) -> str:
    text = _THOUGHT.sub("", text)
    text = _MARK.sub("", _LEFT_OVER.sub("", text))
    return _BLANKS.sub("\n\n", text)
