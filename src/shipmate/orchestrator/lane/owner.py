"""Whose thread a lane works, which model was chosen for it, and its place in lists and search."""

from __future__ import annotations

import logging

from shipmate.errors import StorageError
from shipmate.orchestrator.lane.switch import model_of
from shipmate.store.port import Store
from shipmate.thread.service import Thread
from shipmate.values.event import IngressEvent
from shipmate.workspace.layout import CAPTAIN

log = logging.getLogger(__name__)


class ThreadOwner:
    """What is kept of one thread besides its rows, looked up once a turn."""

    def __init__(self, store: Store, thread_id: str) -> None:
        self._store = store
        self._thread_id = thread_id
        self._member: str | None = None
        self.is_listed = False
        # The model a person chose for the thread.
        self.model: str | None = None

    async def look(self, thread: Thread, event: IngressEvent | None = None) -> str:
        """Return the member the thread belongs to; a new one belongs to the member it begins with."""
        info = await self._store.threads.find(self._thread_id)
        named = (event.member if event else None) or CAPTAIN
        if info is None and named != CAPTAIN and not thread.messages:
            await self._store.threads.create(self._thread_id, member=named)
            info = await self._store.threads.find(self._thread_id)
        self.is_listed = info is not None
        self.model = model_of(info)
        self._member = info.member if info is not None else named
        return self._member

    async def member(self, thread: Thread) -> str:
        """Return the member as it was last looked up."""
        return self._member if self._member is not None else await self.look(thread)

    async def list(self, thread: Thread) -> None:
        """Bring lists and search up to date; both heal by themselves, so trouble costs no answer."""
        try:
            if thread.messages:
                member = await self.member(thread)
                await self._store.threads.note(self._thread_id, thread.messages, member=member)
        except StorageError as error:
            log.warning("%s is missing from lists or search until they are rebuilt (%s)", thread.id, error)
