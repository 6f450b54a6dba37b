"""Build the prompt: sections in the order of a profile, within a budget, each with its reason."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from pathlib import Path

from shipmate.context.budget import Calibration
from shipmate.context.clock import find_zone, tell_time
from shipmate.context.media import read_images
from shipmate.context.message_list import join_prompts
from shipmate.context.piece import join_pieces, limit_pieces, write_pieces
from shipmate.context.profile import MEMORY, Profile, choose_profile
from shipmate.context.request import OFFERED_TOOLS, Context, ContextRequest, ToolDescription
from shipmate.context.section import Scene
from shipmate.errors import NotFoundError, WorkspaceError
from shipmate.memory.reader import MemoryReader
from shipmate.skills.loader import SkillList, SkillsLoader
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config
from shipmate.workspace.file import FileCache
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config


class ContextBuilder:
    """Assembles prompts and message lists for the members of one workspace."""

    def __init__(
        self,
        workspace: Layout | Path | str,
        config: Config | None = None,
        environ: MutableMapping[str, str] | None = None,
        *,
        tools: Sequence[ToolDescription] = OFFERED_TOOLS,
        skill_folders: Sequence[Path | str] = (),
    ) -> None:
        """Open a workspace; without a `config`, its ship.json and .env are read."""
        self.layout = workspace if isinstance(workspace, Layout) else _find_folder(workspace)
        if config is None:
            loaded = load_config(self.layout, environ)
            config, environ = loaded.config, loaded.environ
        self.config = config
        self._environ = environ
        self._tools = tools
        self._skill_folders = skill_folders
        self._files = FileCache(self.layout.root)
        self._calibration = Calibration()
        self._readers: dict[Layout, MemoryReader] = {}
        self._loaders: dict[Layout, tuple[Config, SkillsLoader]] = {}

    @property
    def memory(self) -> MemoryStore:
        """Return the memory that prompts are told of."""
        return MemoryStore(self)

    @property
    def skills(self) -> SkillsLoader:
        """Return the loader of the workspace's own skills."""
        return self._loader(self.layout.member(CAPTAIN), self.config)

    def build(self, request: ContextRequest) -> Context:
        """Build the prompt for one turn."""
        settings = self.config.context
        profile = choose_profile(settings, request.profile)
        ratio = self._calibration.ratio(request.model)
        pieces = write_pieces(profile, self._scene(request, profile))
        limit_pieces(pieces, settings.section_tokens, settings.budget_tokens, ratio)
        return join_pieces(profile, pieces, request.tools, ratio)

    def calibrate(self, model: str, estimated: int, reported: int) -> None:
        """Learn from a provider's count; `estimated` must cover the whole request, messages included."""
        self._calibration.learn(model, estimated, reported)

    def find_skills(self, member: str = CAPTAIN) -> SkillList:
        """Return the skills a member has, with what is wrong with them."""
        return self._loader(self.layout.member(member), self.config).find()

    def findings(self, member: str = CAPTAIN) -> list[Finding]:
        """Say what stands in the way of a good prompt."""
        context = self.build(ContextRequest(member=member))
        found = [
            Finding("warn", section.title, section.problem, f"see `shipmate context --show {section.name}`")
            for section in context.sections
            if section.problem
        ]
        zone = self.config.timezone
        if zone and find_zone(zone) is None:
            found.append(
                Finding("warn", "timezone", f"there is no zone {zone!r}", "name one such as Asia/Shanghai")
            )
        return [*found, *self.find_skills(member).findings]

    def build_system_prompt(self, skill_names: Sequence[str] | None = None) -> str:
        """Build the system prompt; the named skills are given in full."""
        return self.build(ContextRequest(skill_names=skill_names or (), tools=self._tools)).system

    def build_messages(
        self,
        history: Sequence[JsonObject],
        current_message: str,
        skill_names: Sequence[str] | None = None,
        media: Sequence[str | Path] | None = None,
    ) -> list[JsonObject]:
        """Build the whole message list: system prompt, history, then the current message with its images.

        Words of the person that nobody answered are joined with those that follow: providers want turns.
        """
        request = ContextRequest(skill_names=skill_names or (), last_text=current_message, tools=self._tools)
        images = [{"type": "image_url", "image_url": {"url": url}} for url in read_images(media or ())]
        content = [*images, {"type": "text", "text": current_message}] if images else current_message
        system = {"role": "system", "content": self.build(request).system}
        return join_prompts([system, *history, {"role": "user", "content": content}])

    def add_tool_result(
        self, messages: list[JsonObject], tool_call_id: str, tool_name: str, result: str
    ) -> list[JsonObject]:
        """Add a tool's result to a message list."""
        messages.append({"role": "tool", "tool_call_id": tool_call_id, "name": tool_name, "content": result})
        return messages

    def add_assistant_message(
        self,
        messages: list[JsonObject],
        content: str | None,
        tool_calls: Sequence[JsonObject] | None = None,
        reasoning_content: str | None = None,
    ) -> list[JsonObject]:
        """Add the assistant's words, the calls it made and what it thought to a message list."""
        message: JsonObject = {"role": "assistant", "content": content or ""}
        if tool_calls:
            message["tool_calls"] = list(tool_calls)
        if reasoning_content is not None:
            # Models that think aloud refuse a history in which their thoughts are gone.
            message["reasoning_content"] = reasoning_content
        messages.append(message)
        return messages

    def _scene(self, request: ContextRequest, profile: Profile) -> Scene:
        own, config = self.layout.member(request.member), self.config
        if own not in self._readers:
            if not own.root.is_dir():
                raise NotFoundError(f"there is no member {request.member!r}: make {own.agent} first.")
            self._readers[own] = MemoryReader(self.layout, self._files, own)
        return Scene(
            request=request,
            layout=self.layout,
            own=own,
            config=config,
            files=self._files,
            memory=self._readers[own],
            skills=self._loader(own, config).find(),
            now=tell_time(request.now, config.timezone or profile.timezone),
            style=profile.style,
        )

    def _loader(self, own: Layout, config: Config) -> SkillsLoader:
        """Return the loader of a member's skills; settings that changed need another one."""
        known = self._loaders.get(own)
        if known is None or (known[0] is not config and known[0] != config):
            loader = SkillsLoader(
                self.layout, config, self._files, self._environ, own=own, folders=self._skill_folders
            )
            known = self._loaders[own] = (config, loader)
        return known[1]


class MemoryStore:
    """What prompts are told of a workspace's memory, by document 001's name."""

    def __init__(self, workspace: ContextBuilder | Layout | Path | str) -> None:
        self._builder = workspace if isinstance(workspace, ContextBuilder) else ContextBuilder(workspace)

    def get_memory_context(self, user_id: str = "", platform: str = "") -> str:
        """Return long-term memory, today's note and what was remembered, as the prompt has them."""
        context = self._builder.build(ContextRequest(user_id=user_id, platform=platform))
        return "\n\n".join(each.text for each in context.sections if each.name in MEMORY and each.included)


def _find_folder(workspace: Path | str) -> Layout:
    root = Path(workspace).expanduser().absolute()
    if not root.is_dir():
        raise WorkspaceError(f"there is no folder {root}. Give the folder of a workspace, or make it.")
    return Layout(root)
