"""Servers, terminals, one-shots and programs on one workspace, killed at random points of their traffic.

Nothing is lost, nothing runs twice, everyone is answered. `make test` goes through one plan.
`SHIPMATE_KILLS=1000 pytest tests/crash` is a long proof, each time elsewhere; `SHIPMATE_SEED` repeats a plan.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from shipmate.workspace.layout import Layout
from tests.crash.check import Check, open_calls
from tests.crash.crowd import Crowd
from tests.crash.record import ROOMS, Record
from tests.crash.trouble import Trouble
from tests.support.fork_server import ForkServer

SEARCHED = int(os.environ.get("SHIPMATE_KILLS") or 0)
KILLS = SEARCHED or 48
SEED = int(os.environ.get("SHIPMATE_SEED") or (random.SystemRandom().randrange(1, 10**9) if SEARCHED else 1))
# A workspace is used for so many signals; a longer proof goes on in another.
KILLS_PER_WORKSPACE = 50
# Reached only when somebody is never answered.
REST_SECONDS = 120


@pytest.mark.crash
@pytest.mark.parametrize("start", range(0, KILLS, KILLS_PER_WORKSPACE))
async def test_d8_nothing_is_lost_or_done_twice_and_everyone_is_answered(tmp_path: Path, start: int) -> None:
    seed = SEED + start
    print(f"seed {seed} (repeat with SHIPMATE_SEED={seed})")
    root, logs = tmp_path / "workspace", tmp_path / "logs"
    root.mkdir()
    logs.mkdir()
    (root / "Agent.md").write_text("# Stamper\n")
    (root / "ship.json").write_text('{"permissions": {"allow": ["stamp"]}}')
    began, record = time.monotonic(), Record()
    async with ForkServer(root, logs) as forks:
        crowd = Crowd(root, forks, record, random.Random(seed))
        trouble = Trouble(Layout(root), forks, record, random.Random(-seed))
        troubles = await go_through(crowd, trouble, min(KILLS - start, KILLS_PER_WORKSPACE))
    print_numbers(record, len(forks.started), time.monotonic() - began)
    for each in forks.started:
        words = each.log.read_text()
        # A server that was asked to end says which requests it did not wait for.
        is_cut_short = "timeout graceful shutdown exceeded" in words
        if re.search("Traceback|Unhandled exception|never retrieved", words) and not is_cut_short:
            troubles.append(f"{each.name} shows what nobody should see:\n{words[-5000:]}")
    print(*troubles, sep="\n")
    assert not troubles, "\n".join(troubles)


async def go_through(crowd: Crowd, trouble: Trouble, kills: int) -> list[str]:
    """Let people talk while trouble is made, bring all of it to rest, and return what is wrong then."""
    serving = [asyncio.create_task(crowd.serve()) for _ in range(2)]
    people = [asyncio.ensure_future(each) for each in crowd.people()]
    try:
        await trouble.make(kills)
        crowd.is_closing = True
        async with asyncio.timeout(REST_SECONDS):
            await asyncio.gather(*people)
            await come_to_rest(crowd)
        check = Check(crowd.layout, crowd.record)
        crowd.record.counts["effects"] = len(check.effects)
        async with crowd.client(await crowd.address()) as client:
            return [*check.troubles(), *await check.index_troubles(client)]
    except TimeoutError:
        waits = [said for said in crowd.record.said.values() if said.told is None]
        living = [each for each in crowd.forks.started if not each.ended.is_set()]
        stands = [f"{each.name} {each.pid} stands at\n{await each.stand()}" for each in living]
        waits += open_calls(crowd.layout)
        return [f"not at rest after {REST_SECONDS} seconds: {waits}", *stands, *crowd.record.troubles]
    finally:
        for task in (*people, *serving):
            task.cancel()
        await asyncio.gather(*people, *serving, return_exceptions=True)


async def come_to_rest(crowd: Crowd) -> None:
    """Answer every question, and wait until no thread has anything left to do."""
    while True:
        # A decided call is no question any more, and nothing of it stands in a queue: its row comes to an
        # end while its keeper says that the thread runs.
        is_busy = bool(open_calls(crowd.layout))
        waiting = crowd.waiting()
        for approval in waiting:
            await crowd.answer(approval)
        for address in [await crowd.address(), *crowd.addresses.values()]:
            async with crowd.client(address) as client:
                listed = (await client.get("/api/threads", params={"limit": 100})).json()["threads"]
                queues = [(await client.get(f"/api/threads/{room}/queue")).json()["queue"] for room in ROOMS]
                is_busy = is_busy or any(queues) or any(each["running"] for each in listed)
        if not waiting and not is_busy:
            return
        await asyncio.sleep(0.05)


def print_numbers(record: Record, processes: int, seconds: float) -> None:
    """Say how much was tried."""
    known = [said for said in record.said.values() if said.acknowledged]
    signals = sum(record.counts[number.name] for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP))
    print(
        f"{seconds:.0f} s: {signals} signals, {processes} processes, {len(record.keepers)} keepers, "
        f"{len(record.said)} messages, {len(known)} acknowledged"
    )
    print(", ".join(f"{count} {name}" for name, count in sorted(record.counts.items())))
