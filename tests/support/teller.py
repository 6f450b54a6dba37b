"""A model that tells back every mark it was told, word by word: a kill finds its answer half shown."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator

from msgspec.structs import replace

from shipmate.adapters.adapter_registry import AdapterRegistry
from shipmate.adapters.telegram import telegram_pace
from shipmate.delivery import preview
from shipmate.delivery.adapter import Adapter
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta
from shipmate.values.message import text_of
from tests.support.stamp import last_turn

MARK = re.compile(r"mark-\d+")
# Previews are shown at once and changed quickly: kills should find them in every state.
EDIT_SECONDS = 0.05


class Teller:
    """Tells marks."""

    name = "teller"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        asked, _ = last_turn(request.messages)
        marks = MARK.findall(" ".join(map(text_of, asked)))
        for word in ("Told:", *marks, "and", "that", "is", "all."):
            yield TextDelta(f"{word} ")
            await asyncio.sleep(random.choice((0, 0.03, 0.12)))
        yield Finish("stop")


def hurry() -> None:
    """Let previews of this process come quickly."""
    preview.FIRST_SECONDS = 0.0
    telegram_pace.CHAT_SECONDS = EDIT_SECONDS
    really_find = AdapterRegistry.find

    def find(self: AdapterRegistry, name: str) -> Adapter:
        adapter = really_find(self, name)
        adapter.capabilities = replace(adapter.capabilities, edit_seconds=EDIT_SECONDS)
        return adapter

    AdapterRegistry.find = find
