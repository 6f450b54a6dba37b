"""Serve the web page and the API."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from shipmate.cli.ship import has_screen
from shipmate.cli.workspace.init import EXAMPLES
from shipmate.errors import WorkspaceError
from shipmate.workspace.layout import Layout


@click.command()
@click.option("--host", default=None, help="Where to listen; 127.0.0.1 unless ship.json says otherwise.")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="0 takes any free port.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="A name the server answers under.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in a browser.")
@click.option("--gateway", "only_serves", is_flag=True, help="In a fleet: work no threads, workers do.")
@click.pass_context
def command(
    context: click.Context,
    host: str | None,
    port: int | None,
    names: tuple[str, ...],
    *,
    opens: bool,
    only_serves: bool,
) -> None:
    """Serve the web page and the API for this workspace. Without an Agent.md the page helps to make one."""
    import asyncio

    layout = _layout(context.obj)
    asyncio.run(_serve(layout, host, port, names, opens=opens, only_serves=only_serves))


def _layout(given: Path | None) -> Layout:
    """Find the workspace; a folder without one is served too, for its first run."""
    start = (given or Path.cwd()).absolute()
    if given is not None:
        return Layout.at(start)
    try:
        return Layout.find(start)
    except WorkspaceError:
        return Layout(start)


async def _serve(
    layout: Layout,
    host: str | None,
    port: int | None,
    names: tuple[str, ...],
    *,
    opens: bool,
    only_serves: bool,
) -> None:
    # The web framework is imported here: `--help` must not wait for it.
    from shipmate.app import Shipmate
    from shipmate.cli.workspace.doctor import examine
    from shipmate.fleet.role import ALL_IN_ONE, GATEWAY
    from shipmate.server.guard.access_token import Token
    from shipmate.server.guard.host import is_loopback
    from shipmate.server.site import Site
    from shipmate.server.web import quiet_logs, serve
    from shipmate.workspace.load import load_config

    quiet_logs()
    settings = load_config(layout).config.server

    async def open_ship(root: Path) -> Shipmate:
        ship = await Shipmate.open(root, role=GATEWAY if only_serves else ALL_IN_ONE)
        ship.listen()
        from shipmate.cli.door.http_door import HttpDoor

        site.door = HttpDoor(ship)
        return ship

    where = settings.host if host is None else host
    # Beyond loopback only a token that is already there counts: nobody should be surprised by an open door.
    token = Token.make(layout.token, create=is_loopback(where))
    site = Site(layout.root, opener=open_ship, examine=examine, examples=EXAMPLES, token=token)

    def tell(address: str) -> None:
        link = f"{address}/?token={site.tickets.issue()}"
        click.echo(f"Shipmate is at {address}\nOpen this once, within ten minutes: {link}\nCtrl+C stops it.")
        if opens and has_screen():
            click.launch(link)

    # Who comes from outside asks for the name that others know.
    public = urlsplit(settings.public_url or "").hostname
    known = (*names, public) if public else names
    await serve(site, where, settings.port if port is None else port, names=known, ready=tell)
