"""Compose the parts of one workspace. This is the only place that knows them all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from shipmate.approvals.reply.suggest import Suggester
from shipmate.approvals.service import ApprovalService
from shipmate.context.builder import ContextBuilder
from shipmate.context.snapshot import SnapshotLog
from shipmate.context.trace import Trace
from shipmate.models.choose import choose_model
from shipmate.models.port import Model
from shipmate.models.relay import close_model
from shipmate.orchestrator.feed import Feed
from shipmate.orchestrator.lane import Lane
from shipmate.orchestrator.lanes import Lanes, Receipt
from shipmate.orchestrator.loop import AgentOrchestrator
from shipmate.store.port import Store
from shipmate.store.sqlite import SqliteStore
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.change.changeset import recover
from shipmate.tools.toolset import Toolset, default_toolset
from shipmate.values.event import EgressMessage, IngressEvent, Outcome
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import Loaded, load_config

log = logging.getLogger(__name__)


class Shipmate:
    """Be one open workspace: take events in, run members, keep everything."""

    def __init__(
        self,
        layout: Layout,
        loaded: Loaded,
        model: Model,
        store: Store,
        sandbox: Sandbox,
        toolset: Toolset | None,
    ) -> None:
        self.layout = layout
        self.loaded = loaded
        self.config = loaded.config
        self.model = model
        self.store = store
        self.sandbox = sandbox
        self.toolset = toolset or default_toolset(layout, self.config, sandbox)
        self.feed = Feed()
        self.threads = ThreadService(FileLog(layout))
        self.approvals = ApprovalService(
            layout,
            self.config.permissions,
            store,
            language=self.config.language,
            sandbox_works=lambda: sandbox.works,
            suggest=Suggester(model) if self.config.permissions.suggest else None,
            zone=self.config.timezone,
            mask=loaded.mask,
            config=self.config,
        )
        self.context = ContextBuilder(layout, self.config, loaded.environ)
        self.snapshots = SnapshotLog(layout, loaded.environ, loaded.mask)
        self.orchestrator = AgentOrchestrator(
            layout=layout,
            model=model,
            toolset=self.toolset,
            approvals=self.approvals,
            context=self.context,
            ledger=store.ledger,
            trace=Trace(layout, loaded.environ, loaded.mask),
            snapshots=self.snapshots,
        )
        # Platforms whose adapter pushes replies out get them through the outbox.
        self.push_platforms: set[str] = set()
        make_lane: Callable[..., Lane] = partial(
            Lane,
            threads=self.threads,
            store=store,
            orchestrator=self.orchestrator,
            approvals=self.approvals,
            feed=self.feed,
            sends=self._sends,
        )
        self.lanes = Lanes(store, self.feed, make_lane)

    @classmethod
    async def open(
        cls,
        root: Path,
        *,
        model: Model | None = None,
        environ: Mapping[str, str] | None = None,
        toolset: Toolset | None = None,
    ) -> Self:
        """Open the workspace a folder lies in."""
        layout = Layout.find(root)
        loaded = load_config(layout, environ)
        await asyncio.to_thread(_take_up, layout)
        chosen = model or choose_model(loaded.config.llm, loaded.environ)
        return cls(layout, loaded, chosen, SqliteStore(layout.state), Sandbox(layout), toolset)

    async def receive(self, event: IngressEvent) -> Receipt:
        """Take an event in; once this returns it cannot be lost, and a repeat starts nothing."""
        return await self.lanes.receive(event)

    async def close(self) -> None:
        """End cleanly; runs in flight are taken up at the next start."""
        await self.lanes.close()
        await self.toolset.close()
        await close_model(self.model)
        await self.store.close()

    def _sends(self, thread_id: ThreadId, outcome: Outcome) -> Sequence[EgressMessage]:
        words = outcome.text or outcome.error
        if thread_id.platform not in self.push_platforms or not words:
            return ()
        return (EgressMessage(thread_id=str(thread_id), text=words),)


def _take_up(layout: Layout) -> None:
    """Finish what a crash cut off, and forget trials nobody can answer any more."""
    if layout.rooms.is_dir():
        for line in Sandbox(layout).recover():
            log.warning("after a command that was cut off: %s", line)
    if layout.trials.is_dir():
        from shipmate.tools.exec.preview.trial import Trials

        recover(layout)
        Trials(layout).sweep()
