"""The models of one workspace: the configured one, and others that a question names."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from shipmate.models.choose import choose_model, find_overlooked
from shipmate.models.port import Model
from shipmate.models.relay import close_model
from shipmate.workspace.config import Llm

log = logging.getLogger(__name__)


class ModelChoice:
    """Models by name, each made when first asked for and closed with the workspace."""

    def __init__(self, llm: Llm, environ: Mapping[str, str], default: Model | None = None) -> None:
        self._llm = llm
        self._environ = environ
        self._models: dict[str | None, Model] = {} if default is None else {None: default}

    @property
    def default(self) -> Model:
        """The model that answers when a question names none."""
        return self.named(None)

    def named(self, name: str | None) -> Model:
        """Return the model `provider:model` names; the rest of `llm` in ship.json holds for its provider."""
        if name not in self._models:
            llm = self._llm if name is None else self._llm.named(name)
            for line in find_overlooked(llm, self._environ):
                log.warning("%s", line)
            self._models[name] = choose_model(llm, self._environ)
        return self._models[name]

    async def close(self) -> None:
        """Close the models that hold connections."""
        for model in self._models.values():
            await close_model(model)
