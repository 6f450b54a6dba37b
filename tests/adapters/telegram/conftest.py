"""Chats of tests do not wait for the second between two messages; the test of that pace has its own clock."""

from __future__ import annotations

import pytest

from shipmate.adapters.telegram import telegram_pace


@pytest.fixture(autouse=True)
def hurry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave less time between two messages of a chat."""
    if request.path.name != "test_telegram_pace.py":
        monkeypatch.setattr(telegram_pace, "CHAT_SECONDS", 0.01)
