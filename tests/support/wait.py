"""How long tests wait for what must come."""

from __future__ import annotations

# Reached only by what hangs: a busy machine is slow, not wrong.
LONG = 60
