"""Kill the process at random points of traffic: nothing is lost, nothing runs twice, all stays readable.

`SHIPMATE_KILLS=1000 pytest tests/crash` kills more often, each time elsewhere; `SHIPMATE_SEED` repeats a run.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from shipmate.approvals.record import Records
from shipmate.approvals.value import Approval
from shipmate.thread.log import FileLog, Position
from shipmate.thread.merge import merge_rows
from shipmate.values.event import ApprovalReplyEvent, IngressEvent, TextEvent, encode_event
from shipmate.values.message import UIMessage, is_settled, metadata_of, text_of, tool_parts
from shipmate.workspace.layout import Layout

SEARCHED = int(os.environ.get("SHIPMATE_KILLS") or 0)
KILLS = SEARCHED or 100
SEED = int(os.environ.get("SHIPMATE_SEED") or (random.SystemRandom().randrange(1, 10**9) if SEARCHED else 1))
ROOMS = 3
REPOSITORY = Path(__file__).parents[2]


class Traffic:
    """Send marks and answers until all are acknowledged and done, whatever happens to the process."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.acked: set[str] = set()
        self.done: set[str] = set()
        self.sent = 0

    def event(self, number: int) -> TextEvent:
        return TextEvent(
            platform="cli",
            thread_id=f"cli:dm:{number % ROOMS}",
            user_id="ann",
            message_id=str(number),
            timestamp="2026-01-01T00:00:00.000Z",
            text=f"please mark-{number}",
        )

    def live(self, kill_after: float | None) -> None:
        """Run the process once: to its end, or until it is killed."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.sailor", str(self.folder)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        killer = threading.Timer(kill_after, process.kill) if kill_after is not None else None
        if killer:
            killer.start()
        with contextlib.suppress(BrokenPipeError):
            marks = [self.event(number) for number in self.numbers(kill_after is None)]
            for event in [*marks, *self.answers(kill_after is None)]:
                process.stdin.write(encode_event(event).decode() + "\n")
            process.stdin.flush()
            if kill_after is None:
                process.stdin.close()
        for line in process.stdout:
            word, _, rest = line.strip().partition(" ")
            {"ack": self.acked, "done": self.done}[word].add(rest.split(" ")[0])
        process.wait()
        if killer:
            killer.cancel()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()

    def numbers(self, is_last: bool) -> list[int]:
        """Choose what to send: a few new marks, everything not acknowledged, and some repeats."""
        fresh = [] if is_last else list(range(self.sent, self.sent + self.chance.randint(1, 4)))
        self.sent += len(fresh)
        unknown = [number for number in range(self.sent) if str(number) not in self.acked]
        known = sorted(each for each in self.acked if each.isdigit())
        repeats = [int(number) for number in self.chance.sample(known, min(3, len(known)))]
        numbers = list(dict.fromkeys([*unknown, *repeats]))
        self.chance.shuffle(numbers)
        return numbers

    def answers(self, is_last: bool) -> list[IngressEvent]:
        """Answer what waits, repeat answers that were given, and answer again what was decided."""
        known = approvals_of(Layout(self.folder))
        waiting = [each for each in known if each.is_open]
        chosen = waiting if is_last else [each for each in waiting if self.chance.random() < 0.5]
        pressed = [press(each, "press") for each in chosen for _ in range(self.chance.randint(1, 2))]
        repeats = self.chance.sample(known, min(2, len(known)))
        return [*pressed, *(press(each, self.chance.choice(["press", "more"])) for each in repeats)]

    @property
    def waits(self) -> bool:
        return any(each.is_open for each in approvals_of(Layout(self.folder)))


def approvals_of(layout: Layout) -> list[Approval]:
    records = Records(layout)
    return [found for each in records.ids() if (found := records.read(each)) is not None]


def press(approval: Approval, way: str) -> ApprovalReplyEvent:
    """Press a button; every fifth question is denied."""
    return ApprovalReplyEvent(
        platform="cli",
        thread_id=approval.thread_id,
        user_id="ann",
        message_id=f"{way}-{approval.id}",
        timestamp="2026-01-01T00:00:00.000Z",
        text="",
        approval_id=approval.id,
        approved=int(approval.input["mark"].removeprefix("mark-")) % 5 > 0,
    )


@pytest.mark.crash
async def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    (tmp_path / "Agent.md").write_text("# Stamper\n")
    (tmp_path / "ship.json").write_text('{"permissions": {"allow": ["stamp"]}}')
    chance = random.Random(SEED)
    traffic = Traffic(tmp_path, chance)
    for _ in range(KILLS):
        traffic.live(kill_after=chance.uniform(0.001, 0.12))
    traffic.live(kill_after=None)
    while traffic.waits:
        traffic.live(kill_after=None)
    assert {each for each in traffic.acked if each.isdigit()} == {str(each) for each in range(traffic.sent)}
    await check(Layout(tmp_path), traffic.sent)


async def check(layout: Layout, sent: int) -> None:
    """Check the files a killed process left."""
    effects = Counter((layout.root / "effects.log").read_text().split())
    doubled = {mark: count for mark, count in effects.items() if count > 1}
    assert doubled == {}
    check_decisions(layout, effects)
    said: Counter[str] = Counter()
    stamped: dict[str, str] = {}
    for thread_id in await FileLog(layout).ids():
        tail = await FileLog(layout).read(thread_id, Position())
        assert tail.problems == []
        messages = merge_rows(tail.rows)
        said.update(mark for message in messages if message["role"] == "user" for mark in marks(message))
        for message in messages:
            if message["role"] == "assistant":
                check_calls(message, stamped)
                # A run that was suspended when the talk moved on has no end of its own.
                is_sealed = any(part["type"] == "tool-seal" for part in tool_parts(message))
                assert metadata_of(message).get("outcome") in ("replied", "failed") or is_sealed, message
    expected = {f"mark-{number}" for number in range(sent)}
    assert set(said) == expected
    assert max(said.values()) == 1
    for mark in expected:
        if effects[mark] == 0:
            # On a busy machine a run may be killed five times before it gets anywhere, and be given up.
            told = stamped.get(mark, "it did not run")
            assert re.search("interrupted|did not run|denied|is not known", told), mark


def check_decisions(layout: Layout, effects: Counter[str]) -> None:
    """What a person must be asked about happened only where a stored decision says so."""
    approvals = approvals_of(layout)
    approved = {each.input["mark"] for each in approvals if each.status == "approved" and each.ruling}
    asked = {each.input["mark"] for each in approvals}
    sealed = {mark for mark in effects if int(mark.removeprefix("mark-")) % 3 == 0}
    assert {each.status for each in approvals} <= {"approved", "denied"}
    assert sealed <= approved <= asked
    assert len(asked) == len(approvals) > 0


def check_calls(message: UIMessage, stamped: dict[str, str]) -> None:
    """Every call has its one result; an effect without one is named as unknown, never repeated."""
    for part in tool_parts(message):
        assert is_settled(part), part
        if part["type"] in ("tool-stamp", "tool-seal"):
            mark = part["input"]["mark"]
            assert mark not in stamped, f"{mark} was stamped by two calls"
            stamped[mark] = str(part.get("output") or part.get("errorText") or "denied")


def marks(message: UIMessage) -> list[str]:
    return re.findall(r"mark-\d+", text_of(message))
