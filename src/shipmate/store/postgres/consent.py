"""Approvals and grants in PostgreSQL."""

from __future__ import annotations

import msgspec

from shipmate.store.port import GrantRow
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, Values, plain, statements
from shipmate.values.message import JsonObject, timestamp


class PostgresConsents:
    """The list of approvals and the grants."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._sql = statements("consent")

    async def put_approval(
        self, approval_id: str, thread_id: str, status: str, requested_at: str, expires_at: str | None
    ) -> None:
        """Bring an approval into the list."""
        values = {"id": approval_id, "thread_id": thread_id, "status": status}
        await self._write("put", {**values, "requested_at": requested_at, "expires_at": expires_at})

    async def approvals(
        self, *, status: str | None = None, thread_id: str | None = None, limit: int = 500
    ) -> list[str]:
        """List approval ids, newest first."""
        values = {"status": status, "thread_id": thread_id, "limit": limit}
        return [found for (found,) in await self._database.rows(self._sql["list"], values)]

    async def waiting(self) -> dict[str, int]:
        """Count the approvals that wait, by thread."""
        return {str(thread): int(count) for thread, count in await self._database.rows(self._sql["waiting"])}

    async def add_grant(self, grant_id: str, data: JsonObject, until: str | None) -> None:
        """Put down a grant; one of that id stays as it is."""
        given = {"id": plain(grant_id), "until": until, "revoked_at": None, "created_at": timestamp()}
        await self._write("add_grant", {**given, "data": msgspec.json.encode(data)})

    async def grants(self, *, every: bool = False) -> list[GrantRow]:
        """List the grants that were not taken back, over or not, or every one there ever was."""
        found = await self._database.rows(self._sql["grants"], {"every": every})
        return [
            GrantRow(id=each, data=msgspec.json.decode(data), created_at=at, until=until, revoked_at=revoked)
            for each, data, at, until, revoked in found
        ]

    async def revoke_grant(self, grant_id: str) -> bool:
        """Take a grant back; tell whether it was in force."""
        return await self._write("revoke", {"id": plain(grant_id), "at": timestamp()}) > 0

    async def _write(self, name: str, values: Values) -> int:
        async def work(link: AsyncLink) -> int:
            done = await link.execute(self._sql[name], values)
            await link.execute(b"SELECT nextval('revision')")
            return done.rowcount

        return await self._database.run(work)
