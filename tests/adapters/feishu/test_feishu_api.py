"""Many chats that stream at once stay within the platform's limits."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress

import pytest

from shipmate.adapters.feishu.feishu_api import DOMAINS, FeishuApi, FeishuPace, FeishuRefusedError
from shipmate.errors import SendError, SendLaterError
from tests.support.feishu_platform import APP_ID, APP_SECRET, FeishuPlatform, refuse


def test_fifty_chats_that_change_a_card_each_second_hold_the_limits() -> None:
    now = 0.0
    pace = FeishuPace(clock=lambda: now)
    done: list[float] = []
    waits: list[float] = []
    while now < 180:
        try:
            pace.step()
            done.append(now)
        except SendLaterError as error:
            waits.append(error.retry_after or 0)
        now += 0.02
    for size, limit in ((1.0, 50), (60.0, 1000)):
        assert max(bisect_left(done, at + size) - place for place, at in enumerate(done)) <= limit
    assert len(done) > 2700
    assert all(0 < wait <= 60 for wait in waits)


def test_previews_leave_room_for_answers() -> None:
    now = 0.0
    pace = FeishuPace(lambda: now)
    for _ in range(60):
        now += 1.0
        with suppress(SendLaterError):
            while True:
                pace.step(is_preview=True)
        for _ in range(3):
            pace.step()
        with pytest.raises(SendLaterError):
            pace.step(is_preview=True)


async def test_a_token_is_renewed_before_it_ends() -> None:
    now = 0.0
    async with FeishuPlatform() as platform:
        api = FeishuApi(platform.url, APP_ID, APP_SECRET, clock=lambda: now)
        for moment, count in ((0, 1), (6000, 1), (6901, 2), (13_000, 2), (20_000, 3)):
            now = moment
            await api.call("GET", "/open-apis/bot/v3/info")
            assert len(platform.tokens) == count
        await api.close()


async def test_what_an_answer_means_is_told_apart() -> None:
    path, query = "/open-apis/im/v1/messages", {"receive_id_type": "chat_id"}
    body = {"msg_type": "post", "content": "{}", "uuid": "k", "receive_id": "oc_1"}
    async with FeishuPlatform() as platform:
        api = FeishuApi(platform.url, APP_ID, APP_SECRET)
        for code, status, headers, retry_after, everywhere in (
            (99991400, 429, {"x-ogw-ratelimit-reset": "3600"}, 3600, True),
            (99991400, 400, {"x-ogw-ratelimit-reset": "soon"}, None, True),
            (230020, 400, {}, None, False),
            (1, 429, {"retry-after": "7"}, 7, True),
        ):
            platform.faults.append(refuse(code, "too many", status, headers))
            with pytest.raises(SendLaterError) as later:
                await api.call("POST", path, body, query)
            assert (later.value.retry_after, later.value.everywhere) == (retry_after, everywhere)
        for code, status, kind in (
            (230002, 400, FeishuRefusedError),
            (230002, 200, FeishuRefusedError),
            (2200, 500, SendError),
            (230049, 400, SendError),
        ):
            platform.faults.append(refuse(code, "odd", status))
            with pytest.raises(SendError) as odd:
                await api.call("POST", path, body, query)
            assert type(odd.value) is kind
        await api.close()
        # Nobody is there: nothing was sent.
        nowhere = FeishuApi("http://127.0.0.1:1", APP_ID, APP_SECRET)
        with pytest.raises(SendLaterError):
            await nowhere.call("POST", path, body, query)
        await nowhere.close()
    assert platform.posted == {}


def test_lark_is_feishu_at_another_address() -> None:
    assert {name: FeishuApi(name, "a", "b").is_encrypted for name in DOMAINS} == {
        "feishu": True,
        "lark": True,
    }
