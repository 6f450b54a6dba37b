"""Show how two scripts differ."""

from __future__ import annotations

import asyncio
import difflib
from pathlib import Path

import click

from shipmate.cli.place import find_layout, open_records, parse_thread_id
from shipmate.cli.priming.option import JSON, print_json
from shipmate.cli.terminal.card import clean
from shipmate.errors import NotFoundError, PrimingError
from shipmate.priming.export import select_course
from shipmate.priming.outline import outline_messages, outline_script
from shipmate.priming.ref import ScriptRef
from shipmate.priming.script.parse import parse_script, read_text
from shipmate.values.thread_id import ThreadId
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

    A conversation is a script, any file with one, or the current course of a thread. Exit code 0 when they
    are the same, else 1.
    """
    layout = find_layout(context)
    lines = [_read(layout, given, is_raw=is_raw) for given in (old, new)]
    found = list(difflib.unified_diff(lines[0], lines[1], old, new, lineterm=""))
    if as_json:
        print_json({"same": not found, "diff": found})
        return 1 if found else 0
    for line in found:
        click.secho(clean(line), fg=COLOURS.get(line[:1]))
    if not found:
        click.echo("They are the same.")
    return 1 if found else 0


def _read(layout: Layout, given: str, *, is_raw: bool) -> list[str]:
    """Return the lines of what is named: a file when there is one, else a script, else a thread."""
    if Path(given).is_file():
        return _read_file(Path(given), given, is_raw=is_raw)
    if given.startswith(("individual/", "team_shared/")):
        return _read_file(ScriptRef.parse(given).path(layout), given, is_raw=is_raw)
    if is_raw:
        raise PrimingError(f"{given!r} is no script; --raw compares files")
    return asyncio.run(_read_thread(layout, parse_thread_id(given)))


def _read_file(path: Path, name: str, *, is_raw: bool) -> list[str]:
    text = read_text(path, name)
    return text.splitlines() if is_raw else outline_script(parse_script(text, name))


async def _read_thread(layout: Layout, thread_id: ThreadId) -> list[str]:
    async with open_records(layout) as records:
        if not await records.threads.exists(thread_id):
            raise NotFoundError(f"there is no script, file or thread {str(thread_id)!r}")
        thread = await records.threads.read(thread_id)
    return outline_messages(select_course(thread.messages, thread.course, thread.course))
