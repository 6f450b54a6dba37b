"""Find the adapters that ship.json names: built in, or brought by a package as an entry point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

import msgspec

from shipmate.delivery.adapter import Adapter
from shipmate.delivery.reception.people import People
from shipmate.errors import ConfigError, ShipmateError
from shipmate.values.event import SCHEDULE, SURFACES
from shipmate.values.thread_id import WORD, ThreadId
from shipmate.workspace.config import AdapterSettings
from shipmate.workspace.finding import Finding
from shipmate.workspace.load import unknown_keys

# Where each kind stands; a module is loaded when its platform is spoken to.
BUILT_IN = {
    "dingtalk": "shipmate.adapters.dingtalk:DingTalkAdapter",
    "discord": "shipmate.adapters.discord:DiscordAdapter",
    "feishu": "shipmate.adapters.feishu.feishu:FeishuAdapter",
    "mail": "shipmate.adapters.mail:MailAdapter",
    "memory": "shipmate.adapters.memory_platform:MemoryAdapter",
    "slack": "shipmate.adapters.slack:SlackAdapter",
    "telegram": "shipmate.adapters.telegram.telegram_adapter:TelegramAdapter",
    "wecom": "shipmate.adapters.wecom:WecomAdapter",
}
GROUP = "shipmate.adapters"
# Words that mean something else in front of an id.
RESERVED = frozenset(
    {name for name, surface in SURFACES.items() if surface.is_owner}
    | {"api", "crew", "mcp", "person", SCHEDULE}
)


class AdapterRegistry:
    """The adapters of one workspace, each made when it is first asked for."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = {
            name: raw
            for name, raw in settings.items()
            if not isinstance(raw, dict) or raw.get("enabled") is not False
        }
        self._made: dict[str, Adapter] = {}

    @property
    def names(self) -> frozenset[str]:
        """The adapters that are switched on, whether or not they can be made."""
        return frozenset(self._settings)

    def find(self, name: str) -> Adapter:
        """Return an adapter; raise ConfigError with what to mend when it cannot be made."""
        if name not in self._made:
            kind, settings = self._read(name)
            self._made[name] = kind(name, settings)
        return self._made[name]

    def file_limit(self, thread_id: ThreadId) -> int | None:
        """Return the largest file a thread's platform takes, 0 when none; None where there is no adapter."""
        if thread_id.platform not in self._settings:
            return None
        try:
            capabilities = self.find(thread_id.platform).capabilities
        except ConfigError:
            return None
        return capabilities.max_file_bytes if capabilities.supports_files else 0

    def settings(self, name: str) -> AdapterSettings:
        """Return the settings of an adapter."""
        return self._read(name)[1]

    def check(self, people: People, members: Collection[str]) -> list[Finding]:
        """Say which adapters cannot be made, which keys nobody knows, who is missing, on either side."""
        found: list[Finding] = []
        for name, raw in self._settings.items():
            place = f"adapters.{name}"
            try:
                kind, settings = self._read(name)
                self.find(name)
            except ShipmateError as error:
                found.append(Finding("error", place, str(error)))
                continue
            for key, near in unknown_keys(raw, kind.settings_type):
                hint = f"did you mean {near!r}?" if near else ""
                found.append(Finding("warn", place, f"unknown key {key!r}, kept as it is", hint))
            if settings.member and settings.member not in members:
                words = f"there is no member {settings.member!r}, so nobody answers"
                fix = f"name one of: {', '.join(members)}; or `shipmate members add {settings.member}`"
                found.append(Finding("error", place, words, fix))
            elif not (settings.open or settings.allow_from or settings.chats or people.has_any(name)):
                fix = "write to the bot and let yourself in with the code it tells you, or set `allowFrom`"
                found.append(Finding("warn", place, "nobody may talk to it", fix))
            else:
                found.append(Finding("ok", place, f"{kind.kind}, for {settings.member or 'the captain'}"))
        return found

    def put(self, adapter: Adapter) -> None:
        """Use this adapter under its name."""
        self._made[adapter.name] = adapter

    async def close(self) -> None:
        """Let go of every connection."""
        for adapter in self._made.values():
            await adapter.close()

    def _read(self, name: str) -> tuple[type[Adapter], AdapterSettings]:
        raw = self._settings.get(name)
        if raw is None:
            raise ConfigError(f"ship.json has no adapters.{name} that is switched on.")
        if not WORD.fullmatch(name) or name in RESERVED:
            raise ConfigError(f"adapters.{name}: choose another name, a lower-case word such as 'telegram'.")
        if not isinstance(raw, dict):
            raise ConfigError(f"ship.json adapters.{name} must be an object, such as {{}}.")
        kind = find_kind(str(raw.get("kind") or name))
        try:
            return kind, msgspec.convert(raw, kind.settings_type)
        except msgspec.ValidationError as error:
            raise ConfigError(f"ship.json adapters.{name}: {error}. Mend this value.") from error


def find_kind(kind: str) -> type[Adapter]:
    """Return the adapter class of a kind."""
    if kind in BUILT_IN:
        module, _, name = BUILT_IN[kind].partition(":")
        return getattr(import_module(module), name)
    # Takes as long to import as all of this room, and few need it.
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name=kind)
    if not found:
        known = ", ".join(sorted({*BUILT_IN, *entry_points(group=GROUP).names}))
        raise ConfigError(f"there is no adapter of the kind {kind!r}; there are: {known}.")
    return next(iter(found)).load()
