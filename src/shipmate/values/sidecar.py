"""What belongs to a message and stands beside its row until the course ends."""

from __future__ import annotations

import msgspec

from shipmate.values.message import JsonObject


class Sidecar(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model was told with a message, or needs back to recognise it, and no row holds."""

    # What stood in front of the person's words: recalled memory, matching skills, what the caller added.
    context: str = ""
    # What a model, `by`, signed: a stretch of reasoning by `step` and `stretch`, a call by its id as `call`.
    signatures: tuple[JsonObject, ...] = ()
