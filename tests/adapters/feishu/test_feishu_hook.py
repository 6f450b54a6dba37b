"""Only what Feishu signed and sealed is read, and nothing begins twice."""

from __future__ import annotations

import base64
import json
from datetime import datetime as real_datetime
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from shipmate.adapters.feishu.feishu_hook import FeishuHook, decrypt
from shipmate.app import Shipmate
from shipmate.delivery.adapter import HookRequest
from shipmate.models.scripted import ScriptedModel
from shipmate.store.journal import inbox
from tests.support.feishu_platform import (
    APP_ID,
    APP_SECRET,
    ENCRYPT_KEY,
    TOKEN,
    FeishuPlatform,
    push,
    seal,
    sign,
)
from tests.support.server import make_site, make_workspace, opener_for, serving

NOW = 1_800_000_000
HOUR = 3600
EVENT = {"schema": "2.0", "header": {"token": TOKEN, "event_type": "x"}, "event": {}}
CHALLENGE = {"type": "url_verification", "token": TOKEN, "challenge": "c1"}


def hook() -> FeishuHook:
    return FeishuHook(ENCRYPT_KEY, TOKEN, clock=lambda: NOW)


def request(body: bytes, headers: dict[str, str] | None = None, at: float = NOW) -> HookRequest:
    return HookRequest(headers=sign(body, at=at) if headers is None else headers, query={}, body=body)


def test_it_opens_what_the_documentation_shows_sealed() -> None:
    sealed = base64.b64decode("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=")
    assert decrypt(b"test key", sealed) == b"hello world"


@pytest.mark.parametrize("cut", [0, 15, 16, 17, 31])
def test_what_is_cut_off_is_not_opened(cut: int) -> None:
    with pytest.raises(ValueError, match=r"blocks|padding"):
        decrypt(b"k", b"\0" * cut)


@pytest.mark.parametrize("age", [0, 15, 5 * 60, HOUR, 6 * HOUR, 7 * HOUR + 320, -60])
def test_what_is_signed_and_sealed_is_read_also_when_it_comes_again(age: float) -> None:
    assert hook().open(request(seal(EVENT), at=NOW - age)) == EVENT


def test_the_address_is_tried_unsigned_and_nothing_else_is() -> None:
    assert hook().open(request(seal(CHALLENGE), {})) == CHALLENGE
    assert hook().open(request(seal(CHALLENGE))) == CHALLENGE
    assert hook().open(request(seal(EVENT), {})) is None
    for odd in (CHALLENGE | {"token": "other"}, {"type": "url_verification", "challenge": "c1"}):
        assert hook().open(request(seal(odd), {})) is None
    assert hook().open(request(json.dumps(CHALLENGE).encode(), {})) is None


def refused() -> dict[str, HookRequest]:
    """Return requests that are not Feishu's, or not as Feishu made them."""
    body = seal(EVENT)
    good = sign(body, at=NOW)
    reencoded = json.dumps(json.loads(body), indent=1).encode()
    plain = json.dumps(EVENT).encode()
    other_key = seal(EVENT, "another-key")
    found = {
        "forged": request(body, sign(body, at=NOW, key="guess")),
        "forged and sealed": request(other_key, sign(other_key, at=NOW, key="another-key")),
        "sealed with another key": request(other_key),
        "unsigned": request(body, {}),
        "re-encoded": request(reencoded, good),
        "another body": request(seal(EVENT), good),
        "not sealed": request(plain),
        "stale": request(body, at=NOW - 8 * HOUR),
        "of yesterday": request(body, at=NOW - 24 * HOUR),
        "of tomorrow": request(body, at=NOW + 24 * HOUR),
        "another token": request(seal(EVENT | {"header": {"token": "x"}})),
        "no token": request(seal(EVENT | {"header": {}})),
        "a token that is no text": request(seal(EVENT | {"header": {"token": {}}})),
        "a list": request(b"[]"),
        "no json": request(b"\xff\xfe"),
        "deep": request(b"[" * 100_000),
        "no base64": request(b'{"encrypt": "@@@@"}'),
        "nothing sealed": request(b'{"encrypt": ""}'),
        "a number sealed": request(b'{"encrypt": 1}'),
        "empty": request(b""),
    }
    for header in good:
        found[f"without {header}"] = request(body, {key: each for key, each in good.items() if key != header})
        found[f"empty {header}"] = request(body, good | {header: ""})
        found[f"odd {header}"] = request(body, good | {header: good[header] + "é"})
    found["upper case"] = request(body, good | {"x-lark-signature": good["x-lark-signature"].upper()})
    for at in ("-1", "1e9", "٣" * 10, "9" * 40, " 1800000000", "0x1"):
        headers = sign(body, at=NOW)
        moved = headers | {"x-lark-request-timestamp": at}
        found[f"at {at}"] = request(body, moved)
    return found


@pytest.mark.parametrize("name", refused())
def test_whatever_is_not_surely_feishus_is_refused(name: str) -> None:
    assert hook().open(refused()[name]) is None


def _shift(hours: float) -> Any:
    class Shifted(real_datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> real_datetime:
            return real_datetime.now(tz) + timedelta(hours=hours)

    return Shifted


async def test_what_comes_again_for_seven_hours_and_after_a_restart_starts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_workspace(tmp_path)
    model = ScriptedModel(["Hello."] * 20)
    async with FeishuPlatform() as platform:
        settings = {
            "mode": "webhook",
            "domain": platform.url,
            "appId": APP_ID,
            "appSecret": APP_SECRET,
            "encryptKey": ENCRYPT_KEY,
            "verificationToken": TOKEN,
            "open": True,
        }
        (tmp_path / "ship.json").write_text(json.dumps({"adapters": {"feishu": settings}}))
        event = platform.say("hi", message_id="om_1")
        first = push(event)
        # The same as it came, signed anew, and under another event's id: a message has one id.
        again = [first, push(event), push(event | {"header": event["header"] | {"event_id": "ev-other"}})]
        for hours in (0, 15 / HOUR, 5 / 60, 1, 6, 7.1):
            monkeypatch.setattr(inbox, "datetime", _shift(hours))
            async with serving(make_site(tmp_path, opener_for(model))) as served:
                async with served.stranger() as stranger:
                    for each in again:
                        answer = await stranger.post("/hooks/feishu", content=each.body, headers=each.headers)
                        assert (answer.status_code, answer.json()) == (200, {})
                    forged = replace(first, headers={**first.headers, "x-lark-signature": "0" * 64})
                    answer = await stranger.post("/hooks/feishu", content=forged.body, headers=forged.headers)
                    assert answer.status_code == 403
                    tried = seal(CHALLENGE)
                    answer = await stranger.post("/hooks/feishu", content=tried)
                    assert answer.json() == {"challenge": "c1"}
                ship = await served.ship()
                assert isinstance(ship, Shipmate)
                await served.idle()
                await platform.wait("Hello.")
        assert [each.text for each in platform.in_chat()] == ["Hello."]
        assert len(model.requests) == 1
