"""Gather the tools a member is offered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shipmate.models.port import ToolSpec
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs, JobTool
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.edit import Edit
from shipmate.tools.file.memory_upsert import MemoryUpsert
from shipmate.tools.file.propose_task import ProposeTask
from shipmate.tools.file.read import Read
from shipmate.tools.file.search.glob import Glob
from shipmate.tools.file.search.grep import Grep
from shipmate.tools.file.send_file import SendFile
from shipmate.tools.file.shared_project import ProjectCreate, ProjectList
from shipmate.tools.file.show_image import ShowImage
from shipmate.tools.file.write import Write
from shipmate.tools.steps import Steps
from shipmate.tools.tool import Tool
from shipmate.tools.web.web_fetch import WebFetch
from shipmate.values.tool_name import is_among, names_of
from shipmate.workspace.finding import Finding
from shipmate.workspace.member import Member

if TYPE_CHECKING:
    from shipmate.tools.mcp.servers import McpServers

AnyTool = Tool[Any]


class Toolset:
    """Tools in the order they are offered; those of MCP servers come after the first `load`."""

    def __init__(
        self,
        tools: Iterable[AnyTool],
        servers: McpServers | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self._own = list(tools)
        self._servers = servers
        # Names, or their beginnings before a `*`.
        self._only = only
        self._foreign: list[AnyTool] = []
        self._offer(self._own)

    def limited_to(self, only: Sequence[str] | None) -> Toolset:
        """Return the same tools, of which no others than these are offered; whoever made them closes them."""
        return self if only is None else Toolset(self._own, self._servers, only)

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """Find a tool by its name or an alias."""
        return self._tools.get(name) or self._aliases.get(name)

    def specs(self) -> list[ToolSpec]:
        """Describe all tools to a model."""
        return list(self._specs)

    async def load(self, *, called: Iterable[str] = (), is_patient: bool = False) -> None:
        """Find the tools of MCP servers; call it before each step. Quick while nothing changes.

        Where a tool is `called` whose server is still starting, the server is waited for. A patient caller
        has every server asked, and waits until each has answered or failed.
        """
        if self._servers is not None:
            found = await self._servers.load(called=called, is_patient=is_patient)
            if found is not self._foreign:
                self._foreign = found
                self._offer([*self._own, *found])

    def describe_starting(self, language: str) -> str:
        """Return what to tell people about MCP servers whose tools are not known yet."""
        return self._servers.describe_starting(language) if self._servers else ""

    def findings(self) -> list[Finding]:
        """Tell how the MCP servers stand."""
        return self._servers.findings() if self._servers else []

    async def close(self) -> None:
        """End what tools still have running."""
        for tool in self:
            await tool.close()
        if self._servers is not None:
            await self._servers.close()

    def _offer(self, tools: Iterable[AnyTool]) -> None:
        self._tools = {tool.name: tool for tool in tools if self._is_offered(tool)}
        self._aliases = {
            alias: tool
            for tool in self._tools.values()
            for alias in (*names_of(tool.name)[1:], *tool.aliases)
        }
        # The same objects each time: what a provider made of them can be kept.
        self._specs = [tool.spec() for tool in self]

    def _is_offered(self, tool: AnyTool) -> bool:
        return self._only is None or is_among((*names_of(tool.name), *tool.aliases), self._only)


def default_toolset(
    member: Member,
    sandbox: Sandbox | None = None,
    servers: McpServers | None = None,
    further: Iterable[AnyTool] = (),
) -> Toolset:
    """Make the tools of a member, with those of rooms below; all share the servers of foreign ones."""
    layout, config, jobs, trials = member.layout, member.config, Jobs(), None
    if config.permissions.mode == "preview":
        from shipmate.tools.exec.preview.trial import Trials

        trials = Trials(layout, config.language)
    run = Exec(sandbox or Sandbox(layout), jobs, config.env, config.permissions.network, trials)
    files: list[AnyTool] = [Read(), Glob(), Grep(), Write(), Edit()]
    projects: list[AnyTool] = [ProjectList(), ProjectCreate()] if layout.projects.is_dir() else []
    others: list[AnyTool] = [JobTool(jobs), WebFetch(), ShowImage(), SendFile(), MemoryUpsert()]
    others += [ProposeTask(), Steps()]
    servers = servers or default_servers(member)
    tools = [*files, run, *others, *_search_tools(member, servers), *_speech_tools(member), *projects]
    return Toolset([*tools, *further], servers, member.tools)


def _search_tools(member: Member, servers: McpServers | None) -> list[AnyTool]:
    """Make the tools that search the web and the member's knowledge, where settings name them."""
    tools: list[AnyTool] = []
    if member.config.web_search.engine is not None:
        from shipmate.tools.web.web_search import WebSearch

        tools.append(WebSearch(member.config.web_search, servers))
    if member.config.knowledge:
        from shipmate.tools.file.search.search_knowledge import SearchKnowledge

        tools.append(SearchKnowledge(member.config.knowledge))
    return tools


def _speech_tools(member: Member) -> list[AnyTool]:
    """Make the tools that speak and listen, where ship.json asks for them."""
    if not member.config.speech.tools:
        return []
    from shipmate.speech.speech import Speech
    from shipmate.tools.speech.stt_transcribe import Transcribe
    from shipmate.tools.speech.tts_speak import Speak

    speech = Speech(member.config.speech, member.config.language)
    return [Speak(speech), Transcribe(speech)]


def default_servers(member: Member) -> McpServers | None:
    """Make the servers of foreign tools that ship.json names, if any."""
    named = member.config.mcp.servers
    if not named:
        return None
    from shipmate.tools.mcp.servers import McpServers

    return McpServers(named, member.layout, member.config.mcp.wait_seconds)
