"""Sign people of a team in at a served workspace."""

from __future__ import annotations

import httpx2

from shipmate.team.user import Role
from tests.support.server import Served
from tests.support.wait import LONG

PASSWORD = "correct horse battery"


async def join(served: Served, user_id: str, role: Role = "member") -> httpx2.AsyncClient:
    """Take somebody in, and return a client with a token of theirs."""
    await served.site.team.add(user_id, role)
    _, secret = await served.site.team.issue(user_id, "token")
    return client(served, authorization=f"Bearer {secret}")


def client(served: Served, **headers: str) -> httpx2.AsyncClient:
    """Return a client that keeps cookies, as a browser does."""
    return httpx2.AsyncClient(base_url=served.address, headers=headers, trust_env=False, timeout=LONG)
