"""Define what the server asks of a composed workspace; `shipmate.app.Shipmate` is one."""

from __future__ import annotations

from typing import Protocol

from shipmate.adapters.adapter_registry import AdapterRegistry
from shipmate.approvals.service import ApprovalService
from shipmate.context.kept.request_log import RequestLog
from shipmate.delivery.reception.listening import Listening
from shipmate.delivery.reception.people import People
from shipmate.errors import NotFoundError
from shipmate.models.port import Model
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import Receipt
from shipmate.orchestrator.keeper.port import ThreadEngine
from shipmate.residence import Residence
from shipmate.schedule.task_folder import TaskFolder
from shipmate.store.port import Store
from shipmate.thread.service import Thread, ThreadService
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.sharing import Shares
from shipmate.values.adapter_event import AdapterEvent, HeardEvent
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Config
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import Uploads

__all__ = ["Receipt", "Ship", "read_if_there"]


class Ship(Protocol):
    """One composed workspace."""

    @property
    def layout(self) -> Layout: ...
    @property
    def config(self) -> Config: ...
    @property
    def store(self) -> Store: ...
    @property
    def home(self) -> Residence: ...
    @property
    def uploads(self) -> Uploads: ...
    @property
    def threads(self) -> ThreadService: ...
    @property
    def requests(self) -> RequestLog: ...
    @property
    def approvals(self) -> ApprovalService: ...
    @property
    def crew(self) -> Crew: ...
    def equip(self, member_id: str) -> Equipment: ...
    @property
    def sandbox(self) -> Sandbox: ...
    @property
    def model(self) -> Model: ...
    @property
    def keeper(self) -> ThreadEngine: ...
    @property
    def adapters(self) -> AdapterRegistry: ...
    @property
    def shares(self) -> Shares: ...
    @property
    def people(self) -> People: ...
    @property
    def listening(self) -> Listening: ...
    @property
    def tasks(self) -> TaskFolder: ...
    async def hear(self, event: AdapterEvent) -> HeardEvent: ...
    async def close(self) -> None: ...


async def read_if_there(ship: Ship, thread_id: ThreadId) -> Thread | None:
    """Return a thread as it lies on disk; None when there is none."""
    try:
        return await ship.threads.read(thread_id)
    except NotFoundError:
        return None
