"""Options and printing that the priming commands share."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config

REF = click.argument("ref", metavar="REF")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
MEMBER = click.option(
    "-m", "--member", default=CAPTAIN, show_default=True, help="The member the scripts are for."
)
NO_SCRIPTS = (
    "No scripts yet. Save a conversation as one with `shipmate priming save THREAD`, "
    "or begin one with `shipmate priming new team_shared/NAME --edit`."
)


def check_member(layout: Layout, member: str) -> None:
    """Raise NotFoundError, which names the members there are, when there is none of that id."""
    Crew(layout, load_config(layout)).find(member)


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value)))
