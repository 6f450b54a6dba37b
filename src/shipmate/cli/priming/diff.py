"""Show how two scripts differ."""

from __future__ import annotations

import asyncio
import difflib
from pathlib import Path
from typing import NamedTuple

import click

from shipmate.cli.place import find_layout, open_records, parse_thread_id
from shipmate.cli.priming.option import JSON, print_json
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import echo
from shipmate.errors import NotFoundError, PrimingError
from shipmate.priming.convert import to_messages
from shipmate.priming.export import select_course
from shipmate.priming.outline import outline_messages, outline_script
from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.parse import parse_script, read_text
from shipmate.workspace.layout import Layout

COLOURS = {"+": "green", "-": "red", "@": "cyan"}
SOURCE = "REF|FILE|THREAD"


@click.command()
@click.argument("old", metavar=SOURCE)
@click.argument("new", metavar=SOURCE)
@click.option("--raw", "is_raw", is_flag=True, help="Compare the files line by line.")
@JSON
@click.pass_context
def diff(context: click.Context, old: str, new: str, is_raw: bool, as_json: bool) -> int:
    """Show how two conversations differ; ids, numbers and times do not count.

    A conversation is a script, any file with one, or the current course of a thread; beside a thread, the
    title of a script does not count either. Exit code 0 when they are the same, else 1.
    """
    layout = find_layout(context)
    sides = [_Side(given, _find_file(layout, given)) for given in (old, new)]
    if is_raw:
        lines = [_read_raw(side) for side in sides]
    else:
        # A thread has no frontmatter to compare.
        is_whole = all(side.path is not None for side in sides)
        lines = [_read(layout, side, is_whole=is_whole) for side in sides]
    found = list(difflib.unified_diff(lines[0], lines[1], old, new, lineterm=""))
    if as_json:
        print_json({"same": not found, "diff": found})
        return 1 if found else 0
    for line in found:
        click.secho(clean(line), fg=COLOURS.get(line[:1]))
    if not found:
        echo("They are the same.")
    return 1 if found else 0


class _Side(NamedTuple):
    """One side of a comparison; what is no file is a thread."""

    given: str
    path: Path | None


def _find_file(layout: Layout, given: str) -> Path | None:
    """Return the file that is named: as it stands when there is one, else a script's."""
    if Path(given).is_file():
        return Path(given)
    if given.startswith(("individual/", "team_shared/")):
        return ScriptRef.parse(given).path(layout)
    return None


def _read_raw(side: _Side) -> list[str]:
    if side.path is None:
        raise PrimingError(f"{side.given!r} is no script; --raw compares files")
    return read_text(side.path, side.given).split("\n")


def _read(layout: Layout, side: _Side, *, is_whole: bool) -> list[str]:
    """Return the lines of what was said and done, and of what a script says of itself when it is whole."""
    if side.path is None:
        return asyncio.run(_read_thread(layout, side.given))
    script = parse_script(read_text(side.path, side.given), side.given)
    return outline_script(script) if is_whole else outline_messages(to_messages(script.records))


async def _read_thread(layout: Layout, given: str) -> list[str]:
    thread_id = parse_thread_id(given)
    async with open_records(layout) as records:
        if not await records.threads.exists(thread_id):
            raise NotFoundError(f"there is no script, file or thread {given!r}")
        thread = await records.threads.read(thread_id)
    return outline_messages(select_course(thread.messages, thread.course, thread.course))
