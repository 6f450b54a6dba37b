"""Servers that talk on Telegram and Feishu, killed at random points while answers are written and sent.

Nothing that was said is lost. Feishu can be asked by key: there every answer stands once. Telegram cannot:
there no answer stands twice, and each that may be missing is listed by `shipmate outbox`.
`SHIPMATE_KILLS=1000 pytest tests/crash` is the long proof; `SHIPMATE_SEED` repeats a plan.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.port import OutboxRow
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from tests.support.bot_api import BotApi, LostError, RefusedError
from tests.support.feishu_platform import APP_ID, APP_SECRET, FeishuPlatform
from tests.support.fork_server import ForkServer, Started
from tests.support.teller import MARK

SEARCHED = int(os.environ.get("SHIPMATE_KILLS") or 0)
KILLS = SEARCHED or 7
SEED = int(os.environ.get("SHIPMATE_SEED") or (random.SystemRandom().randrange(1, 10**9) if SEARCHED else 1))
KILLS_PER_WORKSPACE = 50
REST_SECONDS = 60


class Talk:
    """What is said on both platforms, and by whom."""

    def __init__(self, root: Path, telegram: BotApi, feishu: FeishuPlatform, chance: random.Random) -> None:
        self.outbox = JournalOutbox(Layout(root), DISK)
        self.telegram = telegram
        self.feishu = feishu
        self.chance = chance
        self.bot = telegram.add_bot()
        self.said: dict[str, str] = {}
        self.is_closing = False
        # Kills should find sends that nobody knows the end of.
        telegram.slowness = feishu.slowness = lambda: chance.choice((0, 0.05, 0.3))

    def settings(self) -> str:
        telegram = {"kind": "telegram", "token": self.bot.token, "apiUrl": self.telegram.url, "open": True}
        feishu = {"appId": APP_ID, "appSecret": APP_SECRET, "domain": self.feishu.url, "open": True}
        return json.dumps({"adapters": {"helper": telegram, "feishu": feishu}})

    async def on_telegram(self) -> None:
        """Say one thing after the other; now and then an answer to a send gets lost, or must wait."""
        while not self.is_closing:
            chat = {"id": self.chance.randint(1, 3), "type": "private", "first_name": "Ann"}
            self.telegram.say(self._new("telegram"), chat=chat)
            if self.chance.random() < 0.2:
                later = RefusedError(429, "Too Many Requests: retry after 0", retry_after=0)
                self.telegram.troubles.append(self.chance.choice((LostError(), later)))
            await asyncio.sleep(self.chance.uniform(0.05, 0.5))

    async def on_feishu(self) -> None:
        """Say one thing after the other, each until it is taken, and some of it again."""
        while not self.is_closing:
            payload = self.feishu.say(self._new("feishu"))
            for _ in range(self.chance.randint(1, 3)):
                await self.feishu.deliver(payload)
            await asyncio.sleep(self.chance.uniform(0.05, 0.3))

    def _new(self, platform: str) -> str:
        mark = f"mark-{len(self.said):05}"
        self.said[mark] = platform
        return f"tell {mark}"

    def redeliver(self) -> None:
        """Let Telegram know nothing of what it was told to have arrived."""
        if self.chance.random() < 0.5:
            self.bot.updates = list(self.bot.history)
            # A process that lives may wait for news; it would hear of these when its question ends, in 50 s.
            if self.bot.held and not self.bot.held.done():
                self.bot.held.set_result(None)

    def shown(self) -> dict[str, list[str]]:
        """Return what stands in the chats of each platform."""
        telegram = [str(each["text"]) for each in self.telegram.shown.values()]
        return {"telegram": telegram, "feishu": [each.text for each in self.feishu.posted.values()]}

    def troubles(self, rows: list[OutboxRow]) -> list[str]:
        """Say what is missing, doubled or not listed."""
        listed = {
            mark
            for row in rows
            if row.platform == "helper" and (row.status == "uncertain" or row.has_stray)
            for mark in MARK.findall(row.message.text or "")
        }
        found: list[str] = []
        for platform, texts in self.shown().items():
            whole = Counter(mark for text in texts if _is_whole(text) for mark in MARK.findall(text))
            halves = Counter(mark for text in texts if not _is_whole(text) for mark in MARK.findall(text))
            for mark in (mark for mark, said in self.said.items() if said == platform):
                stand = f"{[text for text in texts if mark in text]}, sends {_tell_sends(rows, mark)}"
                if whole[mark] != 1 and not (platform == "telegram" and not whole[mark] and mark in listed):
                    found.append(f"{platform}: {mark} stands there {whole[mark]} times: {stand}")
                if halves[mark] and mark not in listed:
                    found.append(f"{platform}: a half of {mark} stands there and is not listed: {stand}")
        found += [f"{row.id} {row.status}" for row in rows if row.status not in ("sent", "uncertain")]
        asked = [row for row in rows if row.platform == "feishu" and row.status == "uncertain"]
        return [*found, *(f"{row.id} {row.error}" for row in asked)]


def _is_whole(text: str) -> bool:
    """Return whether an answer stands there; a preview may hold each of its words, and dots behind them."""
    return text.rstrip().endswith("all.")


def _tell_sends(rows: list[OutboxRow], mark: str) -> list[str]:
    about = (row for row in rows if mark in (row.message.text or ""))
    return [
        f"{row.id} {row.status}, attempts {row.attempts}, {row.receipt}, stray {row.has_stray}, {row.error}"
        for row in about
    ]


@pytest.mark.crash
@pytest.mark.parametrize("start", range(0, KILLS, KILLS_PER_WORKSPACE))
async def test_m8_what_is_said_on_platforms_is_answered_once(tmp_path: Path, start: int) -> None:
    seed = SEED + start
    print(f"seed {seed} (repeat with SHIPMATE_SEED={seed})")
    root, logs = tmp_path / "workspace", tmp_path / "logs"
    root.mkdir()
    logs.mkdir()
    (root / "Agent.md").write_text("# Teller\n")
    async with BotApi() as telegram, FeishuPlatform() as feishu:
        talk = Talk(root, telegram, feishu, random.Random(seed))
        (root / "ship.json").write_text(talk.settings())
        async with ForkServer(root, logs, tells=True) as forks:
            ready: list[Started] = []
            serving = [asyncio.create_task(serve(forks, ready)) for _ in range(2)]
            talking = [asyncio.create_task(each) for each in (talk.on_telegram(), talk.on_feishu())]
            try:
                await kill(ready, talk, min(KILLS - start, KILLS_PER_WORKSPACE), random.Random(-seed))
                troubles = await come_to_rest(talk, talking)
            finally:
                for task in (*serving, *talking):
                    task.cancel()
                await asyncio.gather(*serving, *talking, return_exceptions=True)
        counts = Counter(talk.said.values())
        rows = talk.outbox.look()
        uncertain = sum(row.status == "uncertain" or row.has_stray for row in rows)
        print(f"{len(forks.started)} processes, {counts} said, {len(rows)} sends, {uncertain} uncertain")
        for each in forks.started:
            if re.search("Traceback|never retrieved", words := each.log.read_text()):
                troubles.append(f"{each.name}:\n{words[-3000:]}")
        assert not troubles, "\n".join(troubles)


async def come_to_rest(talk: Talk, talking: list[asyncio.Task[None]]) -> list[str]:
    """Wait until all is said and answered; return what is wrong when that never comes."""
    talk.is_closing = True
    talk.telegram.troubles.clear()
    troubles: list[str] = []
    try:
        async with asyncio.timeout(REST_SECONDS):
            await asyncio.gather(*talking)
            while (troubles := talk.troubles(talk.outbox.look())) or talk.bot.updates:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        left = f"not at rest; {len(talk.bot.updates)} updates are not taken"
        return [*troubles, left, *(f"{row}"[:300] for row in talk.outbox.look()[-20:])]
    return troubles


async def serve(forks: ForkServer, ready: list[Started]) -> None:
    """Keep a server up."""
    while True:
        process = await forks.start("serve", "serve", "--port", "0", "--no-open")
        if await process.lines.readline():
            ready.append(process)
            await process.ended.wait()
            ready.remove(process)
        await process.ended.wait()


async def kill(ready: list[Started], talk: Talk, count: int, chance: random.Random) -> None:
    """Kill so many servers, each a moment after the last; mostly the one that keeps and listens."""
    for _ in range(count):
        while not ready:  # noqa: ASYNC110  (until a process is up)
            await asyncio.sleep(0.05)
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        victim = ready[0] if chance.random() < 0.8 else chance.choice(ready)
        victim.signal(signal.SIGKILL if chance.random() < 0.8 else signal.SIGTERM)
        await victim.ended.wait()
        talk.redeliver()
