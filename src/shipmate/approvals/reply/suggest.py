"""Let a model suggest what an unclear reply to an approval means. It never decides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from shipmate.approvals.value import Approval, Suggestion
from shipmate.models.port import Model, ModelRequest, hear
from shipmate.values.message import user_message
from shipmate.values.nesting import check_nesting

PREVIEW_LIMIT = 2_000


class Reading(msgspec.Struct):
    """The line of JSON the model answers with."""

    verdict: Literal["approve", "deny", "neither"]
    numbers: list[int] = []


class Suggester:
    """Asks the member's own model what an unclear reply means."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def __call__(self, text: str, approvals: Sequence[Approval]) -> Suggestion | None:
        """Return a reading of a reply, or None when there is no clear one."""
        asked = "\n\n".join(
            f"{each.number}. {each.tool}: {(each.preview or '')[:PREVIEW_LIMIT]}" for each in approvals
        )
        message = user_message("suggest", f"The calls:\n\n{asked}\n\nThe reply:\n\n{text}")
        request = ModelRequest(system=_prompt(), messages=[message])
        return _read(await hear(self._model, request), approvals)


def _read(answer: str, approvals: Sequence[Approval]) -> Suggestion | None:
    try:
        reading = msgspec.json.decode(check_nesting(answer.strip()), type=Reading)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    meant = tuple(each.id for each in approvals if each.number in reading.numbers)
    if reading.verdict == "neither" or not meant:
        return None
    return Suggestion(reading.verdict == "approve", meant)


@cache
def _prompt() -> str:
    return (files("shipmate.approvals") / "words" / "suggest.md").read_text("utf-8")
