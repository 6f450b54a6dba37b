"""Make a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from shipmate.errors import UserError, WorkspaceError
from shipmate.workspace.layout import Layout

EXAMPLES = Path(__file__).parent / "examples"
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
@click.argument("path", type=click.Path(path_type=Path, file_okay=False), default=Path())
def command(name: str | None, example: str, path: Path) -> None:
    """Write an Agent.md into PATH (this folder by default). An existing one is never touched."""
    layout = Layout(path.absolute())
    called = " ".join((name or NAMES[example]).split())
    if not called:
        raise UserError("--name is empty. Give the member a name, or leave the option out.")
    text = (EXAMPLES / f"{example}.md").read_text(encoding="utf-8")
    try:
        layout.root.mkdir(parents=True, exist_ok=True)
        with layout.agent.open("x", encoding="utf-8") as file:
            file.write(text.replace("{name}", called))
    except FileExistsError as error:
        raise WorkspaceError(
            f"{layout.agent} exists already and stays as it is. Edit it, or give another PATH."
        ) from error
    except OSError as error:
        raise WorkspaceError(
            f"cannot write {layout.agent}: {error.strerror}. Choose a folder you may write to."
        ) from error
    click.echo(f"Wrote {layout.agent}: {called} is ready.")
    place = "" if path == Path() else f"cd {path} && "
    click.echo(f"Next: {place}shipmate chat")
