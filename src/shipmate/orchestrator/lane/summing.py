"""Sum up a thread because a person asked for it, until they stop it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from shipmate.errors import ShipmateError, StorageError
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import Feed
from shipmate.orchestrator.lane.note import NoteEvent
from shipmate.orchestrator.loop import AgentOrchestrator
from shipmate.orchestrator.run_wording import say
from shipmate.orchestrator.turn import Turn
from shipmate.orchestrator.work import is_cancelled
from shipmate.thread.service import Thread
from shipmate.values.event import CourseEvent, Outcome
from shipmate.values.message import new_id

log = logging.getLogger(__name__)


class Summing:
    """The summary that is being made for a thread without a run."""

    def __init__(self, orchestrator: AgentOrchestrator, feed: Feed, language: str) -> None:
        self._orchestrator = orchestrator
        self._feed = feed
        self._language = language
        self._task: asyncio.Task[str | Outcome] | None = None

    def stop(self) -> bool:
        """End the summary in flight; tell whether there was one."""
        return self._task is not None and self._task.cancel()

    async def answer(
        self, thread: Thread, equip: Callable[[], Equipment], model: str | None, event: NoteEvent
    ) -> str | Outcome:
        """Return the summary that an event asks for, empty when it asks for none, or why there is none."""
        self._task = asyncio.create_task(self._work(thread, equip, model, event))
        try:
            return await self._task
        except asyncio.CancelledError:
            if is_cancelled():
                # The process ends; the next one takes the event up again.
                raise
            words = say("not-compacted", why=say("stopped")).tell(self._language)
            return Outcome(run_id="", status="stopped", error=words)
        finally:
            self._task = None

    async def _work(
        self, thread: Thread, equip: Callable[[], Equipment], model: str | None, event: NoteEvent
    ) -> str | Outcome:
        is_wanted = isinstance(event, CourseEvent) and event.summarise
        remembering = self._orchestrator.remembering
        if remembering and is_wanted and any(each["role"] != "system" for each in thread.current()):
            turn = Turn(
                thread,
                self._feed,
                new_id("run"),
                user_id=event.user_id,
                initiators=(event.user_id,),
                equip=equip,
                language=self._language,
                model=model,
            )
            try:
                await remembering.offer(turn)
            except StorageError:
                raise
            except ShipmateError as error:
                # The summary needs as much, and says what stands in the way.
                log.info("nothing was offered to memory: %s", error)
        compactor = self._orchestrator.compactor
        return await compactor.answer(thread, equip, model, event, self._language)
