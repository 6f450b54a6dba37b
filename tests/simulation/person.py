"""What people do: they write, repeat, answer, pin, stop, take back, watch and rename, through any process."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from shipmate.approvals.value import Approval
from shipmate.errors import ShipmateError
from shipmate.values.event import (
    ApprovalReplyEvent,
    CourseEvent,
    IngressEvent,
    PinEvent,
    RetryEvent,
    TextEvent,
)
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from tests.simulation.outside import Said
from tests.simulation.platform import CHAT
from tests.simulation.process import Process
from tests.simulation.watcher import Watcher

if TYPE_CHECKING:
    from tests.simulation.world import World

THREADS = ("cli:dm:a", "web:dm:b", "cli:dm:c")
# Nothing in it is an answer to a question.
WORDS = "please see to it"


class People:
    """The people around one workspace."""

    def __init__(self, world: World, threads: int) -> None:
        self._world = world
        self._chance = world.chance
        self._outside = world.outside
        self._count = 0
        self._waiting: list[tuple[Process, asyncio.Task[None]]] = []
        self.threads = THREADS[:threads]
        if world.platform is not None:
            self.threads = (*self.threads[:-1], CHAT)

    def write(self, process: Process) -> asyncio.Task[None]:
        """Say something new."""
        thread_id = self._chance.choice(self.threads)
        name = self._name("m")
        event = TextEvent(
            **self._head(thread_id, name), text=f"{name} {WORDS}", steer=self._chance.random() < 0.15
        )
        return self.hand_over(process, self._note(event))

    def repeat(self, process: Process) -> None:
        """Say something again, under the same id."""
        if self._outside.said:
            self.hand_over(process, self._chance.choice(list(self._outside.said.values())))

    def answer(self, process: Process) -> None:
        """Press a button on a question, mostly on one that waits."""
        known = self._world.approvals()
        waiting = [each for each in known if each.is_open]
        chosen = waiting if waiting and self._chance.random() < 0.85 else known
        if chosen:
            self.press(process, self._chance.choice(chosen), approved=self._chance.random() < 0.75)

    def press(self, process: Process, approval: Approval, *, approved: bool) -> None:
        """Answer one question."""
        if approved:
            self._outside.leaves.add((approval.thread_id, approval.call_id, approval.input["mark"]))
        where = approval.thread_id if self._chance.random() < 0.9 else self._chance.choice(self.threads)
        name = self._name("p")
        event = ApprovalReplyEvent(
            **self._head(where, name), text="", approval_id=approval.id, approved=approved
        )
        self.hand_over(process, self._note(event))

    def press_all(self, process: Process) -> None:
        """Answer everything that waits in a thread at once."""
        thread_id = self._chance.choice(self.threads)
        waiting = [each for each in self._world.approvals() if each.is_open and each.thread_id == thread_id]
        if not waiting:
            return
        approved = self._chance.random() < 0.75
        if approved:
            self._outside.leaves |= {(each.thread_id, each.call_id, each.input["mark"]) for each in waiting}
        event = ApprovalReplyEvent(
            **self._head(thread_id, self._name("p")),
            text="",
            approval_ids=tuple(each.id for each in waiting),
            approved=approved,
        )
        self.hand_over(process, self._note(event))

    def say_yes(self, process: Process) -> None:
        """Answer by words whatever waits in a thread."""
        thread_id = self._chance.choice(self.threads)
        approved = self._chance.random() < 0.75
        event = TextEvent(**self._head(thread_id, self._name("w")), text="yes" if approved else "no")
        self.hand_over(process, self._note(event))

    def retry(self, process: Process) -> None:
        """Ask for another answer in the place of the last one."""
        thread_id = self._chance.choice(self.threads)
        last = self._world.last_answer(thread_id) if self._chance.random() < 0.5 else None
        event = RetryEvent(**self._head(thread_id, self._name("r")), replaces=last)
        self.hand_over(process, self._note(event))

    def open_course(self, process: Process) -> None:
        """Open a course of a thread."""
        event = CourseEvent(**self._head(self._chance.choice(self.threads), self._name("c")))
        self.hand_over(process, self._note(event))

    def pin(self, process: Process) -> None:
        """Pin a fact, or take one of the first pins off."""
        name = self._name("n")
        head = self._head(self._chance.choice(self.threads), name)
        number = self._chance.choice((None, None, 1, 2))
        event = PinEvent(**head, text="" if number else f"{name} is a fact", number=number)
        self.hand_over(process, self._note(event))

    def hand_over(self, process: Process, said: Said) -> asyncio.Task[None]:
        """Hand an event over, and wait for what becomes of it."""
        task = process.start(self._hand_over(process, said))
        self._waiting.append((process, task))
        return task

    @property
    def is_waiting(self) -> bool:
        """Tell whether somebody waits for what becomes of an event, and may yet be told."""
        self._waiting = [each for each in self._waiting if not each[0].is_dead and not each[1].done()]
        return bool(self._waiting)

    async def _hand_over(self, process: Process, said: Said) -> None:
        assert process.ship is not None
        self._world.note(f"{process.number} hands over {said.event.message_id} in {said.event.thread_id}")
        try:
            receipt = await process.ship.keeper.receive(said.event)
            process.check()
            self._world.note(f"{process.number}: {said.event.message_id} is taken, {receipt.row.seq}")
            said.acknowledge(receipt.row)
            said.outcomes.append(await receipt.outcome())
        except ShipmateError as error:
            self._world.note(f"{process.number}: {said.event.message_id} is refused: {error}")

    def withdraw(self, process: Process) -> None:
        """Take something back, if it still waits."""
        if self._outside.said:
            process.start(
                self._withdraw(process, self._chance.choice(list(self._outside.said.values())[-3:]))
            )

    async def _withdraw(self, process: Process, said: Said) -> None:
        assert process.ship is not None
        said.withdrawals += 1
        with contextlib.suppress(ShipmateError):
            done = await process.ship.keeper.withdraw(said.event.thread_id, said.event.message_id)
            process.check()
            self._world.note(f"{process.number} takes {said.event.message_id} back: {done}")
            said.is_withdrawn = said.is_withdrawn or done

    def stop(self, process: Process) -> None:
        """Stop whatever runs in a thread."""
        process.start(self._stop(process, self._chance.choice(self.threads)))

    async def _stop(self, process: Process, thread_id: str) -> None:
        assert process.ship is not None
        with contextlib.suppress(ShipmateError):
            done = await process.ship.keeper.stop(thread_id)
            process.check()
            run_id = self._outside.stopping.get(thread_id)
            self._world.note(f"{process.number} stops {run_id} in {thread_id}: {done}")
            if done and run_id is not None:
                self._outside.stopped[run_id] = thread_id
                self._world.kill_keeper_soon()

    def watch(self, process: Process) -> None:
        """Watch a thread for a while."""
        watcher = Watcher(self._chance.choice(self.threads))
        self._world.watchers.append(watcher)
        process.start(self._watch(process, watcher, self._chance.choice((0.05, 1.0, 30.0))))

    async def _watch(self, process: Process, watcher: Watcher, seconds: float) -> None:
        assert process.ship is not None
        with contextlib.suppress(ShipmateError, TimeoutError):
            async with process.ship.keeper.watch(watcher.thread_id) as queue, asyncio.timeout(seconds):
                await watcher.follow(queue)

    def rename(self, process: Process) -> None:
        """Give a thread another title."""
        process.start(self._rename(process, self._chance.choice(self.threads), self._name("title")))

    async def _rename(self, process: Process, thread_id: str, title: str) -> None:
        assert process.ship is not None
        self._outside.titles.setdefault(thread_id, []).append(title)
        with contextlib.suppress(ShipmateError):
            await process.ship.store.threads.rename(thread_id, title)
            process.check()
            self._outside.renamed[thread_id] = True
            # From here on no earlier title may come back.
            titles = self._outside.titles[thread_id]
            if title in titles:
                del titles[: titles.index(title)]

    def bin(self, process: Process) -> None:
        """Put a thread into the bin, or take it out again."""
        process.start(self._bin(process, ThreadId.parse(self._chance.choice(self.threads))))

    async def _bin(self, process: Process, thread_id: ThreadId) -> None:
        ship = process.ship
        assert ship is not None
        with contextlib.suppress(ShipmateError):
            if await ship.threads.exists(thread_id):
                await ship.threads.bin(thread_id)
            else:
                await ship.threads.restore(thread_id)
            await ship.store.threads.refresh(str(thread_id))

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _head(self, thread_id: str, name: str) -> dict[str, Any]:
        platform = thread_id.partition(":")[0]
        return {
            "platform": platform,
            "thread_id": thread_id,
            "user_id": self._chance.choice(("ann", "bob")),
            "message_id": name,
            "timestamp": timestamp(),
        }

    def _note(self, event: IngressEvent) -> Said:
        said = Said(event)
        self._outside.said[event.thread_id, event.message_id] = said
        return said


decode_approval = msgspec.json.Decoder(Approval).decode
