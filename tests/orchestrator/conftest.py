"""Let keepers leave at once: whoever tests that they wait says so."""

from __future__ import annotations

import pytest

from shipmate.orchestrator.lane import lanes


@pytest.fixture(autouse=True)
def leave_at_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "keeper" not in request.path.parts:
        monkeypatch.setattr(lanes, "ACTING_SECONDS", 0.0)
