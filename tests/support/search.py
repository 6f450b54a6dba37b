"""Say how far properties look for a counterexample: at the same examples each time, or at ever new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How many examples a search tries for each property; 0 when nothing is searched.
EXAMPLES = int(os.environ.get("SHIPMATE_EXAMPLES") or 0)
# A busy machine is no mistake in the code.
PATIENCE = (HealthCheck.too_slow,)


def examples(usual: int) -> int:
    """Return how many examples a property tries: its usual number, or as many as a search asks for."""
    return EXAMPLES or usual


def load_profile() -> None:
    """Let `make test` try the same examples each time, and a search others each time."""
    settings.register_profile(
        "steady", derandomize=True, deadline=None, print_blob=True, suppress_health_check=PATIENCE
    )
    settings.register_profile(
        "search",
        max_examples=examples(100),
        derandomize=False,
        deadline=None,
        print_blob=True,
        suppress_health_check=PATIENCE,
    )
    settings.load_profile("search" if EXAMPLES else "steady")
