"""Mend how the provider SDKs build their answer objects.

For every object of an answer they ask whether its configuration is one of pydantic 1, by a protocol check
that takes 50 µs each time: a millisecond for a short answer. Under pydantic 2, which we require, a
configuration is a dict, so the answer is always no, and a plain class gives it at once.
"""

from __future__ import annotations

from types import ModuleType

NAME = "_ConfigProtocol"


class OldConfig:
    """A stand-in for a configuration that does not exist under pydantic 2."""


def mend_construct(module: ModuleType) -> None:
    """Put the plain class in the place of an SDK's protocol, in its `_models` module."""
    if hasattr(module, NAME):
        setattr(module, NAME, OldConfig)
