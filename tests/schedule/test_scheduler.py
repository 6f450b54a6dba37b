"""Each due time is begun once or listed, whatever is killed and however the clock jumps (R4)."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from shipmate.errors import NotFoundError
from shipmate.schedule.occasion import make_hand_event
from shipmate.schedule.scheduler import Scheduler
from shipmate.schedule.task import Task, write_task
from shipmate.schedule.task_folder import TaskFolder
from shipmate.schedule.when import read_when
from shipmate.store.journal import occurrence as journals
from shipmate.store.journal.occurrence import (
    JournalOccurrences,
    MarkOccurrence,
    Occurrence,
    OccurrenceLine,
    Put,
    stamp,
)
from shipmate.values.event import QUIET, CourseEvent, IngressEvent, Outcome, TextEvent
from shipmate.workspace.disk.disk import OsDisk
from shipmate.workspace.layout import Layout

START = datetime(2026, 3, 27, 12, tzinfo=UTC)


class KilledError(asyncio.CancelledError):
    """The process is dead."""


class KillingDisk(OsDisk):
    """The machine's disk for a process that is killed before one of its calls."""

    def __init__(self) -> None:
        self.left: int | None = None

    def count(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                raise KilledError

    def write(self, handle: int, data: bytes) -> int:
        self.count()
        return super().write(handle, data)

    def fdatasync(self, handle: int) -> None:
        self.count()

    def fsync(self, handle: int) -> None:
        self.count()

    def rename(self, source: Path, target: Path) -> None:
        self.count()
        super().rename(source, target)


class PlainReceipt:
    """The confirmation that an event is stored."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def outcome(self) -> Outcome:
        if self._inbox.busy is not None:
            await self._inbox.busy.wait()
        return Outcome(run_id="run-1", status="replied", text=self._inbox.answer)


class Inbox:
    """What the keeper's lanes are to the scheduler; it survives every process."""

    def __init__(self, disk: KillingDisk) -> None:
        self.disk = disk
        self.taken: Counter[str] = Counter()
        self.events: dict[str, IngressEvent] = {}
        self.courses: list[str] = []
        self.answer = "done"
        self.busy: asyncio.Event | None = None
        self.threads_are_gone = False

    async def receive(self, event: IngressEvent) -> PlainReceipt:
        self.disk.count()
        if isinstance(event, CourseEvent):
            self.courses.append(event.message_id)
        elif event.message_id not in self.events:
            self.events[event.message_id] = event
            self.taken[event.message_id] += 1
        self.disk.count()
        return PlainReceipt(self)

    async def knows(self, event: IngressEvent) -> bool | None:
        return None if self.threads_are_gone else event.message_id in self.events

    async def is_done(self, event: IngressEvent) -> bool:
        return True


class Told(JournalOccurrences):
    """A journal that lets a test know of all it was ever told, also what it has forgotten."""

    missed: set[tuple[str, str, str]]

    def _apply(self, line: OccurrenceLine) -> None:
        super()._apply(line)
        match line:
            case Put(occurrence=Occurrence(status="missed") as each):
                self.missed.add((each.task, each.due, each.until or each.due))
            case MarkOccurrence(status="missed" | "uncertain"):
                self.missed.add((line.task, line.due, line.due))
            case _:
                pass


class Ship:
    """A workspace with tasks under a clock that the test sets, through any number of processes."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.disk = KillingDisk()
        self.inbox = Inbox(self.disk)
        self.now = START
        self.folder = TaskFolder(self.layout, "", OsDisk())
        self.check: Callable[[Task], object] = lambda _task: None
        self.process: Scheduler | None = None
        self.missed: set[tuple[str, str, str]] = set()

    def add(
        self, task_id: str, when: str, prompt: str = "do it", *, catch_up: str = "", member: str = ""
    ) -> None:
        text = write_task(
            title=task_id, when=when, prompt=prompt, zone="Europe/Berlin", catch_up=catch_up, member=member
        )
        self.folder.add(task_id, text)
        self.touch(task_id)

    def touch(self, task_id: str) -> None:
        seconds = self.now.timestamp()
        os.utime(self.folder.path(task_id), (seconds, seconds))

    async def start(self) -> Scheduler:
        """Begin a process over what those before it left."""
        journal = Told(self.layout, self.disk, lambda: self.now)
        journal.missed = self.missed
        folder = TaskFolder(self.layout, "", self.disk)
        self.process = Scheduler(folder, journal, self.inbox, check=self.check, clock=lambda: self.now)
        await journal.load()
        await self.process.look()
        await self.process._take_up()  # pyright: ignore[reportPrivateUsage]
        return self.process

    async def round(self) -> None:
        """Do one round of the process, starting one where there is none."""
        process = self.process or await self.start()
        await process.look()
        await process.work()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def pass_time(self, **by: float) -> None:
        self.now += timedelta(**by)
        await self.round()

    async def settle(self) -> None:
        if self.process is not None:
            await self.process.idle()

    async def kill(self) -> None:
        """End the process where it is; what it was about to do is not done."""
        if self.process is not None:
            self.disk.left = 0
            await self.process.close()
        self.disk.left = self.process = None

    def log(self, task_id: str) -> list[tuple[str, str]]:
        record = JournalOccurrences(self.layout, OsDisk()).look().get(task_id)
        return [(each.due, each.status) for each in record.known.values()] if record is not None else []

    def known(self, task_id: str) -> list[Occurrence]:
        return list(JournalOccurrences(self.layout, OsDisk()).look()[task_id].known.values())


@pytest.fixture
def ship(tmp_path: Path) -> Ship:
    (tmp_path / "Agent.md").write_text("You are the captain.")
    return Ship(tmp_path)


async def test_a_due_time_is_claimed_begun_once_and_told(ship: Ship) -> None:
    ship.add("daily", "0 9 * * *", "Report.")
    await ship.round()
    assert ship.log("daily") == []
    await ship.pass_time(days=1)
    await ship.settle()
    assert ship.log("daily") == [("2026-03-28T08:00:00Z", "replied")]
    (event,) = ship.inbox.events.values()
    assert isinstance(event, TextEvent)
    assert (event.platform, event.thread_id, event.user_id) == ("schedule", "schedule:task:daily", "")
    assert (event.message_id, event.source) == ("daily@2026-03-28T08:00:00Z", "task:daily")
    assert event.text == "Report."
    assert "due 2026-03-28 09:00 CET" in (event.extra_context or "")
    # Without a thread of its own choice each occurrence begins with a clean page.
    assert ship.inbox.courses == ["daily@2026-03-28T08:00:00Z.course"]
    await ship.kill()
    await ship.round()
    assert ship.inbox.taken == {"daily@2026-03-28T08:00:00Z": 1}


async def test_what_was_missed_is_listed_and_caught_up_as_the_task_wants(ship: Ship) -> None:
    for policy in ("latest", "skip", "all"):
        ship.add(policy, "0 * * * *", catch_up=policy)
    ship.add("once", "time:2026-03-27T14:00", catch_up="skip")
    ship.add("many", "every 10s")
    await ship.round()
    await ship.kill()
    await ship.pass_time(hours=4, minutes=30)
    await ship.settle()
    last = "2026-03-27T16:00:00Z"
    assert ship.log("latest") == [("2026-03-27T13:00:00Z", "missed"), (last, "replied")]
    assert ship.known("latest")[0].until == "2026-03-27T15:00:00Z"
    assert ship.known("latest")[0].count == 3
    assert ship.log("skip") == [("2026-03-27T13:00:00Z", "missed")]
    assert ship.known("skip")[0].until == last
    assert [status for _, status in ship.log("all")] == ["replied"] * 4
    assert ship.log("once") == [("2026-03-27T13:00:00Z", "missed")]
    # More than anybody counts: the stretch is listed, the last is begun.
    first, begun = ship.known("many")
    assert (first.status, first.count, first.due) == ("missed", 0, "2026-03-27T12:00:10Z")
    assert (begun.status, begun.due) == ("replied", stamp(ship.now))
    assert first.until < begun.due


async def test_a_claim_that_was_cut_off_goes_on_is_missed_or_uncertain(ship: Ship) -> None:
    for task_id in ("soon", "late", "gone"):
        ship.add(task_id, "0 * * * *")
    await ship.round()
    ship.now += timedelta(hours=1)
    # Killed between the claim and what takes the event in.
    original = ship.inbox.receive

    async def die(event: IngressEvent) -> PlainReceipt:
        raise KilledError(event.message_id)

    ship.inbox.receive = die
    await ship.round()
    await ship.kill()
    ship.inbox.receive = original
    assert {status for each in ("soon", "late", "gone") for _, status in ship.log(each)} == {"claimed"}
    ship.folder.remove("gone")
    ship.now += timedelta(minutes=5)
    await ship.start()
    await ship.settle()
    assert ship.log("soon") == [("2026-03-27T13:00:00Z", "replied")] == ship.log("late")
    # Nobody can do a task that is not there any more.
    assert ship.log("gone") == [("2026-03-27T13:00:00Z", "missed")]
    assert ship.inbox.taken == {"soon@2026-03-27T13:00:00Z": 1, "late@2026-03-27T13:00:00Z": 1}

    ship.inbox.busy = asyncio.Event()
    await ship.pass_time(hours=1)
    assert ship.log("soon")[-1] == ("2026-03-27T14:00:00Z", "fired")
    # The next one comes while that is still at work.
    await ship.pass_time(hours=1)
    assert ship.log("soon")[-1] == ("2026-03-27T15:00:00Z", "missed")
    assert ship.known("soon")[-1].why == "still-running"
    await ship.kill()
    ship.inbox.threads_are_gone = True
    await ship.start()
    assert ship.log("soon")[1] == ("2026-03-27T14:00:00Z", "uncertain")
    assert max(ship.inbox.taken.values()) == 1


async def test_files_are_read_again_when_they_change_and_a_bad_one_disturbs_none(ship: Ship) -> None:
    ship.add("good", "0 * * * *")
    ship.add("other", "0 * * * *")
    (ship.layout.tasks / "bad.md").write_text("---\nwhen: 0 0 31 2 *\n---\nnever\n")
    (ship.layout.tasks / "folder.md").mkdir()
    (ship.layout.tasks / "..md").write_text("x")
    await ship.round()
    # Paused a moment before it is due, in place as an editor does it.
    path = ship.folder.path("other")
    path.write_text(path.read_text().replace("---\n", "---\nenabled: false\n", 1))
    await ship.pass_time(hours=1)
    await ship.settle()
    assert [each.message_id for each in ship.inbox.events.values()] == ["good@2026-03-27T13:00:00Z"]
    ship.folder.switch("other", on=True)
    ship.touch("other")
    await ship.pass_time(hours=1)
    await ship.settle()
    assert ship.log("other") == [("2026-03-27T14:00:00Z", "replied")]
    levels = [(each.level, each.subject.rpartition("/")[2]) for each in ship.folder.findings()]
    assert levels == [("ok", "tasks"), ("error", "bad.md"), ("error", "folder.md")]


async def test_a_heartbeat_without_words_is_quiet_and_a_missing_member_is_said(ship: Ship) -> None:
    ship.add("pulse", "heartbeat 1h")
    ship.add("nobody", "0 * * * *", member="ghost")

    def check(task: Task) -> None:
        if task.member == "ghost":
            raise NotFoundError("there is no member ghost")

    ship.check = check
    ship.inbox.answer = f"`{QUIET}`.\n"
    await ship.round()
    await ship.pass_time(hours=1)
    await ship.settle()
    assert ship.log("pulse") == [("2026-03-27T13:00:00Z", "quiet")]
    (event,) = ship.inbox.events.values()
    assert isinstance(event, TextEvent)
    assert QUIET in (event.extra_context or "")
    (failed,) = ship.known("nobody")
    assert (failed.status, failed.why) == ("failed", "there is no member ghost")


async def test_what_is_begun_by_hand_is_claimed_and_leaves_the_clock_alone(ship: Ship) -> None:
    ship.add("daily", "0 9 * * *")
    process = await ship.start()
    event = make_hand_event(ship.folder.get("daily").found(), ship.now, "en")
    for _ in range(2):
        await process.receive(event)
    await ship.settle()
    (known,) = ship.known("daily")
    assert known.by_hand
    assert known.status == "replied"
    assert ship.inbox.taken[event.message_id] == 1
    await ship.pass_time(days=1)
    await ship.settle()
    assert ship.log("daily")[-1] == ("2026-03-28T08:00:00Z", "replied")


async def test_a_clock_that_was_wrong_for_years_stops_no_task(ship: Ship) -> None:
    ship.add("hourly", "0 * * * *")
    await ship.round()
    await ship.pass_time(days=3650)
    await ship.settle()
    ship.now = START + timedelta(minutes=30)
    for _ in range(3):
        await ship.kill()
        await ship.round()
        await ship.pass_time(hours=1)
        await ship.settle()
    times = sorted(ship.inbox.taken)[:3]
    assert times == [f"hourly@2026-03-27T{hour}:00:00Z" for hour in (13, 14, 15)]


RULES = ("* * * * *", "*/3 2,3 * * *", "30 2 * * *", "0 * * * *", "15 */2 * * *", "every 90s", "heartbeat")


@pytest.mark.parametrize("edge", [START, datetime(2026, 10, 24, 12, tzinfo=UTC)], ids=["spring", "autumn"])
async def test_r4_ten_thousand_occurrences_under_kills_and_jumps(ship: Ship, edge: datetime) -> None:
    """Under kills before any write, clocks that jump and both edges of summer time: once each, or listed."""
    chance = random.Random(edge.month)
    ship.now = latest = edge
    tasks = {f"task-{place}": RULES[place % len(RULES)] for place in range(21)}
    for place, (task_id, rule) in enumerate(tasks.items()):
        ship.add(task_id, rule, catch_up=("latest", "skip", "all")[place % 3])
    kills = 0
    for _ in range(170):
        move = chance.random()
        if move < 0.04:
            ship.now -= timedelta(seconds=chance.choice((2, 90, 3_600, 7_200)))
        elif move < 0.08:
            ship.now += timedelta(seconds=chance.choice((1_200, 3_600, 14_400)))
        else:
            ship.now += timedelta(seconds=chance.choice((30, 60, 300, 600)))
        latest = max(latest, ship.now)
        ship.disk.left = chance.randrange(1, 60) if chance.random() < 0.3 else None
        with suppress(KilledError):
            await ship.round()
            await ship.settle()
        if ship.disk.left is not None:
            kills += 1
            await ship.kill()
    # The clock comes to where it was at most, and everything is taken up.
    ship.now = latest + timedelta(seconds=1)
    for _ in range(3):
        await ship.round()
        await ship.settle()
    assert kills > 30
    assert max(ship.inbox.taken.values()) == 1, "begun twice"
    total = 0
    for task_id, rule in tasks.items():
        when = read_when(rule, "Europe/Berlin")
        missed = [(first, last) for task, first, last in ship.missed if task == task_id]
        due = when.after(edge)
        while due is not None and due <= ship.now:
            total += 1
            name = stamp(due)
            is_listed = any(first <= name <= last for first, last in missed)
            assert is_listed or f"{task_id}@{name}" in ship.inbox.taken, f"{task_id} {rule}: {name} is lost"
            due = when.after(due)
    print(f"{edge:%B}: {total} occurrences, {len(ship.inbox.taken)} begun, {kills} kills")
    assert total > 5_000


async def test_the_file_is_small_again_after_many_and_survives_what_cannot_be_read(ship: Ship) -> None:
    ship.add("often", "every 10s")
    await ship.round()
    for _ in range(400):
        await ship.pass_time(seconds=10)
        await ship.settle()
    assert len(ship.known("often")) == journals.KEPT
    assert len(ship.layout.occurrences.read_bytes().splitlines()) < 700
    with ship.layout.occurrences.open("ab") as file:
        file.write(b"garbage\n" + msgspec.json.encode({"do": "put", "occurrence": {}})[:20])
    await ship.kill()
    await ship.pass_time(seconds=10)
    await ship.settle()
    assert ship.log("often")[-1] == (stamp(ship.now), "replied")
    assert [path.name.partition("-")[0] for path in ship.layout.damaged.iterdir()] == ["occurrences"]
