"""Keep values of calls out of threads, where a tool says that they stand in none."""

from __future__ import annotations

from typing import Any

from shipmate.orchestrator.turn import Turn
from shipmate.values.message import JsonObject
from shipmate.workspace.secret.sealed import SealedValues

# In place of a name that the tool does not know: it may be the value itself.
UNKNOWN = "unknown"


def seal_input(turn: Turn, name: str, given: Any) -> Any:
    """Return a call's input with references in place of what is sealed; None where all of it may be told."""
    tool = turn.equipment.toolset.get(name)
    if tool is None or not tool.sealed or name in turn.client_tools:
        return None
    if not isinstance(given, dict):
        # What cannot be read may hold the value anywhere.
        return {}
    kept, known = SealedValues(turn.equipment.member.layout), tool.spec().schema["properties"]
    told: JsonObject = {}
    for key, value in given.items():
        if key not in known:
            told[UNKNOWN] = ""
        elif key not in tool.sealed:
            told[key] = value
        else:
            told[key] = kept.seal(value) if isinstance(value, str) else ""
    return told
