"""Hold a request against the official SDK's types, strict about keys they do not know."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter
from typing_extensions import is_typeddict


@cache
def adapter(wanted: Any, package: str) -> TypeAdapter[Any]:
    """Return the validator of a request type; all of its package's types refuse unknown keys."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for value in list(vars(module).values()):
                if is_typeddict(value) and "__pydantic_config__" not in vars(value):
                    value.__pydantic_config__ = ConfigDict(extra="forbid")
    with warnings.catch_warnings():
        # Types that allow other keys by themselves stay as they are.
        warnings.simplefilter("ignore")
        return TypeAdapter(wanted)


def check_type(wanted: Any, package: str, body: dict[str, Any]) -> None:
    """Fail unless a body is what the type says, key for key."""
    assert _read(adapter(wanted, package).validate_python(body)) == body


def _read(value: Any) -> Any:
    """Read what was validated to its end: lists are only looked at when somebody goes over them."""
    if value is None or isinstance(value, str | int | float):
        return value
    # Types of answers allow any key, so what fits one of them alone was not a request.
    assert not isinstance(value, BaseModel), value
    if isinstance(value, dict):
        return {key: _read(inner) for key, inner in value.items()}
    return [_read(inner) for inner in value]
