"""Let lists wait for an index that is being made, however busy the machine is."""

from __future__ import annotations

import pytest

from shipmate.store import index
from tests.support.wait import LONG


@pytest.fixture(autouse=True)
def wait_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PATIENCE_SECONDS", LONG)
