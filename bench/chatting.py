"""Chat on Telegram and Feishu: what listening weighs, how soon a model is asked, and the platforms' limits.

A real `shipmate serve` speaks to loopback servers of both protocols, which note when each request came.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bench.server import AGENT, memory_of
from tests.support.bot_api import Bot, BotApi, Json
from tests.support.feishu_platform import APP_ID, APP_SECRET, FeishuPlatform
from tests.support.provider_server import ProviderServer, Recorded
from tests.support.provider_wire import Reply, say
from tests.support.serve_process import Process, shipmate

CHATS = 50
ASKED = 40
# So long answers are written: longer than the minute that both platforms count by would take too long here.
SECONDS = 40
WRITES = frozenset(("sendMessage", "editMessageText"))


class NotedTelegram(BotApi):
    """Telegram, noting when something is written in which chat."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[float, str]] = []

    async def _answer(self, bot: Bot, method: str, values: Json) -> Any:
        if method in WRITES:
            self.times.append((time.monotonic(), str(values["chat_id"])))
        return await super()._answer(bot, method, values)


class NotedFeishu(FeishuPlatform):
    """Feishu, noting when a message is sent or changed: it counts each of its calls apart."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[float, str]] = []
        self.calls: defaultdict[str, list[float]] = defaultdict(list)

    async def _begin(self, request: Request, *, is_send: bool = False) -> Response | None:
        if is_send or request.method in ("PATCH", "PUT"):
            self.times.append((time.monotonic(), request.path_params.get("id") or str(len(self.times))))
            self.calls[request.method].append(time.monotonic())
        return await super()._begin(request, is_send=is_send)


class Place:
    """A server and whom it talks to."""

    def __init__(self, telegram: NotedTelegram, feishu: NotedFeishu, models: ProviderServer) -> None:
        self.telegram = telegram
        self.feishu = feishu
        self.models = models
        self.process: Process
        # When each request reached the model.
        self.asked: list[float] = []


def measure() -> list[dict[str, Any]]:
    """Measure everything."""
    return asyncio.run(_measure())


async def _measure() -> list[dict[str, Any]]:
    async with _open(lambda _: say("Aye.")) as place:
        await asyncio.sleep(2)
        weight = memory_of(place.process.process.pid)
        by_telegram, by_feishu = await _ask_telegram(place), await _ask_feishu(place)
    words = " ".join(f"word{number}" for number in range(SECONDS * 10))
    async with _open(lambda _: say(words, deltas=SECONDS * 10, pace=0.1)) as place:
        await _stream(place)
    name = "from an update's arrival to the model request, p50"
    return [
        {"name": "idle memory, Telegram and Feishu on", "value": weight, "unit": "MB", "bar": "<= 75"},
        {"name": f"{name}, Telegram", "value": by_telegram[0], "unit": "ms", "bar": "<= 10"},
        {"name": "… at least", "value": by_telegram[1], "unit": "ms", "bar": None},
        {"name": f"{name}, Feishu", "value": by_feishu[0], "unit": "ms", "bar": "<= 10"},
        {"name": "… at least", "value": by_feishu[1], "unit": "ms", "bar": None},
        *_limits("Telegram", place.telegram.times, (30, 1, 20)),
        *_limits("Feishu", place.feishu.times, (50, 5, 1000), list(place.feishu.calls.values())),
    ]


def _limits(
    name: str,
    times: list[tuple[float, str]],
    bars: tuple[int, int, int],
    calls: list[list[float]] | None = None,
) -> list[dict[str, Any]]:
    """Return how much came at most: of all chats and in one, and in a minute of a group or of all.

    Where a platform counts its `calls` apart, the busiest of them is told.
    """
    chats: defaultdict[str, list[float]] = defaultdict(list)
    for at, chat_id in times:
        chats[chat_id].append(at)
    everywhere = calls or [[at for at, _ in times]]
    groups = [each for chat_id, each in chats.items() if chat_id.startswith("-")]
    found = (
        (
            f"{CHATS} chats stream, {name}: writes in a second{' by one call' if calls else ''}",
            most(everywhere, 1.0),
        ),
        # Two that are a second apart may arrive a little closer.
        ("… in one chat, in 0.9 s", most(list(chats.values()), 0.9)),
        (f"… in a minute, {'one group' if groups else 'all'}", most(groups or everywhere, 60.0)),
    )
    return [
        {"name": each, "value": value, "unit": "", "bar": f"<= {bar}"}
        for (each, value), bar in zip(found, bars, strict=True)
    ]


def most(series: list[list[float]], seconds: float) -> int:
    """Return how many of one series came at most within so many seconds."""
    return max(bisect_left(each, at + seconds) - place for each in series for place, at in enumerate(each))


async def _ask_telegram(place: Place) -> tuple[float, float]:
    def ask(number: int) -> None:
        place.telegram.say(f"hello {number}", chat={"id": 1000 + number, "type": "private"})

    return await _time(place, ask)


async def _ask_feishu(place: Place) -> tuple[float, float]:
    tasks: list[asyncio.Task[Any]] = []

    def ask(number: int) -> None:
        event = place.feishu.say(f"hello {number}", chat=f"oc_{number}", chat_type="p2p")
        tasks.append(asyncio.create_task(place.feishu.deliver(event)))

    found = await _time(place, ask)
    await asyncio.gather(*tasks)
    return found


async def _time(place: Place, ask: Callable[[int], None]) -> tuple[float, float]:
    """Return how many milliseconds pass until the model is asked: at the median, and at least."""
    took: list[float] = []
    for number in range(ASKED):
        count = len(place.asked)
        began = time.monotonic()
        ask(number)
        while len(place.asked) == count:  # noqa: ASYNC110
            await asyncio.sleep(0.0005)
        took.append(1000 * (place.asked[-1] - began))
        await asyncio.sleep(0.05)
    return statistics.median(took[5:]), min(took)


async def _stream(place: Place) -> None:
    """Let so many chats of each platform be answered at once, to the end."""
    half = CHATS // 2
    for number in range(1, half + 1):
        place.telegram.say("hello", chat={"id": number, "type": "private"})
        place.telegram.say("@helper_bot hello", chat={"id": -number, "type": "group", "title": "G"})
    events = [place.feishu.say("hello", chat=f"oc_{number}", chat_type="p2p") for number in range(CHATS)]
    await asyncio.gather(*map(place.feishu.deliver, events))
    last = f"word{SECONDS * 10 - 1}"

    def is_whole() -> bool:
        told = [str(each.get("text")) for each in place.telegram.shown.values()]
        told += [each.text for each in place.feishu.posted.values()]
        return sum(last in text for text in told) == 2 * CHATS

    async with asyncio.timeout(4 * SECONDS):
        while not is_whole():  # noqa: ASYNC110
            await asyncio.sleep(0.2)


@asynccontextmanager
async def _open(answer: Callable[[Recorded], Reply]) -> AsyncGenerator[Place]:
    """Start a server that listens to both platforms."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text(AGENT)
        async with NotedTelegram() as telegram, NotedFeishu() as feishu:
            times: list[float] = []

            def note(request: Recorded) -> Reply:
                times.append(time.monotonic())
                return answer(request)

            async with ProviderServer(note) as models:
                place = Place(telegram, feishu, models)
                place.asked = times
                bot = telegram.add_bot()
                adapters = {
                    "helper": {"kind": "telegram", "token": bot.token, "apiUrl": telegram.url, "open": True},
                    "feishu": {"appId": APP_ID, "appSecret": APP_SECRET, "domain": feishu.url, "open": True},
                }
                llm = {"provider": "vllm", "model": "m", "baseUrl": f"{models.url}/v1"}
                (root / "ship.json").write_text(json.dumps({"llm": llm, "adapters": adapters}))
                async with shipmate(root) as place.process:
                    await telegram.until(lambda: bot.held is not None)
                    while not feishu.connections:
                        await feishu.changed.wait()
                    yield place
