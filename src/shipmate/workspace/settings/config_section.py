"""What every object of ship.json has in common."""

from __future__ import annotations

import msgspec


class ConfigSection(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One object of ship.json; keys are camelCase on disk."""
