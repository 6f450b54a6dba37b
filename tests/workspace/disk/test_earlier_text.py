"""Earlier texts are told in the order in which they were replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.workspace.disk import earlier_text
from shipmate.workspace.disk.earlier_text import keep_earlier, list_earlier


def test_texts_of_one_moment_and_of_a_clock_set_back_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = earlier_text.timestamp
    times = iter(["2026-01-01T10:00:00.999Z"] * 4 + ["2026-01-01T09:00:00.000Z", "2026-01-01T11:00:00.000Z"])
    monkeypatch.setattr(
        earlier_text, "timestamp", lambda moment=None: stamp(moment) if moment else next(times)
    )
    for number in range(6):
        keep_earlier(tmp_path, f"text {number}".encode())
    told = list_earlier(tmp_path)
    assert [each.text for each in told] == [f"text {number}" for number in reversed(range(6))]
    assert [each.at for each in told][-2:] == ["2026-01-01T10:00:01.000Z", "2026-01-01T10:00:00.999Z"]
