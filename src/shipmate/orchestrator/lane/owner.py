"""Whose thread a lane works, which model was chosen for it or is now, and its place in lists and search."""

from __future__ import annotations

import logging

from shipmate.errors import ModelError, ShipmateError, StorageError
from shipmate.models.route import describe_route
from shipmate.orchestrator.equipment import Equipment
from shipmate.store.port import Store, ThreadInfo
from shipmate.thread.pin import say
from shipmate.thread.service import Thread
from shipmate.values.event import IngressEvent, ModelSwitchEvent, Outcome, PlanEvent, surface_of
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.load import Loaded

log = logging.getLogger(__name__)

DEFAULT = "default"


class ThreadOwner:
    """What is kept of one thread besides its rows, looked up once a turn."""

    def __init__(self, store: Store, thread_id: str) -> None:
        self._store = store
        self._thread_id = thread_id
        self._member: str | None = None
        self.is_listed = False
        # The model a person chose for the thread.
        self.model: str | None = None
        # Whether nothing may act before a plan is agreed.
        self.is_planning = False

    async def look(self, thread: Thread, event: IngressEvent | None = None) -> str:
        """Return the member the thread belongs to; a new one belongs to the member it begins with."""
        info = await self._store.threads.find(self._thread_id)
        named = (event.member if event else None) or CAPTAIN
        if info is None and named != CAPTAIN and not thread.messages:
            await self._store.threads.create(self._thread_id, member=named)
            info = await self._store.threads.find(self._thread_id)
        self.is_listed = info is not None
        self.model = model_of(info)
        self.is_planning = is_planning(info)
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


def model_of(info: ThreadInfo | None) -> str | None:
    """Return the model a person chose for a thread, as provider:model."""
    found = info.settings.get("model") if info is not None else None
    return found if isinstance(found, str) and found else None


def is_planning(info: ThreadInfo | None) -> bool:
    """Return whether a person wants a plan first in a thread, and has not agreed to one."""
    return info is not None and info.settings.get("plan") == "open"


class Switch:
    """The switches of one thread: its model, tried before it is kept, and whether it plans first."""

    def __init__(self, store: Store, equipment: Equipment, language: str) -> None:
        self._store = store
        self._equipment = equipment
        self._info: ThreadInfo | None = None
        self._language = language

    async def answer(self, event: ModelSwitchEvent | PlanEvent, loaded: Loaded) -> Outcome:
        """Say which model answers, or choose another; a name that does not work is refused."""
        self._info = await self._store.threads.find(event.thread_id)
        if isinstance(event, PlanEvent):
            return await self._plan(event)
        name = event.name.strip()
        if not name:
            return _reply(self._describe())
        if event.scope == "member" and not self._may_change_member(event):
            return _refuse(self._say("model-refused"))
        try:
            said = await self._choose(event, name, loaded)
        except StorageError:
            raise
        except ShipmateError as error:
            return _refuse(self._say("model-fails", name=name, why=str(error)))
        return _reply(said)

    async def _plan(self, event: PlanEvent) -> Outcome:
        """Have a plan made first, or let the thread act again."""
        if event.action != "open" and not is_planning(self._info):
            return _refuse(self._say("plan-none"))
        await self._set(event.thread_id, {"plan": "open" if event.action == "open" else None})
        return _reply(self._say(f"plan-{event.action}"))

    async def _choose(self, event: ModelSwitchEvent, name: str, loaded: Loaded) -> str:
        if name == DEFAULT:
            return await self._take_back(event)
        models, member = self._equipment.models, self._equipment.member
        full = models.complete(name)
        await models.check(full)
        if event.scope == "thread":
            await self._set(event.thread_id, {"model": full})
            return self._say("model-thread", model=full)
        provider, _, model = full.partition(":")
        from shipmate.models.selection.selection import SelectedModel, keep_plan, plan_selection

        plan = plan_selection(SelectedModel(provider=provider, model=model or None), loaded)
        kept = keep_plan(member.layout, plan, member.id)
        return self._say("model-member", model=full, member=member.name, file=kept.file)

    async def _take_back(self, event: ModelSwitchEvent) -> str:
        if event.scope == "member":
            from shipmate.models.selection.selection import forget_selection

            kept = forget_selection(self._equipment.member.layout, self._equipment.member.id)
            return self._say("model-member-default", file=kept.file)
        await self._set(event.thread_id, {"model": None})
        return self._say("model-default", model=self._own())

    async def _set(self, thread_id: str, values: JsonObject) -> None:
        before = self._info.settings if self._info is not None else {}
        joined = {**before, **values}
        settings = {key: value for key, value in joined.items() if value is not None}
        await self._store.threads.set(thread_id, settings=settings)

    def _describe(self) -> str:
        chosen = model_of(self._info)
        if chosen is None:
            rules = self._equipment.member.config.routing
            lines = [f"- {describe_route(rule)} → {rule.model}" for rule in rules]
            told = [self._say("model-routes", rules="\n".join(lines))] if lines else []
            return "\n".join([self._say("model", model=self._own()), *told])
        return self._say("model-chosen", model=chosen, own=self._own())

    def _own(self) -> str:
        try:
            return self._equipment.models.default.name
        except ModelError:
            return "?"

    def _may_change_member(self, event: ModelSwitchEvent) -> bool:
        """Return whether a person may change files: whoever holds the workspace, and its admins."""
        admins = self._equipment.member.config.permissions.admins
        names = (event.user_id, f"{event.platform}:{event.user_id}")
        return surface_of(event.platform).is_owner or any(name in admins for name in names)

    def _say(self, key: str, **values: object) -> str:
        return say(self._language, key, **values)


def _reply(words: str) -> Outcome:
    return Outcome(run_id="", status="replied", text=words)


def _refuse(words: str) -> Outcome:
    return Outcome(run_id="", status="failed", error=words)
