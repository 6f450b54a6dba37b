"""Compose what a rehearsal is held with: the loop, the rules and the tools of a member, and no thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from shipmate.approvals.audit import Audit
from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Call, Verdict
from shipmate.context.builder import ContextBuilder
from shipmate.context.request import Context, ContextRequest
from shipmate.context.trace import Trace
from shipmate.models.choice import ModelChoice
from shipmate.models.selection.window import Windows
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.guide import Guides
from shipmate.orchestrator.loop import AgentOrchestrator
from shipmate.orchestrator.turn import Turn
from shipmate.rehearsal.live_log import LiveLog, name_rehearsal
from shipmate.rehearsal.passing_store import NoAudit, PassingApprovals, PassingStore, PassingUploads
from shipmate.rehearsal.recorded_call import RecordedCalls
from shipmate.rehearsal.recorded_model import RecordedModel
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.rehearsal.staged_toolset import stage_tools, withhold
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.store.journal.grant import GrantFiles
from shipmate.store.journal.usage import UsageFiles
from shipmate.tools.exec.recovery import take_up
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.toolset import Toolset, default_toolset
from shipmate.values.chunk import Chunk
from shipmate.values.reason import Why
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Permissions
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.disk.memory_disk import MemoryDisk
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import Loaded, load_config
from shipmate.workspace.member import Member
from shipmate.workspace.upload import UploadFolder, Uploads

# Tools that look at files of the workspace and at nothing else.
LOOKING = frozenset({"read", "glob", "grep"})


def tighten(permissions: Permissions) -> Permissions:
    """Return permissions by which nothing is allowed: leave that members were given is none for a file."""
    is_closed = permissions.mode == "read-only"
    return replace(permissions, mode="read-only" if is_closed else "ask", allow=())


class ScriptedApprovals(ApprovalService):
    """Approvals where neither a person nor a model asked for a call: what acts or reaches out is refused."""

    def __init__(self, layout: Layout, permissions: Permissions, *given: Any, **options: Any) -> None:
        super().__init__(layout, tighten(permissions), *given, **options)

    async def judge(self, call: Call) -> Verdict:
        verdict = self.policy.judge(call, ())
        if verdict.action == "deny" or (call.tool.name in LOOKING and verdict.action == "allow"):
            return await super().judge(call)
        why = Why("scripted")
        return Verdict("deny", why, reason=self._explain(call, why))


class CopyApprovals(ApprovalService):
    """Approvals in a copy of the workspace: reasons name the workspace's own paths."""

    def __init__(self, copy: WorkspaceCopy, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._copy = copy

    async def judge(self, call: Call) -> Verdict:
        verdict = await super().judge(call)
        return replace(verdict, reason=self._copy.leave(verdict.reason))

    def _explain(self, call: Call, why: Why) -> str:
        return self._copy.leave(super()._explain(call, why))


class NoGuides(Guides):
    """No guides: recorded results hold those that were told."""

    def add_to(self, turn: Turn, call: Call, told: list[Chunk]) -> list[Chunk]:
        return told


class NoContext(ContextBuilder):
    """No prompt: a script that plays the member's side reads none."""

    def build(self, request: ContextRequest) -> Context:
        return Context(profile="", system="", sections=(), stable_bytes=0, tools_bytes=0, tokens=0)


class Stage(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A member with all it answers with; what it keeps is gone with the process."""

    layout: Layout
    equipment: Equipment
    orchestrator: AgentOrchestrator
    approvals: ApprovalService
    store: PassingStore
    # Plays the member's side, when a script does.
    player: RecordedModel | None
    # The model a question names, when it is not the member's own.
    model: str | None
    # Answers calls and approvals, unless tools are live.
    recorded: RecordedCalls | None
    # What the ids of its threads begin with.
    name: ThreadId
    log: LiveLog | None = None

    async def close(self) -> None:
        """End what tools still have running, and remove what they printed."""
        await self.equipment.close()
        if self.log is not None:
            await asyncio.to_thread(self.log.close)


@asynccontextmanager
async def open_stage(layout: Layout, recorded: RecordedCalls, setting: Setting) -> AsyncGenerator[Stage]:
    """Compose a stage, and clear it away."""
    loaded = load_config(layout)
    found = Crew(layout, loaded).find(setting.member)
    copy = WorkspaceCopy(layout) if setting.tools == "sandbox" else None
    try:
        if copy is not None:
            await asyncio.to_thread(copy.make)
        if setting.tools == "live":
            # A rehearsal before may have been killed in the middle of a command.
            await asyncio.to_thread(take_up, layout)
            stage = _compose_live(layout, loaded, found, setting)
        else:
            stage = _compose(layout, loaded, found, setting, recorded, copy)
        try:
            yield stage
        finally:
            await stage.close()
    finally:
        if copy is not None:
            await asyncio.to_thread(copy.remove)


def _compose(
    layout: Layout,
    loaded: Loaded,
    member: Member,
    setting: Setting,
    recorded: RecordedCalls,
    copy: WorkspaceCopy | None,
) -> Stage:
    """Compose a stage on which a script answers, and a copy of the workspace where there is one."""
    place = copy.layout if copy else layout
    member = msgspec.structs.replace(member, layout=place, own=place.member(member.id))
    toolset = stage_tools(member, layout, recorded, copy)
    player = RecordedModel() if setting.is_played else None
    store = PassingStore(place, _spent(layout, player))
    # Answers from the script need no sandbox, and no command runs in the copy without one.
    # What a tool shows is kept where it ran.
    uploads = PassingUploads(UploadFolder(layout), UploadFolder(place)) if copy else None
    guides = None if copy else NoGuides()
    make = partial(CopyApprovals, copy) if copy else ApprovalService
    audit = NoAudit(place, disk=MemoryDisk())
    approvals = _make_approvals(place, loaded, store, audit, lambda: True, make)
    return Stage(
        layout=layout,
        equipment=_equip(withhold(member, is_live=copy is not None), loaded, toolset, player),
        orchestrator=_make_loop(layout, loaded, toolset, approvals, store, guides, uploads),
        approvals=approvals,
        store=store,
        player=player,
        model=None if player else setting.model,
        recorded=recorded,
        name=name_rehearsal(),
    )


def _compose_live(layout: Layout, loaded: Loaded, member: Member, setting: Setting) -> Stage:
    """Compose a stage whose tools act: only threads and approvals are kept nowhere."""
    name, sandbox = name_rehearsal(), Sandbox(layout)
    toolset = default_toolset(member, sandbox)
    player = RecordedModel() if setting.is_played else None
    # What a person granted holds where a model calls, until the moment it is taken back.
    lent = None if player else GrantFiles(layout, DISK)
    store = PassingStore(layout, _spent(layout, player), lent)
    audit = Audit(layout, loaded.mask)
    make = ScriptedApprovals if player else ApprovalService
    approvals = _make_approvals(layout, loaded, store, audit, lambda: sandbox.works, make)
    return Stage(
        layout=layout,
        equipment=_equip(member, loaded, toolset, player),
        orchestrator=_make_loop(layout, loaded, toolset, approvals, store, None),
        approvals=approvals,
        store=store,
        player=player,
        model=None if player else setting.model,
        recorded=None,
        name=name,
        log=LiveLog(layout, name),
    )


def _spent(layout: Layout, player: RecordedModel | None) -> UsageFiles | None:
    """Return where it is kept what models are paid, in rehearsals as anywhere; a script is paid nothing."""
    return None if player else UsageFiles(layout, DISK)


def _make_approvals(
    layout: Layout,
    loaded: Loaded,
    store: PassingStore,
    audit: Audit,
    works: Callable[[], bool],
    make: Callable[..., ApprovalService] = ApprovalService,
) -> ApprovalService:
    """Make the rules of a workspace; the questions are kept nowhere."""
    config = loaded.config
    return make(
        layout,
        config.permissions,
        store,
        language=config.language,
        sandbox_works=works,
        zone=config.timezone,
        mask=loaded.mask,
        config=config,
        records=PassingApprovals(audit),
        audit=audit,
    )


def _equip(member: Member, loaded: Loaded, toolset: Toolset, player: RecordedModel | None) -> Equipment:
    models = ModelChoice(member.config.llm, loaded.environ, player, Windows())
    make_context = NoContext if player else ContextBuilder
    return Equipment(member, models, toolset, make_context(member, environ=loaded.environ))


def _make_loop(
    layout: Layout,
    loaded: Loaded,
    toolset: Toolset,
    approvals: ApprovalService,
    store: PassingStore,
    guides: Guides | None,
    uploads: Uploads | None = None,
) -> AgentOrchestrator:
    return AgentOrchestrator(
        layout=layout,
        toolset=toolset,
        approvals=approvals,
        ledger=store.ledger,
        uploads=uploads or UploadFolder(layout),
        # Never on: a trace is a file of the workspace.
        trace=Trace(layout, {}, loaded.mask),
        requests=None,
        guides=guides,
    )
