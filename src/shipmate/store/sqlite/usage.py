"""What runs used, in the index."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shipmate.store.port import StepUsage
from shipmate.store.sqlite.database import Database, statements


class UsageTable:
    """The table of steps and how far each file of them was read."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("usage")

    def files(self) -> dict[str, tuple[int, int]]:
        """Return the inode of each file that was read, and how far it was."""
        return {row["name"]: (row["inode"], row["offset"]) for row in self._database.rows(self._sql["files"])}

    def add(self, name: str, inode: int, offset: int, steps: Sequence[StepUsage]) -> None:
        """Add the steps of a file up to a place."""
        for step in steps:
            self._database.run(self._sql["add"], {"file": name, **msgspec.structs.asdict(step)})
        self._database.run(self._sql["put_file"], {"name": name, "inode": inode, "offset": offset})

    def drop(self, name: str) -> None:
        """Forget the steps of a file."""
        self._database.run(self._sql["drop"], {"name": name})
        self._database.run(self._sql["drop_file"], {"name": name})

    def clear(self) -> None:
        """Forget all steps."""
        self._database.run(self._sql["clear"])
        self._database.run(self._sql["clear_files"])

    def list(self, since: str, thread_id: str | None, run_id: str | None = None) -> list[StepUsage]:
        """List the steps since a time, oldest first: all, or those of a thread or of one of its runs."""
        if thread_id is None:
            rows = self._database.rows(self._sql["list"], {"since": since})
        else:
            values = {"since": since, "thread_id": thread_id, "run_id": run_id}
            rows = self._database.rows(self._sql["list_thread"], values)
        return [StepUsage(**{key: row[key] for key in StepUsage.__struct_fields__}) for row in rows]
