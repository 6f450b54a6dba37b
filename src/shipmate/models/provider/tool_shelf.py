"""Fit tool schemas to a provider once, not at every request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from shipmate.models.port import ToolSpec


class ToolShelf:
    """The definitions of the tools last offered, as the provider wants them.

    pydantic-ai walks every schema anew for each request, a tenth of its cost. While the same specs
    are offered, what it made of them the first time is used again.
    """

    def __init__(self, model: Model) -> None:
        self._specs: tuple[ToolSpec, ...] = ()
        self._plain: list[ToolDefinition] = []
        self._fitted: list[ToolDefinition] | None = None
        self._fit = model.customize_request_parameters
        model.customize_request_parameters = self._customize

    def definitions(self, specs: Sequence[ToolSpec]) -> list[ToolDefinition]:
        """Return the definitions of tools; the same list while the same specs are offered."""
        if len(specs) != len(self._specs) or any(
            one is not other for one, other in zip(specs, self._specs, strict=True)
        ):
            self._specs = tuple(specs)
            self._fitted = None
            self._plain = [
                ToolDefinition(
                    name=spec.name, description=spec.description, parameters_json_schema=spec.schema
                )
                for spec in specs
            ]
        return self._plain

    def _customize(self, model_request_parameters: ModelRequestParameters) -> ModelRequestParameters:
        parameters = model_request_parameters
        if parameters.function_tools is not self._plain:
            return self._fit(parameters)
        if self._fitted is None:
            self._fitted = self._fit(parameters).function_tools
        return replace(parameters, function_tools=self._fitted)
