"""Keep what models are sent in PostgreSQL, for every machine to show."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from shipmate.context.kept.bound import cut_steps
from shipmate.context.kept.kept_file import KeptThread, parse_lines
from shipmate.context.kept.request_log import SWEEP_SECONDS, THREAD_BYTES, RequestLog, SentRequest
from shipmate.store.postgres.database import Link, PostgresDatabase, statements
from shipmate.values.message import timestamp
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import Mask


class SharedRequestLog(RequestLog):
    """The requests of one workspace's threads, as rows."""

    def __init__(
        self, layout: Layout, settings: ContextSettings, mask: Mask, database: PostgresDatabase
    ) -> None:
        super().__init__(layout, settings, mask)
        # A connection of its own: nobody should wait while a request is written down.
        self._database = database.twin()

    def read(self, thread_id: str) -> KeptThread:
        """Return what is kept of a thread."""
        return read_kept_rows(self._database, thread_id)

    def write(self, sent: SentRequest) -> None:
        """Append a request to its thread's, and what of it is new."""
        sql, thread = statements("kept"), {"thread_id": sent.thread_id}
        found = self._database.do(lambda link: link.execute(sql["state"], thread).fetchone())
        if found is None:
            # Deleted for good since it was sent.
            return
        self._sweep_sometimes()
        place, size = found
        held, lines = self._prepare(sent, (0, place))

        def add(link: Link) -> int:
            last = place
            for line in lines:
                made = link.execute(sql["add"], {**thread, "data": line.rstrip(b"\n")}).fetchone()
                last = made[0] if made is not None else last
            return last

        self._note(sent.thread_id, held, (0, self._database.do(add)))
        room = min(THREAD_BYTES, self._settings.keep_megabytes * 1_000_000 // 4)
        if size + sum(map(len, lines)) > room:
            self._cut(sent.thread_id, room // 2)

    async def close(self) -> None:
        """Keep what waits, and end."""
        await super().close()
        self._database.let_go()

    def _cut(self, thread_id: str, room: int, since: str = "") -> None:
        """Keep of a thread what fits some room, in one step."""
        sql, thread = statements("kept"), {"thread_id": thread_id}
        lines = cut_steps(self.read(thread_id), room, since)
        self._held.pop(thread_id, None)

        def replace(link: Link) -> None:
            link.execute(sql["drop"], thread)
            for line in lines or ():
                link.execute(sql["add"], {**thread, "data": line.rstrip(b"\n")})

        if lines is not None:
            self._database.do(replace)

    def _sweep_sometimes(self) -> None:
        """Remove what is too old, too much, or of a thread that is gone."""
        if time.monotonic() - self._swept <= SWEEP_SECONDS:
            return
        self._swept = time.monotonic()
        sql, days = statements("kept"), timedelta(days=self._settings.keep_days)
        values = {"days": days, "bytes": self._settings.keep_megabytes * 1_000_000}
        self._database.do(lambda link: link.execute(sql["sweep"], values))
        old = self._database.do(lambda link: link.execute(sql["old"], values).fetchall())
        for (thread_id,) in old:
            self._cut(thread_id, THREAD_BYTES, timestamp(datetime.now(UTC) - days))


def read_kept_rows(database: PostgresDatabase, thread_id: str) -> KeptThread:
    """Read what is kept of a thread; lines that cannot be read are passed over."""
    statement = statements("kept")["read"]
    found = database.do(lambda link: link.execute(statement, {"thread_id": thread_id}).fetchall())
    return KeptThread(parse_lines(b"".join(data + b"\n" for (data,) in found)))
