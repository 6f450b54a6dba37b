"""Describe answers for /openapi.json. Nothing here is loaded before someone asks for the description."""

from __future__ import annotations

from shipmate.server.answer import talk, workspace
from shipmate.server.shape import Shape


def find_shape(name: str) -> type[Shape]:
    """Return the shape of an answer by its name."""
    shape: type[Shape] = {**vars(talk), **vars(workspace)}[name]
    return shape
