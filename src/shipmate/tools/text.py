"""Make what programs print fit for models and people to read."""

from __future__ import annotations

from shipmate.values.pattern import lazy_pattern

# Terminal escapes: CSI, OSC, and those of two characters.
ESCAPES = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
# Control characters other than tab and newline, marks that turn the reading direction, and invisible letters.
CONTROLS = lazy_pattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
HEAD_SHARE = 0.7


def clean(text: str) -> str:
    """Strip terminal escapes and control characters, which only mislead a reader."""
    return CONTROLS.sub("", ESCAPES.sub("", text))


def clean_terminal(text: str) -> str:
    """Return what would stand on a terminal after all was printed."""
    # A carriage return overwrites the line: of a progress bar only its last state is left.
    lines = text.replace("\r\n", "\n").split("\n")
    return clean("\n".join(line.rpartition("\r")[2] for line in lines))


def shorten(text: str, budget: int, pointer: str) -> str:
    """Cut out the middle of a long text and say where the whole is."""
    if len(text) <= budget:
        return text
    head = int(budget * HEAD_SHARE)
    return join_ends(text[:head], text[head - budget :], len(text) - budget, "characters", pointer)


def join_ends(head: str, tail: str, left_out: int, unit: str, pointer: str) -> str:
    """Join the two ends of a text around a note on what lies between."""
    return f"{head}\n[… {left_out:,} {unit} left out; {pointer} …]\n{tail}"
