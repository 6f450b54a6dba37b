"""Keep prompts within their budgets, and learn how many tokens a model really counts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

import msgspec

from shipmate.context.request import ToolDescription
from shipmate.values.message import estimate_tokens

Described = TypeVar("Described", bound=ToolDescription)

HEAD_SHARE = 0.7
TAIL_SHARE = 0.2
# A section that keeps less than this says nothing any more and is left out.
FLOOR_TOKENS = 60

# What gives way first when the whole prompt is too long. Sections not named here are never cut for others.
CUT_ORDER = (
    "recall",
    "skill-matches",
    "skill-texts",
    "today",
    "memory-notes",
    "user-memory",
    "project-memory",
    "memory-index",
    "projects",
    "asked-skills",
    "always-skills",
    "relations",
    "extra",
    "tools",
    "user",
    "identity",
    "soul",
    "agents",
    "agent",
)


# What of a model's window prompt and tools may take together, and the tools alone; the talk has the rest.
SHARE = 0.55
TOOLS_SHARE = 0.25
# What a prompt is left at least, whatever the tools take.
LEAST_TOKENS = 500
# A model that reads more than this is offered every tool.
SMALL_WINDOW = 32_768


def find_budget(window: int | None, budget: int, tools: Callable[[], int]) -> int:
    """Return the tokens a prompt may have: as set, but no more than its share of the window."""
    if window is None or budget <= window * (SHARE - TOOLS_SHARE):
        return budget
    return min(budget, max(LEAST_TOKENS, int(window * SHARE) - tools()))


def fit_tools(tools: Iterable[Described], window: int | None) -> list[Described]:
    """Return the tools that fit their share of the window, the first ones first."""
    found = list(tools)
    if window is None or window > SMALL_WINDOW:
        return found
    room = int(window * TOOLS_SHARE)
    kept: list[Described] = []
    for tool in found:
        room -= weigh_tool(tool)
        if room < 0:
            break
        kept.append(tool)
    return kept


def weigh_tool(tool: ToolDescription) -> int:
    """Estimate the tokens of a tool's description."""
    said = {"name": tool.name, "description": tool.description, "schema": tool.schema}
    return weigh(msgspec.json.encode(said).decode())[1]


@lru_cache(maxsize=512)
def weigh(text: str) -> tuple[int, int]:
    """Return the bytes of a text and the estimate of its tokens."""
    return len(text.encode("utf-8", "surrogatepass")), estimate_tokens(text)


@lru_cache(maxsize=64)
def split_ends(text: str, tokens: int) -> tuple[str, str]:
    """Return a head and a tail of a text that take about so many tokens; no character is split."""
    head = _fit(text, int(tokens * HEAD_SHARE))
    tail = len(text) - _fit(text[::-1], int(tokens * TAIL_SHARE))
    if head >= tail:
        return text, ""
    return text[: _boundary(text, head, -1)], text[_boundary(text, tail, 1) :]


def _fit(text: str, tokens: int) -> int:
    """Find how many leading characters take at most so many tokens."""
    low, high = 0, min(len(text), tokens * 4)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return low


def _boundary(text: str, at: int, step: int) -> int:
    """Move a cut until it does not part a letter from its accents or join marks."""
    while 0 < at < len(text) and (_extends(text[at]) or text[at - 1] == "\u200d"):
        at += step
    return at


def _extends(character: str) -> bool:
    return character in "\u200d\ufe0f\ufe0e" or unicodedata.category(character) in ("Mn", "Me", "Mc", "Sk")


class Calibration:
    """How the provider's count of tokens compares with the estimate, remembered per model."""

    # One odd answer must not change what is cut, or the cached prefix would break for nothing.
    STEP = 0.1
    WEIGHT = 0.2

    def __init__(self) -> None:
        self._smoothed: dict[str, float] = {}
        self._used: dict[str, float] = {}

    def learn(self, model: str, estimated: int, reported: int) -> None:
        """Take in one request: what was estimated for all of it, and what the provider reported."""
        if estimated <= 0 or reported <= 0:
            return
        ratio = min(4.0, max(0.25, reported / estimated))
        known = self._smoothed.get(model)
        smoothed = ratio if known is None else known + self.WEIGHT * (ratio - known)
        self._smoothed[model] = smoothed
        if abs(smoothed - self.ratio(model)) >= self.STEP:
            self._used[model] = round(smoothed, 1)

    def ratio(self, model: str) -> float:
        """Return how many reported tokens one estimated token stands for."""
        return self._used.get(model, 1.0)
