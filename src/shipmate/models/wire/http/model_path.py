"""Write the name of a model as a step of an address, and as nothing else."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wording import say

LONGEST = 200
# How often a name may be written in per cent before nobody on the way reads it as something else.
READINGS = 4
STEP = re.compile(r"[/\\]")
# Where the Gemini API keeps models; any other name is one of the first, whatever it holds.
COLLECTIONS = ("models", "tunedModels")


def quote_model(name: str) -> str:
    """Return a model's name as one step of a path; raise `HttpFault` for one that would lead elsewhere."""
    read = name
    for _ in range(READINGS):
        # A server, or a proxy before it, may take the signs of a path for one whichever way they are written.
        if len(name) > LONGEST or not read.isprintable() or not all(map(_is_name, STEP.split(read))):
            raise HttpFault("model-name", say("model-name"))
        read = unquote(read)
    return quote(name, safe="")


def write_resource(model: str) -> str:
    """Return where the Gemini API keeps a model."""
    kind, slash, name = model.partition("/")
    is_placed = bool(slash) and kind in COLLECTIONS
    return f"{kind if is_placed else COLLECTIONS[0]}/{quote_model(name if is_placed else model)}"


def _is_name(step: str) -> bool:
    return bool(step.strip(". "))
