"""Make a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from shipmate.cli.terminal.tongue import echo
from shipmate.errors import UserError, WorkspaceError
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.foreign.recognised import Recognised
from shipmate.workspace.layout import Layout
from shipmate.workspace.schema import shipped_schema

EXAMPLES = Path(__file__).parent / "examples"
CONFIG = """{{
  "$schema": "{schema}",
  "permissions": {{"mode": "ask"}}
}}
"""
NAMES = {"captain": "Captain", "researcher": "Researcher", "helper": "Helper"}


@click.command(
    epilog="captain works with files and commands, researcher finds things out, helper is for every day."
)
@click.option("--name", default=None, metavar="NAME", help="What the member is called.")
@click.option(
    "--example",
    type=click.Choice(list(NAMES)),
    default="captain",
    show_default=True,
    help="Which Agent.md to begin with.",
)
@click.option(
    "--config", "with_config", is_flag=True, help="Also write a ship.json that editors complete and check."
)
@click.argument("path", type=click.Path(path_type=Path, file_okay=False), default=Path())
def command(name: str | None, example: str, with_config: bool, path: Path) -> None:
    """Write an Agent.md into PATH (this folder by default). An existing one is never touched.

    A folder of another agent opens as it is, and nothing is written there: see `shipmate adopt`.
    """
    layout = Layout(path.absolute())
    if not layout.agent.exists() and (found := layout.recognised):
        _defer(found, path)
        return
    called = " ".join((name or NAMES[example]).split())
    if not called:
        raise UserError("--name is empty. Give the member a name, or leave the option out.")
    if not (with_config and layout.agent.exists()):
        text = (EXAMPLES / f"{example}.md").read_text(encoding="utf-8")
        _write_new(layout.agent, text.replace("{name}", called))
        echo(f"Wrote {layout.agent}: {called} is ready.")
    if with_config:
        write_private(layout.schema, shipped_schema())
        _write_new(layout.config, CONFIG.format(schema=layout.schema.relative_to(layout.root)))
        # Keys may come to stand in it.
        layout.config.chmod(0o600)
        echo(f"Wrote {layout.config}: editors complete it by {layout.schema.relative_to(layout.root)}.")
    place = "" if path == Path() else f"cd {path} && "
    click.echo(f"Next: {place}shipmate chat")


def _defer(found: Recognised, path: Path) -> None:
    """Say that a folder of another agent needs no Agent.md."""
    place = "" if path == Path() else f" {path}"
    echo(f"{found.root} is a folder of {found.program} and opens as it is: {found.name} is ready.")
    echo("Nothing was written: an Agent.md would come before what these files say of the member.")
    echo(f"`shipmate adopt{place}` shows what is used and what is not, and makes it lasting with --write.")
    click.echo(f"Next: {f'cd {path} && ' if place else ''}shipmate chat")


def _write_new(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise WorkspaceError(
            f"{path} exists already and stays as it is. Edit it, or give another PATH."
        ) from error
    except OSError as error:
        raise WorkspaceError(
            f"cannot write {path}: {error.strerror}. Choose a folder you may write to."
        ) from error
