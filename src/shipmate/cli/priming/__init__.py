"""The priming commands: write, check, search, save and rehearse conversations kept as Markdown files."""

from __future__ import annotations

import click

from shipmate.cli.priming.check import check
from shipmate.cli.priming.diff import diff
from shipmate.cli.priming.draft import edit, new
from shipmate.cli.priming.rehearse import rehearse
from shipmate.cli.priming.script import list_scripts, recent, save, search, show


@click.group(epilog="REF is individual/<member>/<slug> or team_shared/<slug>.")
def command() -> None:
    """Write, check, search, save and rehearse priming scripts: conversations kept as Markdown files."""


for each in (list_scripts, search, recent, new, edit, check, show, diff, save, rehearse):
    command.add_command(each)
