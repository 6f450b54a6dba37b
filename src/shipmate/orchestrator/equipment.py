"""What a member works with."""

from __future__ import annotations

import msgspec

from shipmate.context.builder import ContextBuilder
from shipmate.models.choice import ModelChoice
from shipmate.tools.toolset import Toolset
from shipmate.workspace.member import Member


class Equipment(msgspec.Struct, frozen=True, eq=False):
    """A member with its models, its tools and its prompt, made once and handed over together."""

    member: Member
    models: ModelChoice
    toolset: Toolset
    context: ContextBuilder

    async def close(self) -> None:
        """End what tools still have running, and the models' connections."""
        await self.toolset.close()
        await self.models.close()
