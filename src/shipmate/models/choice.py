"""The models of one workspace: the configured one, and others that a question names."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shipmate.models.catalog import ALIASES, PROVIDERS
from shipmate.models.choose import choose_model, find_overlooked
from shipmate.models.port import Model
from shipmate.models.relay import close_model
from shipmate.models.route import describe_route, find_route
from shipmate.models.selection.window import Window, Windows, guess_window
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Llm, RouteRule

if TYPE_CHECKING:
    from shipmate.models.selection.probe import Measured

log = logging.getLogger(__name__)
REHEARSAL = "rehearsal"
KNOWN = frozenset((*PROVIDERS, *ALIASES))
CHECK_SECONDS = 20.0
# Before the name of a model that rules chose, and no person.
ROUTED = "route "


class ModelChoice:
    """Models by name, each made when first asked for and closed with the workspace."""

    def __init__(
        self,
        llm: Llm,
        environ: Mapping[str, str],
        default: Model | None = None,
        windows: Windows | None = None,
    ) -> None:
        self._llm = llm
        self._environ = environ
        self._windows = windows or Windows()
        self._given = default
        self._known: dict[str | None, Window] = {}
        self._models: dict[str | None, Model] = {} if default is None else {None: default}

    @property
    def default(self) -> Model:
        """The model that answers when a question names none."""
        return self.named(None)

    def named(self, name: str | None) -> Model:
        """Return the model `provider:model` names; the rest of `llm` in ship.json holds for its provider."""
        if name not in self._models:
            llm = self._settings(name)
            for line in find_overlooked(llm, self._environ):
                log.warning("%s", line)
            self._models[name] = choose_model(llm, self._environ)
        return self._models[name]

    def route(
        self, rules: Sequence[RouteRule], message: UIMessage, member: str, thread: ThreadId
    ) -> tuple[str | None, str]:
        """Return by which name to ask for the model that rules choose for a message, and why it is that."""
        rule = find_route(rules, message, member, thread)
        return (None, "") if rule is None else (f"{ROUTED}{self.complete(rule.model)}", describe_route(rule))

    def _settings(self, name: str | None) -> Llm:
        """Return the settings of a model; where one that rules chose stays away, the member's own follow."""
        if name is None:
            return self._llm
        if not name.startswith(ROUTED):
            return self._llm.named(name)
        own = self._llm
        follow = (replace(own, fallback=()), *own.fallback) if own.provider or own.model else ()
        return replace(own.named(name.removeprefix(ROUTED)), fallback=follow)

    def holds(self, run_id: str) -> bool:
        """Return whether somebody here waits to go on with a run: no model does."""
        return False

    def complete(self, name: str) -> str:
        """Return a model's name with its provider: the one in use where none is named."""
        head, colon, _ = name.partition(":")
        if (colon and head in KNOWN) or head == REHEARSAL:
            return name
        return f"{self.default.name.partition(':')[0]}:{name}"

    async def check(self, name: str) -> Measured:
        """Ask a model one short question; raise a ShipmateError when it does not work."""
        llm = replace(self._llm.named(name), fallback=(), max_retries=0, timeout_seconds=CHECK_SECONDS)
        model = choose_model(llm, self._environ)
        try:
            from shipmate.models.selection.probe import ask_once

            return await ask_once(model)
        finally:
            await close_model(model)

    async def window(self, name: str | None = None, *, patient: bool = False) -> Window:
        """Return how many tokens a model reads at once; what its server is still to tell comes later."""
        if (known := self._known.get(name)) is not None:
            return known
        found = await self._find_window(name, patient=patient)
        if found.is_final:
            self._known[name] = found
        return found

    def recall_window(self, name: str | None = None) -> Window:
        """Return how many tokens a model reads, as far as it is known; nobody is asked."""
        known = self._known.get(name)
        if known is not None or self.named(name) is self._given:
            return known or guess_window(self.named(name).name)
        return self._windows.recall(self._llm_of(name), self.named(name).name, self._environ)

    async def _find_window(self, name: str | None, *, patient: bool) -> Window:
        llm, model = self._llm_of(name), self.named(name)
        if model is self._given and llm.context_window is None:
            return guess_window(model.name)
        return await self._windows.find(llm, model.name, self._environ, patient=patient)

    def _llm_of(self, name: str | None) -> Llm:
        """Return the settings of a model; one that was found on this machine has the name it got."""
        llm = self._settings(name)
        if llm.provider or llm.model or llm.base_url:
            return llm
        provider, _, rest = self.named(name).name.partition(":")
        return replace(llm, provider=provider, model=rest or None)

    async def close(self) -> None:
        """Close the models that hold connections."""
        await self._windows.close()
        for model in self._models.values():
            await close_model(model)
