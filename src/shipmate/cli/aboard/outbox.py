"""List what must be sent to platforms, and settle what is uncertain."""

from __future__ import annotations

import click
import msgspec

from shipmate.cli.place import PLATFORM, find_layout
from shipmate.cli.ship import local_user, open_ship
from shipmate.cli.terminal.leaving import run
from shipmate.delivery.settling import find, is_open, settle
from shipmate.residence import open_shelf
from shipmate.tools.file.sharing import Shares
from shipmate.values.reveal import reveal_line
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config

WIDTH = 60
STRAY = "sent; a half-written preview may stand there besides"
ID = click.argument("send_id", metavar="ID", type=int)


@click.group(invoke_without_command=True)
@click.option("--all", "every", is_flag=True, help="List what was sent too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, every: bool, as_json: bool) -> None:
    """List what was not sent to platforms yet, or may not have arrived; send it again or forget it."""
    if context.invoked_subcommand is not None:
        return
    with open_shelf(find_layout(context)) as shelf:
        rows = [row for row in shelf.sends() if every or is_open(row)]
    if as_json:
        click.echo(msgspec.json.encode(rows).decode())
        return
    if not rows:
        click.echo("Everything was sent.")
    for row in rows:
        what = row.message.text or ", ".join(each.filename or each.url for each in row.message.attachments)
        click.echo(f"{row.id}  {row.status:<9}  {row.message.thread_id}  {reveal_line(what, WIDTH)}")
        error = STRAY if row.has_stray and row.status == "sent" else row.error
        if error:
            click.echo(f"    {row.created_at}: {reveal_line(error, 200)}")


@command.command()
@ID
@click.pass_context
def retry(context: click.Context, send_id: int) -> None:
    """Send ID again, though it may have arrived or is old."""
    run(_settle(find_layout(context), send_id, "resend"))
    click.echo(f"{send_id} waits to be sent.")


@command.command()
@ID
@click.pass_context
def drop(context: click.Context, send_id: int) -> None:
    """Forget ID: it is not sent any more."""
    run(_settle(find_layout(context), send_id, "forget"))
    click.echo(f"{send_id} is not sent any more.")


@command.command()
@click.pass_context
def shared(context: click.Context) -> None:
    """List the files that can be fetched by an address, because they were too large for a platform."""
    found = _shares(find_layout(context)).list()
    if not found:
        click.echo("Nothing is shared.")
    for each in found:
        size = f"{each.size:,} bytes"
        click.echo(
            f"{each.id}  until {each.expires_at}  {each.thread_id}  {reveal_line(each.path, WIDTH)}  {size}"
        )


@command.command()
@click.argument("share_id", metavar="ID")
@click.pass_context
def revoke(context: click.Context, share_id: str) -> None:
    """Take the address of a shared file back: nobody can fetch by it any more."""
    _shares(find_layout(context)).revoke(share_id)
    click.echo(f"{share_id} leads nowhere any more.")


def _shares(layout: Layout) -> Shares:
    return Shares(layout, load_config(layout).config.server)


async def _settle(layout: Layout, send_id: int, name: str) -> None:
    with open_shelf(layout) as shelf:
        row = find(shelf.sends(), send_id)
    async with open_ship(layout, finishes=True) as ship:
        await settle(ship.receive, row, name, PLATFORM, local_user())
