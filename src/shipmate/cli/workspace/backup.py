"""Make and list backups."""

from __future__ import annotations

import click

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import echo
from shipmate.moving.archive.backup import list_backups, make_backup
from shipmate.workspace.load import load_config


@click.command()
@click.option("--list", "lists", is_flag=True, help="List the backups there are, and make none.")
@click.pass_context
def command(context: click.Context, lists: bool) -> None:
    """Make a backup now, and remove the oldest beyond `backup.keep`.

    `backup.when` of ship.json lets the process that keeps the workspace make them by the clock.
    """
    layout = find_layout(context)
    settings = load_config(layout).config.backup
    if not lists:
        made = make_backup(layout, settings)
        echo(f"Made {made}, {made.stat().st_size:,} bytes.")
        return
    found = list_backups(layout, settings)
    if not found:
        echo("No backups yet. `shipmate backup` makes one.")
    for path in found:
        click.echo(f"{path}  {path.stat().st_size:,}")
