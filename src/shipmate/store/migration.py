"""Numbered migrations, `0001_name.sql`, `0002_….sql`, applied in order, each whole; and named statements.

`state.db` and PostgreSQL are brought to this version by the same steps; only how a statement is run differs.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

FILE_NAME = re.compile(r"(\d{4})_(\w+)\.sql")
MARK = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
# Stands in a migration that a version without it cannot work with.
BREAKS = "-- breaks: older versions"


class Migration(NamedTuple):
    """One step from a version to the next."""

    number: int
    name: str
    sql: str

    @property
    def breaks(self) -> bool:
        """Return whether a version that does not know this step must not use what it made."""
        return BREAKS in self.sql


def read_migrations(package: str) -> list[Migration]:
    """Return the migrations that lie in a package's `migrations` folder, in order."""
    found: list[Migration] = []
    for entry in (files(package) / "migrations").iterdir():
        if named := FILE_NAME.fullmatch(entry.name):
            found.append(Migration(int(named[1]), named[2], entry.read_text("utf-8")))
    found.sort()
    assert [each.number for each in found] == list(range(1, len(found) + 1)), "migrations have a gap"
    return found


@cache
def read_statements(package: str, name: str) -> dict[str, str]:
    """Read the named statements of one .sql file of a package."""
    text = (files(package) / "sql" / f"{name}.sql").read_text("utf-8")
    _, *pieces = MARK.split(text)
    return {key: text.strip() for key, text in zip(pieces[::2], pieces[1::2], strict=True)}
