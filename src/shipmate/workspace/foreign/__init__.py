"""Folders made by or for other programs: what they are, and what of them is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shipmate.workspace.foreign.recognised import Recognised, Unused
    from shipmate.workspace.foreign.recognition import recognise, survey

__all__ = ["Recognised", "Unused", "recognise", "survey"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is used: nearly every folder is ours and needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shipmate.workspace.foreign import recognised, recognition

    return getattr(recognised if name in ("Recognised", "Unused") else recognition, name)
