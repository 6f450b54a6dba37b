"""Show, search and mend what is remembered."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import complain, echo, say
from shipmate.errors import NotFoundError
from shipmate.memory.memory_entry import MemoryEntry, read_memory
from shipmate.memory.service import MemoryService, is_memory_name
from shipmate.tools.file.diff import unified
from shipmate.values.reveal import reveal, reveal_line

WIDTH = 100
LIMIT = 30
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class ShownEntry(msgspec.Struct, frozen=True, rename="camel"):
    """An entry as JSON shows it."""

    path: str
    heading: str
    text: str
    kind: str
    date: str
    source: str
    is_tainted: bool


@click.group()
def command() -> None:
    """Show, search and mend what is remembered."""


@command.command()
@click.argument("file", metavar="[FILE]", required=False)
@JSON
@click.pass_context
def show(context: click.Context, file: str | None, as_json: bool) -> None:
    """List what is remembered, or print one FILE: a path, `project`, or a person's key."""
    service = MemoryService(find_layout(context))
    if file is not None:
        text = service.read(_find(service, file))
        click.echo(reveal(text).rstrip("\n"))
        return
    found = [(path, entry) for path in service.files() for entry in read_memory(service.read(path)).entries]
    if as_json:
        _print_json(service, found)
        return
    for path in service.files():
        click.echo(service.name(path))
        for entry in (each for place, each in found if place == path):
            click.echo(f"  {_describe(entry)}")
    if not service.files():
        echo("Nothing is remembered yet.")


@command.command()
@click.argument("words", metavar="WORDS…", nargs=-1, required=True)
@JSON
@click.pass_context
def search(context: click.Context, words: tuple[str, ...], as_json: bool) -> None:
    """Find entries that hold all of WORDS."""
    service = MemoryService(find_layout(context))
    found = service.search(" ".join(words))
    if as_json:
        _print_json(service, found)
        return
    for path, entry in found:
        click.echo(f"{service.name(path)}  {_describe(entry)}")
        click.echo(f"    {reveal_line(entry.text, WIDTH)}")
    if not found:
        complain("Nothing that is remembered holds these words.")
        context.exit(1)


@command.command("log")
@JSON
@click.pass_context
def show_log(context: click.Context, as_json: bool) -> None:
    """List what was changed, newest first."""
    found = MemoryService(find_layout(context)).log()[:LIMIT]
    if as_json:
        rows = [{"id": each.id, "at": each.at, "path": each.path, "entries": each.headings} for each in found]
        click.echo(msgspec.json.encode(rows).decode())
        return
    for each in found:
        changed = ", ".join(f"{mark}{reveal_line(heading, 40)}" for mark, heading in each.headings) or "~"
        click.echo(f"{each.id}  {each.at[:16].replace('T', ' ')}  {each.path}  {changed}")
    if not found:
        echo("Nothing was changed yet.")


@command.command()
@click.argument("change", metavar="[ID]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.pass_context
def undo(context: click.Context, change: str | None, yes: bool) -> None:
    """Take the last change back, or the one of ID; that can be undone as well."""
    service = MemoryService(find_layout(context))
    planned = service.preview_undo(change)
    click.echo(reveal(unified(service.name(planned.path), planned.before, planned.after)).rstrip("\n"))
    if yes or click.confirm(say("Put this back?")):
        made = service.undo(change)
        echo(f"{service.name(made.path)} is as it was.")


def _find(service: MemoryService, file: str) -> Path:
    layout = service.layout
    places = [layout.project_memory] if file == "project" else [layout.user_memory(file)]
    if is_memory_name(file):
        places = [layout.root / file]
    found = next((each for each in places if each in service.files()), None)
    if found is None:
        names = ", ".join(map(service.name, service.files())) or "none yet"
        raise NotFoundError(f"there is no memory {file!r}. There are: {names}.")
    return found


def _describe(entry: MemoryEntry) -> str:
    told = [entry.kind, entry.date, entry.source] if entry.is_noted else [say("by hand")]
    if entry.is_tainted:
        told.append(say("strangers' words"))
    return f"{reveal_line(entry.heading, 60) or '…'}  ({', '.join(filter(None, told))})"


def _print_json(service: MemoryService, found: list[tuple[Path, MemoryEntry]]) -> None:
    rows = [
        ShownEntry(
            service.name(path),
            each.heading,
            each.text,
            each.kind,
            each.date,
            each.source,
            each.is_tainted,
        )
        for path, each in found
    ]
    click.echo(msgspec.json.encode(rows).decode())
