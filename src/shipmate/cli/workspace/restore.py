"""Make a workspace from an archive."""

from __future__ import annotations

from pathlib import Path

import click

from shipmate.cli.terminal.tongue import echo
from shipmate.moving.archive.unpack import unpack


@click.command(epilog="Stop the old workspace first, if it still runs: two must not answer the same chats.")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
def command(file: Path, folder: Path) -> None:
    """Restore what `shipmate export` or `backup` wrote, whole or not at all, into an empty FOLDER."""
    made = unpack(file, folder)
    echo(f"Restored {len(made.files):,} files into {folder}.")
    if made.variables:
        echo(f"Set these in {folder / '.env'}: {', '.join(made.variables)}.")
