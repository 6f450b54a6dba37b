"""Make what members work with: models, tools and prompt, or the program that stands in for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from shipmate.context.builder import ContextBuilder
from shipmate.context.trace import Trace
from shipmate.models.choice import ModelChoice
from shipmate.models.port import Model
from shipmate.models.selection.window import Windows
from shipmate.orchestrator.equipment import Equipment
from shipmate.store.port import Store
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.search_threads import ThreadSearch
from shipmate.tools.toolset import AnyTool, Toolset, default_toolset
from shipmate.values.thread_id import STUDIO, ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.member import Member
from shipmate.workspace.secret.secret import Mask

if TYPE_CHECKING:
    from shipmate.crew.program.live_program import LiveProgram
    from shipmate.crew.studio import Studios
    from shipmate.tools.mcp.servers import McpServers


class Equipping:
    """The equipment of a crew, each member's made once and again when its settings change."""

    def __init__(
        self,
        crew: Crew,
        sandbox: Sandbox,
        servers: McpServers | None,
        trace: Trace,
        mask: Mask,
        *,
        # What stands in for what the members' own settings say.
        model: Model | None = None,
        toolset: Toolset | None = None,
        # Makes the tools for working with other members.
        make_crew_tools: Callable[[], Iterable[AnyTool]],
        # What threads are searched in; without, no member can.
        store: Store | None = None,
    ) -> None:
        self._crew = crew
        self._sandbox = sandbox
        self._servers = servers
        self._trace = trace
        self._mask = mask
        self._model = model
        self._toolset = toolset
        self._make_crew_tools = make_crew_tools
        self._search = [ThreadSearch(store)] if store is not None else []
        self._windows = Windows(crew.layout.windows)
        # Programs that wait for a person's answer.
        self._waiting: dict[str, LiveProgram] = {}
        self._studios: Studios | None = None
        # By member, and whether there are colleagues to ask.
        self._known: dict[tuple[str, bool], Equipment] = {}
        # What members worked with before their settings changed.
        self._retired: list[Equipment] = []

    def equip(self, member_id: str, thread_id: ThreadId | None = None) -> Equipment:
        """Return a member with its models, tools and prompt, in a skill's studio where a thread is one."""
        usual = self._equip(member_id)
        if thread_id is None or thread_id.scope_type != STUDIO:
            return usual
        from shipmate.crew.studio import Studios, skill_of

        skill_id = skill_of(thread_id)
        if skill_id is None:
            return usual
        self._studios = self._studios or Studios()
        return self._studios.equip(usual, skill_id)

    def _equip(self, member_id: str) -> Equipment:
        member = self._crew.find(member_id)
        key = member_id, len(self._crew.ids()) > 1
        known = self._known.get(key)
        if known is not None and known.member is member:
            return known
        if known is not None:
            self._retired.append(known)
        made = self._known[key] = self._make(member, has_colleagues=key[1])
        return made

    def further_tools(self) -> list[AnyTool]:
        """Return the tools of this room that some member is offered."""
        further: list[AnyTool] = [*self._search, *self._make_crew_tools()]
        if any(member.offers_self for member in self._crew.list()):
            from shipmate.crew.self_skill import self_tools

            further += self_tools(self._crew, self._sandbox)
        return further

    async def close(self) -> None:
        """End what members still have running."""
        if self._studios is not None:
            await self._studios.close()
        for each in (*self._known.values(), *self._retired):
            await each.close()

    def _make(self, member: Member, *, has_colleagues: bool) -> Equipment:
        environ = self._crew.loaded.environ
        prompt = ContextBuilder(member, environ=environ)
        if member.is_program:
            from shipmate.crew.program.program_model import ProgramChoice, ProgramModel
            from shipmate.crew.program.program_tool import ProgramToolset

            program = ProgramModel(member, self._sandbox, self._trace, self._mask, os.environ, self._waiting)
            tools = ProgramToolset(default_toolset(member, self._sandbox), program.prefix, program.allow)
            return Equipment(member, ProgramChoice(member, environ, program), tools, prompt)
        given = self._model if member.settings.model is None else None
        models = ModelChoice(member.config.llm, environ, given, self._windows)
        return Equipment(member, models, self._gather_tools(member, has_colleagues=has_colleagues), prompt)

    def _gather_tools(self, member: Member, *, has_colleagues: bool) -> Toolset:
        if self._toolset is not None:
            return self._toolset.limited_to(member.tools)
        further: list[AnyTool] = [*self._search, *(self._make_crew_tools() if has_colleagues else ())]
        if member.offers_self:
            from shipmate.crew.self_skill import self_tools

            further += self_tools(self._crew, self._sandbox)
        return default_toolset(member, self._sandbox, self._servers, further)
