"""Look at the processes of the machine."""

from __future__ import annotations

import os
from pathlib import Path


def command_lines() -> list[bytes]:
    """Return the command lines of all processes; one that ends while it is looked at is left out.

    Not by a pattern of names: that looks at each file before it is read, and falls over one that is gone.
    """
    found: list[bytes] = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                found.append(Path("/proc", name, "cmdline").read_bytes())
            except OSError:
                continue
    return found
