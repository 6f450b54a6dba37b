"""The audit log in PostgreSQL: one chain of hashes a worker, joined when it is read and checked."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shipmate.store.postgres.database import Link, PostgresDatabase, statements
from shipmate.store.verification import (
    BREAK_LIMIT,
    NOTHING,
    ChainLink,
    Verification,
    check_file,
    compare_end,
    decode,
    encode,
    join_checks,
    link_of,
    seal,
)
from shipmate.values.message import JsonObject, timestamp

# How many entries are read at a time.
PAGE = 200


class PostgresChain:
    """The chains of all workers; a process appends to its own worker's."""

    def __init__(self, database: PostgresDatabase, worker: str) -> None:
        self._database = database
        # A machine, say: its processes append to one chain, one after the other.
        self._worker = worker
        self._sql = statements("audit")

    def append(self, entry: JsonObject) -> JsonObject:
        """Put an entry at the end of this worker's chain; what is not as it was left is noted first."""
        return self._database.do(lambda link: self._append(link, entry))

    def _append(self, link: Link, entry: JsonObject) -> JsonObject:
        worker = {"worker": self._worker}
        link.execute(self._sql["begin"], {**worker, "hash": NOTHING.hash})
        found = link.execute(self._sql["head"], worker).fetchone()
        assert found is not None
        head = ChainLink(*found)
        at = timestamp(link.execute(self._sql["now"]).fetchone()[0])  # pyright: ignore[reportOptionalSubscript]
        last = self._last(link)
        if words := compare_end(head, last, lambda seq: self._find(link, self._worker, seq), begun=True):
            head = link_of(self._write(link, head, {"event": "broken", "what": words, "at": at}))
        return self._write(link, head, {"at": at, **entry})

    def _write(self, link: Link, end: ChainLink, entry: JsonObject) -> JsonObject:
        sealed = seal(entry, end)
        worker, seq = self._worker, sealed["seq"]
        values = {"worker": worker, "seq": seq, "at": sealed["at"], "line": encode(sealed)}
        link.execute(self._sql["add"], values)
        link.execute(self._sql["move"], {"worker": worker, "seq": seq, "hash": sealed["hash"]})
        return sealed

    def backward(self) -> Iterator[JsonObject]:
        """Go over the entries of all workers, newest first; what cannot be read is left out."""
        place: tuple[str | None, str, int] = (None, "", 0)
        while True:
            values = dict(zip(("at", "worker", "seq"), place, strict=True))
            found = self._database.do(
                lambda link, values=values: link.execute(
                    self._sql["backward"], {**values, "limit": PAGE}
                ).fetchall()
            )
            for _, _, _, line in found:
                if (entry := decode(line)) is not None:
                    yield entry
            if len(found) < PAGE:
                return
            place = found[-1][:3]

    def verify(self) -> Verification:
        """Check every line of every worker's chain, and that each ends as it was written."""
        return self._database.do(self._verify)

    def _verify(self, link: Link) -> Verification:
        entries, breaks = 0, []
        for worker, seq, head in link.execute(self._sql["heads"]).fetchall():
            lines = [line for (line,) in link.execute(self._sql["lines"], {"worker": worker}).fetchall()]
            check = check_file(worker, b"".join(line + b"\n" for line in lines))
            known = None if seq is None else ChainLink(seq, head)
            found = join_checks([check], known, lambda seq, worker=worker: self._find(link, worker, seq))
            entries += found.entries
            breaks += [
                msgspec.structs.replace(each, file=f"{worker} head") if each.file == "head" else each
                for each in found.breaks
            ]
        return Verification(entries=entries, breaks=tuple(breaks[:BREAK_LIMIT]))

    def _last(self, link: Link) -> ChainLink:
        found = link.execute(self._sql["last"], {"worker": self._worker}).fetchone()
        entry = decode(found[0]) if found is not None else None
        return NOTHING if entry is None else link_of(entry)

    def _find(self, link: Link, worker: str, seq: int) -> ChainLink | None:
        found = link.execute(self._sql["one"], {"worker": worker, "seq": seq}).fetchone()
        entry = decode(found[0]) if found is not None else None
        return None if entry is None else link_of(entry)
