"""Build the prompt: sections in the order of a profile, within a budget, each with its reason."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from shipmate.context.budget import Calibration
from shipmate.context.clock import find_zone, tell_time
from shipmate.context.media import read_images
from shipmate.context.piece import join_pieces, limit_pieces, write_pieces
from shipmate.context.profile import Profile, choose_profile
from shipmate.context.request import Context, ContextRequest
from shipmate.context.section import Scene
from shipmate.memory.reader import MemoryReader
from shipmate.skills.loader import SkillsLoader
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config
from shipmate.workspace.file import FileCache
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member, captain_of


class ContextBuilder:
    """Assembles the prompts and message lists of one member."""

    def __init__(
        self,
        member: Member | Layout | Path | str,
        config: Config | None = None,
        environ: MutableMapping[str, str] | None = None,
    ) -> None:
        self.member = member if isinstance(member, Member) else _captain(member, config)
        self.layout = self.member.layout
        self.config = self.member.config
        self._files = FileCache(self.layout.root)
        variables = os.environ if environ is None else environ
        # The member's own variables count as set: its commands get them.
        self.skills = SkillsLoader(
            self.layout, self.config.skills, self._files, ChainMap(self.config.env, variables)
        )
        self._calibration = Calibration()
        self._reader = MemoryReader(self.layout, self._files, self.member.id)

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

    def findings(self) -> list[Finding]:
        """Say what stands in the way of a good prompt."""
        context = self.build(ContextRequest())
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
        return [*found, *self.skills.find(self.member.id).findings]

    def build_system_prompt(self, skill_names: Sequence[str] | None = None) -> str:
        """Build the system prompt; the named skills are given in full."""
        return self.build(ContextRequest(skill_names=skill_names or ())).system

    def build_messages(
        self,
        history: Sequence[JsonObject],
        current_message: str,
        skill_names: Sequence[str] | None = None,
        media: Sequence[str | Path] | None = None,
    ) -> list[JsonObject]:
        """Build the whole message list: system prompt, history, then the current message with its images."""
        request = ContextRequest(skill_names=skill_names or (), last_text=current_message)
        images = [{"type": "image_url", "image_url": {"url": url}} for url in read_images(media or ())]
        content = [*images, {"type": "text", "text": current_message}] if images else current_message
        system = {"role": "system", "content": self.build(request).system}
        return [system, *history, {"role": "user", "content": content}]

    def add_tool_result(
        self, messages: list[JsonObject], tool_call_id: str, tool_name: str, result: str
    ) -> list[JsonObject]:
        """Add a tool's result to a message list."""
        messages.append({"role": "tool", "tool_call_id": tool_call_id, "name": tool_name, "content": result})
        return messages

    def add_assistant_message(
        self, messages: list[JsonObject], content: str | None, tool_calls: Sequence[JsonObject] | None = None
    ) -> list[JsonObject]:
        """Add the assistant's words, and the calls it made, to a message list."""
        message: JsonObject = {"role": "assistant", "content": content or ""}
        messages.append({**message, "tool_calls": list(tool_calls)} if tool_calls else message)
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
            skills=self.skills.find(self.member.id),
            now=tell_time(request.now, self.config.timezone or profile.timezone),
            style=profile.style,
        )


def _captain(workspace: Layout | Path | str, config: Config | None) -> Member:
    is_layout = isinstance(workspace, Layout)
    return captain_of(workspace if is_layout else Layout(Path(workspace).expanduser().absolute()), config)
