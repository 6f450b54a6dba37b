"""The token, the sessions made from it, and tickets."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import UserError
from shipmate.server.guard.access_token import TICKET_SECONDS, Tickets, Token, check_reach


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ship" / "token"


def test_a_token_is_made_once_and_only_its_owner_can_read_it(path: Path) -> None:
    first = Token.make(path)
    again = Token.make(path)
    assert len(first.value) >= 32
    assert again.value == first.value
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_session_outlives_a_restart_and_ends_with_the_token(path: Path) -> None:
    session = Token.make(path).open_session()
    token = Token.make(path)
    assert token.admits_session(session)
    path.unlink()
    assert not token.admits_session(session)
    path.write_text("x" * 40)
    assert not token.admits_session(session)
    assert token.admits("x" * 40)


def test_tampered_and_malformed_sessions_are_refused(path: Path) -> None:
    token = Token.make(path)
    session = token.open_session()
    body, _, signature = session.rpartition(".")
    for bad in (
        "",
        ".",
        "..",
        "a.b.c",
        body,
        f"{body}.",
        f"x{body}.{signature}",
        f"{body}.{signature}x",
        "é.١.x",
    ):
        assert not token.admits_session(bad)


def test_an_old_session_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = Token.make(path)
    monkeypatch.setattr("time.time", lambda: 1_000_000_000)
    session = token.open_session()
    assert token.admits_session(session)
    monkeypatch.setattr("time.time", lambda: 1_000_000_000 + 31 * 24 * 3600)
    assert not token.admits_session(session)


def test_an_empty_or_short_token_admits_nobody(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("")
    assert not Token(path).admits("")
    path.write_text("short")
    assert not Token(path).admits("short")


def test_csrf_values_belong_to_one_session(path: Path) -> None:
    token = Token.make(path)
    assert token.csrf(token.open_session()) != token.csrf(token.open_session())


def test_a_ticket_works_once_and_not_for_ever() -> None:
    now = 0.0
    tickets = Tickets(lambda: now)
    first, second = tickets.issue(), tickets.issue()
    assert tickets.redeem(first)
    assert not tickets.redeem(first)
    assert not tickets.redeem("made up")
    now = TICKET_SECONDS + 1.0
    assert not tickets.redeem(second)


def test_listening_beyond_loopback_needs_a_strong_private_token(path: Path) -> None:
    token = Token.make(path)
    check_reach(False, token)
    path.chmod(0o644)
    with pytest.raises(UserError, match="no strong token"):
        check_reach(False, token)
    check_reach(True, token)
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(UserError, match="no strong token"):
        check_reach(False, token)


def test_the_environment_may_give_the_token(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIPMATE_TOKEN", "e" * 40)
    token = Token.make(path)
    assert token.admits("e" * 40)
    assert token.is_strong()
    assert not path.exists()
