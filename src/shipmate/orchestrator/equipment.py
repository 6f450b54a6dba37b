"""What a member works with."""

from __future__ import annotations

import msgspec

from shipmate.context.builder import ContextBuilder
from shipmate.models.choice import ModelChoice
from shipmate.thread.service import Thread
from shipmate.tools.toolset import Toolset
from shipmate.workspace.member import Member


class Equipment(msgspec.Struct, frozen=True, eq=False):
    """A member with its models, its tools and its prompt, made once and handed over together."""

    member: Member
    models: ModelChoice
    toolset: Toolset
    context: ContextBuilder

    def route(self, thread: Thread) -> tuple[str | None, str]:
        """Return the model that rules choose for what was said last, and why; None for the member's own."""
        messages = thread.history()
        said = next((each for each in reversed(messages) if each["role"] == "user"), None)
        if said is None or self.member.is_program:
            return None, ""
        return self.models.route(self.member.config.routing, said, self.member.id, thread.id)

    async def close(self) -> None:
        """End what tools still have running, and the models' connections."""
        await self.toolset.close()
        await self.models.close()
