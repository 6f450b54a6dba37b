"""Build the prompt: sections in the order of a profile, within a budget, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from shipmate.context.budget import Calibration, find_budget
from shipmate.context.media import read_images
from shipmate.context.piece import join_pieces, limit_pieces, weigh_tools, write_pieces
from shipmate.context.profile import MEMORY, Profile, choose_profile
from shipmate.context.request import Context, ContextRequest, ToolDescription, offered_tools
from shipmate.context.section import Scene, find_zone, tell_time
from shipmate.errors import WorkspaceError
from shipmate.memory.reader import MemoryReader
from shipmate.memory.recalling import MemoryRecall
from shipmate.skills.loader import SkillsLoader
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config
from shipmate.workspace.crew import Crew
from shipmate.workspace.file import FileCache
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import Member, captain_of


# Providers take turns, and some refuse two words of one side.
def join_prompts(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """Return messages in which neighbours of role `user` are one; those given stay as they are."""
    joined: list[JsonObject] = []
    for message in messages:
        last = joined[-1] if joined else {}
        if message.get("role") == "user" and last.get("role") == "user":
            joined[-1] = {**last, "content": _join(last.get("content"), message.get("content"))}
        else:
            joined.append(message)
    return joined


def _join(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}" if first and second else first or second
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


class ContextBuilder:
    """Assembles the prompts and message lists of one member."""

    def __init__(
        self,
        member: Member | Layout | Path | str,
        config: Config | None = None,
        environ: MutableMapping[str, str] | None = None,
        *,
        tools: Sequence[ToolDescription] | None = None,
        skill_folders: Sequence[Path | str] = (),
    ) -> None:
        """Take a member, or a workspace, of which ship.json and .env are read unless there is a `config`."""
        if not isinstance(member, Member):
            member, environ = _open(member, config, environ)
        self.member = member
        self.layout = member.layout
        self.config = member.config
        self._tools = tools if tools is not None else offered_tools(member.tools)
        self._files = FileCache(self.layout.root)
        self.skills = SkillsLoader(
            self.layout, self.config, self._files, environ, own=member.own, folders=skill_folders
        )
        self._calibration = Calibration()
        self._reader = MemoryReader(self.layout, self._files, member.own)
        self._recall = MemoryRecall(self._reader, str(self.layout.root))

    @property
    def memory(self) -> MemoryStore:
        """Return the memory that prompts are told of."""
        return MemoryStore(self)

    def build(self, request: ContextRequest) -> Context:
        """Build the prompt for one turn."""
        settings = self.config.context
        profile = choose_profile(settings, request.profile)
        ratio = self._calibration.ratio(request.model)
        pieces = write_pieces(profile, self._scene(request, profile))
        # A count that is too low must not let a prompt grow past what the model reads.
        careful = max(1.0, ratio)
        wanted = settings.budget_tokens
        budget = find_budget(request.window, wanted, lambda: round(weigh_tools(request.tools)[1] * careful))
        limit_pieces(pieces, settings.section_tokens, budget, ratio if budget == wanted else careful)
        return join_pieces(profile, pieces, request.tools, ratio, self.config.timezone)

    def calibrate(self, model: str, estimated: int, reported: int) -> None:
        """Learn from a provider's count; `estimated` must cover the whole request, messages included."""
        self._calibration.learn(model, estimated, reported)

    def findings(self) -> list[Finding]:
        """Say what stands in the way of a good prompt."""
        context = self.build(ContextRequest())
        whose = "" if self.member.id == CAPTAIN else f" --member {self.member.id}"
        found = [
            Finding(
                "warn",
                section.source or section.title,
                section.problem,
                f"see `shipmate context{whose} --show {section.name}`",
            )
            for section in context.sections
            if section.problem
        ]
        zone = self.config.timezone
        if zone and find_zone(zone) is None:
            found.append(
                Finding("warn", "timezone", f"there is no zone {zone!r}", "name one such as Asia/Shanghai")
            )
        return [*found, *self.skills.find().findings]

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
        return Scene(
            request=request,
            member=self.member,
            layout=self.layout,
            own=self.member.own,
            config=self.config,
            files=self._files,
            memory=self._reader,
            recall=self._recall,
            skills=self.skills.find(),
            now=tell_time(request.now, self.config.timezone or profile.timezone),
            style=profile.style,
            sections=frozenset(profile),
        )


class MemoryStore:
    """What prompts are told of a workspace's memory, by document 001's name."""

    def __init__(self, workspace: ContextBuilder | Layout | Path | str) -> None:
        self._builder = workspace if isinstance(workspace, ContextBuilder) else ContextBuilder(workspace)

    def get_memory_context(self, user_id: str = "", platform: str = "") -> str:
        """Return long-term memory, today's note and what was remembered, as the prompt has them."""
        context = self._builder.build(ContextRequest(user_id=user_id, platform=platform))
        return "\n\n".join(each.text for each in context.sections if each.name in MEMORY and each.included)


def _open(
    workspace: Layout | Path | str, config: Config | None, environ: MutableMapping[str, str] | None
) -> tuple[Member, MutableMapping[str, str] | None]:
    """Return the member whose files are a workspace's own, and the variables that are set there."""
    layout = workspace if isinstance(workspace, Layout) else _find_folder(workspace)
    if config is not None:
        return captain_of(layout, config), environ
    loaded = load_config(layout, environ)
    return Crew(layout, loaded).find(CAPTAIN), loaded.environ


def _find_folder(workspace: Path | str) -> Layout:
    root = Path(workspace).expanduser().absolute()
    if not root.is_dir():
        raise WorkspaceError(f"there is no folder {root}. Give the folder of a workspace, or make it.")
    # Of the home folder of another agent the workspace inside it is meant, as everywhere.
    return Layout(root) if (root / "Agent.md").is_file() else Layout.at(root)
