"""Options and printing that the priming commands share."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from shipmate.workspace.layout import CAPTAIN

REF = click.argument("ref", metavar="REF")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
MEMBER = click.option(
    "-m", "--member", default=CAPTAIN, show_default=True, help="The member the scripts are for."
)
NO_SCRIPTS = (
    "No scripts yet. Save a conversation as one with `shipmate priming save THREAD`, "
    "or begin one with `shipmate priming new team_shared/NAME --edit`."
)


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
