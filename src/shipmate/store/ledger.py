"""Keep usage, begun calls and open signatures, and the index of consents, in SQLite."""

from __future__ import annotations

import msgspec

from shipmate.store.database import Database, statements
from shipmate.store.port import GrantRow, StepUsage
from shipmate.values.message import JsonObject, timestamp


class SqliteLedger:
    """Keep what runs used, which calls were begun, and the signatures of open turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("ledger")

    async def add_usage(self, usage: StepUsage) -> None:
        self._database.hurry(self._sql["add_usage"], msgspec.structs.asdict(usage))

    async def usage(self, since: str, thread_id: str | None = None) -> list[StepUsage]:
        rows = self._database.rows(self._sql["list_usage"], {"since": since, "thread_id": thread_id})
        return [StepUsage(**{key: row[key] for key in StepUsage.__struct_fields__}) for row in rows]

    async def begin_call(self, thread_id: str, message_id: str, call_id: str) -> bool:
        values = {
            "thread_id": thread_id,
            "message_id": message_id,
            "call_id": call_id,
            "begun_at": timestamp(),
        }
        return self._database.run(self._sql["begin_call"], values).rowcount == 1

    async def release_call(self, thread_id: str, message_id: str, call_id: str) -> None:
        values = {"thread_id": thread_id, "message_id": message_id, "call_id": call_id}
        self._database.run(self._sql["release_call"], values)

    async def has_begun(self, thread_id: str, message_id: str, call_id: str) -> bool:
        values = {"thread_id": thread_id, "message_id": message_id, "call_id": call_id}
        return bool(self._database.rows(self._sql["has_begun"], values))

    async def keep_signatures(self, message_id: str, signatures: list[JsonObject]) -> None:
        values = {"message_id": message_id, "data": msgspec.json.encode(signatures)}
        self._database.run(self._sql["keep_signatures"], values)

    async def signatures(self, message_id: str) -> list[JsonObject]:
        rows = self._database.rows(self._sql["signatures"], {"message_id": message_id})
        return msgspec.json.decode(rows[0]["data"], type=list[JsonObject]) if rows else []

    async def drop_signatures(self, message_id: str) -> None:
        if await self.signatures(message_id):
            self._database.hurry(self._sql["drop_signatures"], {"message_id": message_id})


class SqliteConsents:
    """Keep the index of approvals and the grants."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("approval")

    async def put_approval(
        self, approval_id: str, thread_id: str, status: str, requested_at: str, expires_at: str | None
    ) -> None:
        values = {
            "id": approval_id,
            "thread_id": thread_id,
            "status": status,
            "requested_at": requested_at,
            "expires_at": expires_at,
        }
        self._database.run(self._sql["put_approval"], values)

    async def approvals(
        self, *, status: str | None = None, thread_id: str | None = None, limit: int = 500
    ) -> list[str]:
        values = {"status": status, "thread_id": thread_id, "limit": limit}
        return [row["id"] for row in self._database.rows(self._sql["list_approvals"], values)]

    async def waiting(self) -> dict[str, int]:
        return {row["thread_id"]: row["count"] for row in self._database.rows(self._sql["count_approvals"])}

    async def add_grant(self, grant_id: str, data: JsonObject, until: str | None) -> None:
        values = {
            "id": grant_id,
            "data": msgspec.json.encode(data),
            "created_at": timestamp(),
            "until": until,
        }
        self._database.run(self._sql["add_grant"], values)

    async def grants(self, *, every: bool = False) -> list[GrantRow]:
        rows = self._database.rows(self._sql["list_grants"], {"all": every})
        return [
            GrantRow(
                id=row["id"],
                data=msgspec.json.decode(row["data"], type=dict),
                created_at=row["created_at"],
                until=row["until"],
                revoked_at=row["revoked_at"],
            )
            for row in rows
        ]

    async def revoke_grant(self, grant_id: str) -> bool:
        values = {"id": grant_id, "revoked_at": timestamp()}
        return self._database.run(self._sql["revoke_grant"], values).rowcount == 1
