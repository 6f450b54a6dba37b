"""Write the whole workspace into one file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import echo
from shipmate.moving.archive.pack import pack
from shipmate.moving.move_wording import refuse


@click.command(epilog="`shipmate restore FILE FOLDER` makes a workspace of it again.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.pass_context
def command(context: click.Context, file: Path | None) -> None:
    """Write threads, approvals, memory, scripts, tasks, members and settings into FILE, without secrets.

    FILE ends in .tar.gz; one with the day in its name when it is not given. It may be done while others work.
    """
    layout = find_layout(context)
    target = file or Path(f"shipmate-{layout.root.name}-{datetime.now(UTC):%Y%m%d}.tar.gz")
    if target.exists():
        raise refuse("file-there", path=target)
    made = pack(layout, target.absolute())
    echo(f"Wrote {target}: {len(made.files):,} files, {target.stat().st_size:,} bytes.")
    if made.variables:
        echo(f"Not in it, to be set in .env after a restore: {', '.join(made.variables)}.")
