"""Numbered migrations: `0001_name.sql`, `0002_….sql`, applied in order, each once and whole."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

FILE_NAME = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(NamedTuple):
    """One step from a version to the next."""

    number: int
    name: str
    sql: str


def read_migrations(package: str) -> list[Migration]:
    """Return the migrations that lie in a package's `migrations` folder, in order."""
    found: list[Migration] = []
    for entry in (files(package) / "migrations").iterdir():
        if named := FILE_NAME.fullmatch(entry.name):
            found.append(Migration(int(named[1]), named[2], entry.read_text("utf-8")))
    found.sort()
    assert [each.number for each in found] == list(range(1, len(found) + 1)), "migrations have a gap"
    return found
