"""List who may talk from platforms, and let somebody in."""

from __future__ import annotations

import click

from shipmate.cli.place import find_layout
from shipmate.delivery.reception.people import People
from shipmate.residence import open_shelf
from shipmate.values.reveal import reveal_line
from shipmate.workspace.load import load_config

NAME_LENGTH = 60


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List who may talk from platforms, and who asks to."""
    if context.invoked_subcommand is not None:
        return
    layout = find_layout(context)
    config = load_config(layout).config
    with open_shelf(layout) as shelf:
        people = People(layout, config.people, shelf.papers)
        paired, waiting = people.paired(), people.waiting()
    for person, ids in config.people.items():
        click.echo(f"{person}  {', '.join(ids)}  (ship.json)")
    for each in paired:
        click.echo(
            f"{each.person or '-'}  {each.id}  {reveal_line(each.name, NAME_LENGTH)}  since {each.at[:10]}"
        )
    for code, each in waiting.items():
        click.echo(
            f"?  {each.id}  {reveal_line(each.name, NAME_LENGTH)}  let in: shipmate people pair {code}"
        )


@command.command()
@click.argument("code", metavar="CODE")
@click.option("--as", "person", default=None, metavar="NAME", help="They are this person of `people`.")
@click.pass_context
def pair(context: click.Context, code: str, person: str | None) -> None:
    """Let in whoever was told CODE."""
    layout = find_layout(context)
    with open_shelf(layout) as shelf:
        let_in = People(layout, load_config(layout).config.people, shelf.papers).pair(code, person)
    click.echo(f"{let_in.id} ({reveal_line(let_in.name, NAME_LENGTH)}) may talk now.")


@command.command()
@click.argument("code", metavar="CODE")
@click.pass_context
def refuse(context: click.Context, code: str) -> None:
    """Forget CODE: it lets nobody in any more."""
    layout = find_layout(context)
    with open_shelf(layout) as shelf:
        stranger = People(layout, load_config(layout).config.people, shelf.papers).refuse(code)
    click.echo(f"{stranger.id} ({reveal_line(stranger.name, NAME_LENGTH)}) stays outside.")


@command.command()
@click.argument("user", metavar="PLATFORM:ID")
@click.pass_context
def part(context: click.Context, user: str) -> None:
    """Shut somebody out again who was let in by a code."""
    layout = find_layout(context)
    with open_shelf(layout) as shelf:
        gone = People(layout, load_config(layout).config.people, shelf.papers).part(user)
    click.echo(f"{gone.id} may not talk any more.")
