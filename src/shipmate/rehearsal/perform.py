"""Say the user turns of a script again, and hear what answers."""

from __future__ import annotations

import dataclasses
import getpass
import time
from collections.abc import Sequence
from functools import cached_property

from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import LocalFeed
from shipmate.orchestrator.lane.ingress import decision_rows
from shipmate.orchestrator.turn import Turn, message_id_of
from shipmate.priming.rehearsal.performed import Heard, Performed
from shipmate.priming.rehearsal.recorded import read_turns
from shipmate.priming.replay import build_rows
from shipmate.priming.script.record import Script
from shipmate.rehearsal.live_log import PLATFORM
from shipmate.rehearsal.recorded_call import RecordedCalls
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.rehearsal.stage import Stage, open_stage
from shipmate.thread.memory_log import MemoryLog
from shipmate.thread.service import Thread, ThreadService
from shipmate.values.event import ApprovalReplyEvent, Outcome
from shipmate.values.message import UIMessage, metadata_of, new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

# A model that keeps asking for what is denied would never end a turn.
DENIAL_LIMIT = 10
# More than a turn has steps.
ANSWER_LIMIT = 64
# Trouble that says nothing about the member: the model could not be asked.
UNUSABLE = frozenset({"auth", "request", "busy", "down"})


async def perform(layout: Layout, script: Script, setting: Setting) -> Performed:
    """Say each user turn of a script and return what answered it; nothing of it is kept."""
    turns = [(turn.said, turn.answers) for turn in read_turns(script)]
    recorded = RecordedCalls([answers for _, answers in turns])
    async with open_stage(layout, recorded, setting) as stage:
        return await Performing(stage, script, turns).go(forced=setting.forced)


