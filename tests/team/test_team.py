"""The people of a team, kept in a file."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shipmate.errors import UserError
from shipmate.team.team import Team, open_team
from shipmate.team.user_file import UserFile
from shipmate.workspace.layout import Layout


async def test_keys_end_by_the_clock_and_their_use_is_noted_now_and_then(tmp_path: Path) -> None:
    now = [datetime(2026, 5, 1, tzinfo=UTC)]
    team = Team(UserFile(Layout.at(tmp_path)), clock=lambda: now[0])
    await team.add("a.b", "member")
    _, secret = await team.issue("a.b", "token", lasts=timedelta(days=1))
    assert (found := await team.admit(secret, "token"))
    assert found[0].id == "a.b"
    assert await team.admit(secret, "session") is None
    first = (await team.get("a.b")).keys[0].used_at
    now[0] += timedelta(seconds=30)
    await team.admit(secret, "token")
    assert (await team.get("a.b")).keys[0].used_at == first
    now[0] += timedelta(days=1)
    assert await team.admit(secret, "token") is None
    for text in (
        "",
        "shm",
        "shm...",
        "shm.a.b..x",
        f"{secret}x",
        secret.replace("shm", "x"),
        f"{secret}\u00e9",
    ):
        assert await team.admit(text, "token") is None


async def test_names_and_passwords_are_held_to_what_is_safe(tmp_path: Path) -> None:
    team = open_team(Layout.at(tmp_path))
    for name in ("owner", "", "Anna", "a b", "../x", "x" * 41, "-x"):
        with pytest.raises(UserError):
            await team.add(name, "member")
    with pytest.raises(UserError):
        await team.add("anna", "member", password="short")
    await asyncio.gather(*(team.add(f"u{i}", "guest") for i in range(8)))
    assert len(await team.users.list()) == 8
    with pytest.raises(UserError, match="already"):
        await team.add("u1", "admin")
    before = await team.get("u1")
    await team.remove("u1")
    assert (await team.add("u1", "admin")).uid != before.uid
    assert Layout.at(tmp_path).users.stat().st_mode & 0o077 == 0
    Layout.at(tmp_path).users.write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        await open_team(Layout.at(tmp_path)).users.list()
