"""Backups by the clock: made when due, also late ones, the oldest removed, the missed and failed named."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.moving.archive.backup import find_due, findings, list_backups, make_backup, read_record
from shipmate.moving.archive.unpack import verify
from shipmate.moving.move_wording import MoveError
from shipmate.schedule.when import read_when
from shipmate.workspace.config import BackupSettings, Config
from shipmate.workspace.finding import Finding
from tests.support.moving import make_target

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
NIGHTLY = Config(backup=BackupSettings(when="0 3 * * *", keep=2))


def level(found: list[Finding]) -> str:
    return " ".join(f"{each.level} {each.message}" for each in found)


def test_backups_are_kept_by_number_and_their_state_is_told(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    assert findings(layout, Config()) == []
    assert "warn none was made yet" in level(findings(layout, NIGHTLY, NOON))
    layout.backups.mkdir(parents=True)
    (layout.backups / "mine.tar.gz").write_text("not a backup of ours")
    for day in range(4):
        made = make_backup(layout, NIGHTLY.backup, NOON + timedelta(days=day))
        assert verify(made).files
    last = NOON + timedelta(days=3)
    assert [path.name for path in list_backups(layout, NIGHTLY.backup)] == [
        "shipmate-20260307T120000Z.tar.gz",
        "shipmate-20260306T120000Z.tar.gz",
    ]
    assert (layout.backups / "mine.tar.gz").exists()
    assert level(findings(layout, NIGHTLY, last)).startswith("ok ")
    late = level(findings(layout, NIGHTLY, last + timedelta(days=1)))
    assert late.startswith("warn the one due at 2026-03-08T03:00:00.000Z was missed")
    assert find_due(read_when("0 3 * * *"), read_record(layout), last) == datetime(2026, 3, 8, 3, tzinfo=UTC)
    bad = BackupSettings(when="0 3 * * *", folder=str(layout.agent))
    with pytest.raises(MoveError):
        make_backup(layout, bad, last)
    assert level(findings(layout, NIGHTLY, last)).startswith("error the last one failed")
    # A failed one is tried again soon, not at once.
    assert find_due(read_when("every 1h"), read_record(layout), last) > last
    assert "error" in level(findings(layout, Config(backup=BackupSettings(when="often")), NOON))


def test_the_keeper_makes_what_is_due_and_no_copy_holds_copies(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    layout.config.write_text(json.dumps({"backup": {"when": "every 1d", "folder": "copies"}}))

    async def keep() -> None:
        async with Shipmate.open(layout.root, environ={}) as ship:
            await ship.keeper.idle()

    asyncio.run(keep())
    made = list_backups(layout, BackupSettings(folder="copies"))
    assert len(made) == 1
    assert not any("copies" in each.path or "backups" in each.path for each in verify(made[0]).files)
    # What is not due yet is not made again by the next keeper.
    asyncio.run(keep())
    assert list_backups(layout, BackupSettings(folder="copies")) == made
