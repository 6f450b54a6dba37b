"""Keep who was asked by whom in a thread, by what sign, and why it went the way it went."""

from __future__ import annotations

import msgspec

from shipmate.context.trace import append_private
from shipmate.values.message import timestamp
from shipmate.workspace.layout import Layout


def log_route(layout: Layout, thread_id: str, sender: str, to: str, *, marker: str = "", why: str) -> None:
    """Add a line to `.ship/logs/routing/<thread>.jsonl`."""
    row = {"at": timestamp(), "from": sender, "to": to, "marker": marker, "why": why}
    append_private(layout.routing(thread_id), msgspec.json.encode(row) + b"\n")
