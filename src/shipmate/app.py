"""Compose the parts of one workspace. This is the only place that knows them all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from shipmate.adapters.adapter_registry import AdapterRegistry
from shipmate.approvals.reply.suggest import Suggester
from shipmate.approvals.service import ApprovalService
from shipmate.context.trace import Trace
from shipmate.crew.ask_member import AskMember
from shipmate.crew.coordinator import Coordinator
from shipmate.crew.equipping import Equipping
from shipmate.delivery.command_answer import Commands
from shipmate.delivery.delivery import Delivery
from shipmate.delivery.reception.chat_command import read_command
from shipmate.delivery.reception.fetching import Fetching
from shipmate.delivery.reception.gate import Gate
from shipmate.delivery.reception.listening import Listening
from shipmate.delivery.reception.people import People
from shipmate.delivery.reception.reception import Reception
from shipmate.delivery.reception.transcribing import Transcribing
from shipmate.delivery.sender import Sender
from shipmate.delivery.spoken_reply import SpokenReply, VoicePreference
from shipmate.errors import ModelError, StorageError
from shipmate.models.port import Model
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import LocalFeed, Receipt
from shipmate.orchestrator.keeper.keeping import Keeping
from shipmate.orchestrator.keeper.opening import Opening
from shipmate.orchestrator.keeper.port import ThreadEngine
from shipmate.orchestrator.keeper.socket import Socket
from shipmate.orchestrator.keeper.unix_socket import UnixSocket
from shipmate.orchestrator.lane.lane import Lane
from shipmate.orchestrator.lane.lanes import Lanes, LocalKeeper, Timing
from shipmate.orchestrator.lane.owner import model_of
from shipmate.orchestrator.loop import AgentOrchestrator
from shipmate.residence import Residence, find_address, open_residence, reside_in_files
from shipmate.speech.speech import Speech
from shipmate.store.port import Store
from shipmate.thread.service import Thread, ThreadService
from shipmate.tools.exec.recovery import take_up
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.sharing import Shares
from shipmate.tools.toolset import AnyTool, Toolset, default_servers, default_toolset
from shipmate.values.adapter_event import AdapterEvent, HeardEvent
from shipmate.values.event import IngressEvent, surface_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.disk import DISK, Disk
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, load_config
from shipmate.workspace.member import captain_of

if TYPE_CHECKING:
    from shipmate.fleet.role import Role
    from shipmate.schedule.task_folder import TaskFolder
    from shipmate.store.journal.occurrence import JournalOccurrences

log = logging.getLogger(__name__)


class Shipmate:
    """One open workspace: it takes events in and has them answered, by this process or the one that keeps."""

    def __init__(
        self,
        layout: Layout,
        loaded: Loaded,
        store: Store,
        sandbox: Sandbox,
        *,
        model: Model | None = None,
        toolset: Toolset | None = None,
        disk: Disk = DISK,
        socket: Socket | None = None,
        keeps_time: bool = True,
        make_engine: Callable[[Shipmate], ThreadEngine] | None = None,
        residence: Residence | None = None,
    ) -> None:
        self.layout = layout
        self.loaded = loaded
        self.config = loaded.config
        self.store = store
        self.sandbox = sandbox
        self.crew = Crew(layout, loaded)
        servers = default_servers(captain_of(layout, self.config))
        trace = Trace(layout, loaded.environ, loaded.mask)
        self._equipping = Equipping(
            self.crew,
            sandbox,
            servers,
            trace,
            loaded.mask,
            model=model,
            toolset=toolset,
            make_crew_tools=self._crew_tools,
            store=store,
        )
        self.home = home = residence or reside_in_files(layout, store, loaded.mask, disk)
        self.threads = ThreadService(home.log)
        self.approvals = ApprovalService(
            layout,
            self.config.permissions,
            store,
            language=self.config.language,
            sandbox_works=lambda: sandbox.works,
            suggest=Suggester(self.captain.models.default) if self.config.permissions.suggest else None,
            zone=self.config.timezone,
            mask=loaded.mask,
            config=self.config,
            current=lambda: self.crew.loaded.config.permissions,
            records=home.records,
            audit=home.audit,
        )
        self.keeper: ThreadEngine = (
            make_engine(self) if make_engine else Keeping(socket or UnixSocket(layout), self._begin_to_keep)
        )
        self.requests = home.keep_requests(layout, self.config.context, loaded.mask)
        self.uploads = home.uploads
        self.adapters = AdapterRegistry(self.config.adapters)
        self.shares = Shares(layout, self.config.server, self.adapters.file_limit)
        further = self._equipping.further_tools()
        self.orchestrator = AgentOrchestrator(
            layout=layout,
            toolset=toolset or default_toolset(captain_of(layout, self.config), sandbox, servers, further),
            approvals=self.approvals,
            ledger=store.ledger,
            uploads=self.uploads,
            trace=trace,
            requests=self.requests,
            shares=self.shares,
            allowance=home.allowance,
            memory_mask=loaded.mask,
        )
        self.speech = Speech(self.config.speech, self.config.language, loaded.environ)
        self._disk = disk
        self._keeps_time = keeps_time
        self.people = People(layout, self.config.people, home.papers)
        self._reception = Reception(
            Gate(self.people, self._would_answer),
            self.people,
            self.adapters.settings,
            self.receive,
            self.keeper.withdraw,
            self.config.language,
        )
        self.listening = Listening(
            layout, self.adapters.names, self.adapters.find, self.hear, loaded.mask, self.keeper.lead
        )
        self._reconciling: asyncio.Task[None] | None = None

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        model: Model | None = None,
        environ: Mapping[str, str] | None = None,
        toolset: Toolset | None = None,
        keeps_time: bool = True,
        role: Role | None = None,
    ) -> Opening[Shipmate]:
        """Open the workspace a folder lies in: `async with Shipmate.open(path) as ship:`, or await it.

        What a process left unfinished is taken up. While another process keeps the workspace, its model and
        tools answer; the ones given here do when this process keeps. One that soon ends begins no task by
        the clock: it does not keep time. In a fleet the role says what a process does.
        """
        return Opening(lambda: cls._open(root, model, environ, toolset, keeps_time, role))

    @classmethod
    async def _open(
        cls,
        root: Path,
        model: Model | None,
        environ: Mapping[str, str] | None,
        toolset: Toolset | None,
        keeps_time: bool,
        role: Role | None,
    ) -> Shipmate:
        layout = Layout.find(root)
        loaded = load_config(layout, environ)
        _warn(loaded.findings)
        home = await open_residence(layout, find_address(layout, environ), loaded.mask)
        make = partial(cls, layout, loaded, home.store, Sandbox(layout), residence=home)
        if home.fleet is not None:
            from shipmate.fleet.boarding import board

            make = partial(make, make_engine=board(home.fleet, role, keeps_time=keeps_time))
        ship = make(model=model, toolset=toolset, keeps_time=keeps_time)
        try:
            await ship.keeper.open()
        except BaseException:
            await ship.close()
            raise
        return ship

    @property
    def tasks(self) -> TaskFolder:
        """The files of what is done by the clock."""
        return self._task_folder

    # Only what has to do with tasks needs these.
    @cached_property
    def _task_folder(self) -> TaskFolder:
        from shipmate.schedule.task_folder import TaskFolder

        return TaskFolder(self.layout, self.config.timezone, self._disk)

    @cached_property
    def occurrences(self) -> JournalOccurrences:
        """What became of due times, as the keeper writes it down."""
        from shipmate.store.journal.occurrence import JournalOccurrences

        return JournalOccurrences(self.layout, self.home.papers)

    @property
    def captain(self) -> Equipment:
        """The member whose files are the workspace's own, with what it works with."""
        return self.equip(CAPTAIN)

    def equip(self, member_id: str, thread_id: ThreadId | None = None) -> Equipment:
        """Return a member with its models, tools and prompt, in a skill's studio where a thread is one."""
        return self._equipping.equip(member_id, thread_id)

    def _crew_tools(self) -> list[AnyTool]:
        """Return the tools for working with other members."""
        return [AskMember(self.crew, self.threads, self._pass_on, self._is_tainted)]

    async def _pass_on(self, event: IngressEvent) -> Receipt:
        return await self.keeper.receive(event)

    def _is_tainted(self, thread: Thread) -> bool:
        return self.orchestrator.is_tainted(thread)

    @property
    def model(self) -> Model:
        """The captain's model, which answers when a question names none."""
        return self.captain.models.default

    async def receive(self, event: IngressEvent) -> Receipt:
        """Take an event in; once this returns it cannot be lost, and a repeat starts nothing."""
        # The terminal and the page read commands themselves: there `/new` begins a thread.
        is_chat = not surface_of(event.platform).is_owner
        return await self.keeper.receive(read_command(event) if is_chat else event)

    async def hear(self, event: AdapterEvent) -> HeardEvent:
        """Take in what an adapter heard; when this returns it is on disk, or nothing has to come of it."""
        heard = await self._reception.hear(event)
        self.listening.note(event.platform)
        return heard

    def listen(self) -> Listening:
        """Listen at every platform of ship.json, as soon as no other process does."""
        _warn(self.adapters.check(self.people, self.crew.ids()))
        self.listening.begin()
        return self.listening

    async def _would_answer(self, thread_id: ThreadId, text: str) -> bool:
        """Return whether words would answer a question that waits in a thread."""
        if not await self.approvals.pending(str(thread_id)):
            return False
        from shipmate.approvals.reply.parser import parse

        return parse(text) is not None

    async def close(self, *, finish: bool = False) -> None:
        """End cleanly; runs in flight go on with the next keeper. `finish` works them off first."""
        await self.listening.close()
        try:
            await self.keeper.close(finish=finish)
        finally:
            await self.adapters.close()
            await self.speech.close()
            if self._reconciling is not None:
                self._reconciling.cancel()
                await asyncio.gather(self._reconciling, return_exceptions=True)
            await self._equipping.close()
            await self.requests.close()
            await self.store.close()

    async def _begin_to_keep(self) -> LocalKeeper:
        """Make the lanes of the keeper, after finishing what a crash cut off."""
        await asyncio.to_thread(take_up, self.layout)
        await self.store.settle()
        await self.store.inbox.load()
        await self.store.outbox.load()
        keeper = self.assemble(LocalFeed())
        self._reconciling = asyncio.create_task(self._reconcile())
        await keeper.sending.begin()
        return keeper

    def assemble(
        self,
        feed: LocalFeed,
        make_lanes: Callable[..., Lanes] = Lanes,
        make_sender: Callable[..., Sender] = Sender,
    ) -> LocalKeeper:
        """Put together what works threads and sends; nothing begins yet."""
        delivery = self._make_delivery(feed, make_sender)
        make_lane: Callable[..., Lane] = partial(
            Lane,
            threads=self.threads,
            store=self.store,
            orchestrator=self.orchestrator,
            equip=self.equip,
            approvals=self.approvals,
            feed=feed,
            outlet=delivery,
            messenger=Coordinator(self.crew, self.keeper.receive, self.keeper.stop, self._is_tainted),
            settings=lambda: self.crew.loaded,
        )
        lanes = make_lanes(self.store, self.threads, feed, make_lane)
        make_timing = partial(self._make_scheduler, lanes)
        return LocalKeeper(lanes, feed, delivery, make_timing, keeps_time=self._keeps_time)

    def _make_scheduler(self, lanes: Lanes) -> Timing:
        from shipmate.moving.archive.backup import BackupClock
        from shipmate.schedule.scheduler import Scheduler

        tasks = Scheduler(
            self.tasks,
            self.occurrences,
            lanes,
            check=lambda task: self.crew.find(task.member or CAPTAIN),
            language=self.config.language,
        )
        return BackupClock(self.layout, lambda: self.crew.loaded.config, tasks)

    def _make_delivery(self, feed: LocalFeed, make_sender: Callable[..., Sender]) -> Delivery:
        language, find, mask = self.config.language, self.adapters.find, self.loaded.mask
        outbox = self.store.outbox
        sender = make_sender(
            outbox,
            find,
            self.uploads,
            self.shares,
            language=language,
            oldest=timedelta(minutes=self.config.delivery.ask_after_minutes),
            mask=mask,
        )
        voices = VoicePreference(self.store.threads)
        return Delivery(
            self.adapters.names,
            find,
            outbox=outbox,
            sender=sender,
            fetching=Fetching(find, self.uploads, language, mask),
            transcribing=Transcribing(self.uploads, self.speech, language),
            speaking=SpokenReply(self.speech, self.uploads, voices),
            commands=Commands(
                outbox, self.uploads, self.approvals, self._describe_thread, voices, language, sender.wake
            ),
            approvals=self.approvals,
            feed=feed,
            language=language,
            targets=lambda source: self.tasks.targets(source),
        )

    async def _describe_thread(self, thread: Thread) -> tuple[str, str]:
        """Return who answers in a thread, and with which model."""
        info = await self.store.threads.find(str(thread.id))
        equipment = self.equip(info.member if info is not None else CAPTAIN)
        try:
            own = equipment.models.default.name
        except ModelError:
            own = "?"
        return equipment.member.name, model_of(info) or own

    async def _reconcile(self) -> None:
        """Bring lists and search up to date with the files, while everything else goes on."""
        try:
            await self.store.reconcile()
        except StorageError as error:
            log.warning("lists and search are not up to date: %s", error)


def _warn(findings: Sequence[Finding]) -> None:
    """Log what may be a mistake: a misspelt limit limits nothing, and not everybody asks the doctor."""
    for finding in findings:
        if finding.level == "warn":
            log.warning("%s: %s%s", finding.subject, finding.message, finding.fix and f"; {finding.fix}")
