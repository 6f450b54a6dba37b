"""Keep all that a tool prints in the call's log; give the model head, tail and a pointer."""

from __future__ import annotations

import re

from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import write_private

# Terminal escapes (CSI, OSC, two-character ones) and control characters other than tab and newline.
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HEAD_SHARE = 0.7


def clean(text: str) -> str:
    """Strip terminal escapes and control characters, which only mislead a reader."""
    return CONTROLS.sub("", ESCAPES.sub("", text.replace("\r\n", "\n")))


def shorten(text: str, budget: int, pointer: str) -> str:
    """Cut out the middle of a long text and say where the whole is."""
    if len(text) <= budget:
        return text
    head = int(budget * HEAD_SHARE)
    tail = budget - head
    return f"{text[:head]}\n[… {len(text) - budget:,} characters left out; {pointer} …]\n{text[-tail:]}"


def keep(text: str, context: ToolContext, budget: int) -> str:
    """Log a tool's whole output and give what fits the budget."""
    path = context.layout.call_log(context.thread_id, context.call_id)
    write_private(path, text.encode("utf-8", "replace"))
    return shorten(clean(text), budget, point_at(context))


def point_at(context: ToolContext) -> str:
    """Say how to reach the call's log."""
    path = context.layout.call_log(context.thread_id, context.call_id)
    return f"the whole is in {path.relative_to(context.layout.root)}"
