"""What a platform shows its people and lets them do: the one place where platforms are told apart."""

from __future__ import annotations

import msgspec


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """What one platform is to the core. A platform nobody described may do nothing of this."""

    # Whoever speaks here holds the workspace itself: its files, or the token of its page.
    is_owner: bool = False
    # People are shown the call they are asked about. Elsewhere nobody can approve one, only refuse it.
    shows_calls: bool = False
    # One call can be looked at whole, however long it is.
    shows_whole: bool = False
    # The client's message ids are unique, and kept, so that both sides agree on them.
    keeps_ids: bool = False


UNKNOWN = Surface()
SURFACES = {
    "cli": Surface(is_owner=True, shows_calls=True, shows_whole=True),
    "web": Surface(is_owner=True, shows_calls=True, shows_whole=True, keeps_ids=True),
    "telegram": Surface(shows_calls=True),
    "feishu": Surface(shows_calls=True),
}


def surface_of(platform: str) -> Surface:
    """Return what a platform shows; nothing, when it is not known."""
    return SURFACES.get(platform, UNKNOWN)