class Performing:
    """One performance of a script, in threads that only this process knows."""

    def __init__(
        self, stage: Stage, script: Script, turns: Sequence[tuple[UIMessage, list[UIMessage]]]
    ) -> None:
        self._stage = stage
        self._turns = turns
        self._threads = ThreadService(MemoryLog())
        self._feed = LocalFeed()
        self._user = _name_user()
        self._script = script
        self._count = 0

    async def go(self, *, forced: bool) -> Performed:
        """Say all turns; one that cannot end is the last, unless each has its own history."""
        try:
            self._stage.equipment.models.named(self._stage.model)
        except ShipmateError as error:
            return Performed(unusable=str(error))
        return await self._say_all(forced=forced)

    async def _say_all(self, *, forced: bool) -> Performed:
        heard: list[Heard] = []
        thread_id = await self._begin(0) if forced or self._has_prelude else self._new_thread()
        for number in range(len(self._turns)):
            if forced and number:
                thread_id = await self._begin(number)
            said, unusable = await self._say(thread_id, number)
            if unusable:
                return Performed(turns=heard, unusable=unusable)
            heard.append(said)
            if said.stopped and not forced:
                break
        return Performed(turns=heard)

    @property
    def _has_prelude(self) -> bool:
        """Return whether something stands before the first words of a person."""
        script = self._script
        return bool(script.reminders) or script.records[0].type != "human_text_record"

    @cached_property
    def _rows(self) -> list[UIMessage]:
        """The script as a thread begins with it, its reminders first."""
        language = self._stage.equipment.member.config.language
        return build_rows([self._script], self._new_thread(), language)

    async def _begin(self, number: int) -> ThreadId:
        """Make a thread with what stands in the script before a turn."""
        thread_id = self._new_thread()
        if rows := self._rows[: find_turns(self._rows)[number]]:
            await self._threads.create(thread_id, [_move(row, thread_id) for row in rows])
        return thread_id

    async def _say(self, thread_id: ThreadId, number: int) -> tuple[Heard, str]:
        """Say one turn; return what answered it, and why no model could be asked, if so."""
        stage, (said, answers) = self._stage, self._turns[number]
        if stage.recorded is not None:
            stage.recorded.begin(number)
        if stage.player is not None:
            stage.player.begin(answers)
        began = time.perf_counter()
        async with self._threads.open(thread_id) as thread:
            run_id = new_id("run")
            await thread.append(self._user_row(said, thread, run_id))
            outcome = await self._run(thread, run_id)
            message = thread.find(message_id_of(run_id))
        if stage.player is None and outcome.kind in UNUSABLE:
            return Heard(), outcome.error or f"the model answered with an error: {outcome.kind}"
        return Heard(
            messages=[message] if message is not None else [],
            stopped=self._tell_stop(outcome),
            ms=round((time.perf_counter() - began) * 1000),
            cost_usd=await self._cost(run_id, thread_id),
            missed=list(stage.recorded.missed) if stage.recorded is not None else [],
        ), ""

    async def _run(self, thread: Thread, run_id: str) -> Outcome:
        """Run a turn to its end, answering what it asks."""
        outcome = await self._go_on(thread, run_id)
        for _ in range(DENIAL_LIMIT if self._stage.recorded is None else ANSWER_LIMIT):
            if outcome.status != "suspended" or not await self._decide(thread):
                break
            outcome = await self._go_on(thread, run_id)
        return outcome

    async def _go_on(self, thread: Thread, run_id: str) -> Outcome:
        turn = Turn(
            thread,
            self._feed,
            run_id,
            user_id=self._user,
            initiators=(self._user,),
            equip=lambda: self._stage.equipment,
            message=thread.find(message_id_of(run_id)),
            model=self._stage.model,
            abandon=self._stage.approvals.abandon,
        )
        return await self._stage.orchestrator.run(turn)

    async def _decide(self, thread: Thread) -> bool:
        """Answer what waits as the script did, or with no where tools are live; tell whether anything did."""
        approvals, recorded = self._stage.approvals, self._stage.recorded
        waiting = await approvals.pending(str(thread.id))
        for asked in waiting:
            approved, text = False, f"a rehearsal approves nothing real; it was asked because {asked.reason}"
            if recorded is not None:
                approved, text = recorded.decide(asked.call_id, asked.tool, asked.input)
            event = ApprovalReplyEvent(
                platform=PLATFORM,
                thread_id=str(thread.id),
                user_id=self._user,
                message_id=new_id("in"),
                timestamp=timestamp(),
                text=text,
                approval_id=asked.id,
                approved=approved,
            )
            effect = await approvals.answer(event, waiting)
            await thread.append(*decision_rows(thread, effect.decisions))
        return bool(waiting)

    async def _cost(self, run_id: str, thread_id: ThreadId) -> float | None:
        if self._stage.player is not None:
            return 0.0
        steps = await self._stage.store.ledger.usage("", str(thread_id), run_id)
        costs = [step.cost for step in steps]
        return None if not costs or None in costs else sum(filter(None, costs))

    def _tell_stop(self, outcome: Outcome) -> str:
        player = self._stage.player
        if outcome.status == "replied" or (
            player is not None and player.is_over and outcome.kind == "stream"
        ):
            # A script may end with a call: there is nothing more to say then.
            return ""
        return outcome.error or f"the run was {outcome.status}"

    def _user_row(self, said: UIMessage, thread: Thread, run_id: str) -> UIMessage:
        parts = [part for part in said["parts"] if part.get("type") in ("text", "file")]
        return {
            "id": new_id("said"),
            "role": "user",
            "metadata": {
                "timestamp": timestamp(),
                "platform": PLATFORM,
                "userId": self._user,
                "threadId": str(thread.id),
                "course": thread.course,
                "runId": run_id,
            },
            "parts": parts or [{"type": "text", "text": ""}],
        }

    def _new_thread(self) -> ThreadId:
        self._count += 1
        name = self._stage.name
        return dataclasses.replace(name, scope_id=f"{name.scope_id}-{self._count}")


def find_turns(rows: Sequence[UIMessage]) -> list[int]:
    """Return where each turn of a thread begins: words said one after the other are one."""
    starts: list[int] = []
    is_answered = True
    for place, row in enumerate(rows):
        if row["role"] == "user" and is_answered:
            starts.append(place)
            is_answered = False
        elif row["role"] == "assistant" and starts:
            is_answered = True
    return starts


def _move(row: UIMessage, thread_id: ThreadId) -> UIMessage:
    return {**row, "metadata": {**metadata_of(row), "threadId": str(thread_id)}}


def _name_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return "local"
