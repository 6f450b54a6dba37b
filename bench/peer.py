"""Drive nanobot-ai the same way, for comparison in the same run."""

from __future__ import annotations

from typing import Any


def measure_nanobot() -> list[dict[str, Any]]:
    """Give nanobot's figures, when it is installed beside us."""
    return []
