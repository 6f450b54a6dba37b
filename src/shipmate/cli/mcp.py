"""List MCP servers, log in at remote ones, and offer the workspace as one."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable

import click
import msgspec

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.leaving import run
from shipmate.cli.terminal.tongue import complain, echo, say
from shipmate.errors import NotFoundError, UserError
from shipmate.tools.mcp.auth.login_file import LoginFile
from shipmate.values.reveal import reveal
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import Loaded, load_config

SERVER = click.argument("server", metavar="SERVER")


@click.group(epilog="SERVER is the name of a server in `mcp.servers` of ship.json.")
def command() -> None:
    """List MCP servers, log in at remote ones; be one."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_servers(context: click.Context, as_json: bool) -> int:
    """Ask every server what it offers, and say how it stands."""
    layout = find_layout(context)
    loaded = load_config(layout)
    found = run(_ask_all(layout, loaded))
    if as_json:
        click.echo(msgspec.json.encode(found).decode())
    elif not found:
        echo("No servers are named in `mcp.servers` of ship.json.")
    else:
        for each in found:
            click.echo(reveal(loaded.mask(each.line)))
    return 1 if any(each.failure for each in found) else 0


@command.command()
@SERVER
@click.option("--scope", default="", help="What to ask for, in place of what the server says.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.pass_context
def login(context: click.Context, server: str, scope: str, no_browser: bool) -> None:
    """Log in at a server with the browser, here or on another machine.

    The address is printed and opened. A browser on this machine brings the answer by itself; from another
    one, paste the address it ends at.
    """
    from shipmate.tools.mcp.auth.login import LoginFlow

    layout, settings, loaded = _find(context, server)
    if any(name.lower() == "authorization" for name in settings.headers):
        raise UserError(f"{server} has a key in `headers` of ship.json. Take it out there to log in instead.")
    flow = LoginFlow(server, settings, LoginFile(layout.mcp_login(server)))
    made = run(flow.run(lambda address, take: _show(address, take, opens=not no_browser), scope))
    allowed = f" It allows: {made.scope}." if made.scope else ""
    click.echo(reveal(loaded.mask(say(f"Logged in at {server}.{allowed}"))))


@command.command()
@SERVER
@click.pass_context
def logout(context: click.Context, server: str) -> None:
    """Forget the login at a server, and have it revoked there."""
    from shipmate.tools.mcp.auth.login import log_out

    layout = find_layout(context)
    if run(log_out(LoginFile(layout.mcp_login(server)))):
        echo(f"Logged out of {server}.")
    else:
        raise NotFoundError(f"there is no login at {server!r}.")


@command.command()
@click.pass_context
def serve(context: click.Context) -> None:
    """Offer threads, members and memory to a program, as an MCP server over standard input and output."""
    run(_serve(find_layout(context)))


async def _serve(layout: Layout) -> None:
    from shipmate.cli.door.mcp_door import serve as serve_program
    from shipmate.cli.ship import open_ship

    async with open_ship(layout) as ship:
        await serve_program(ship)


class ServerState(msgspec.Struct, frozen=True, rename="camel"):
    """How one server stands."""

    name: str
    kind: str
    tools: int
    has_resources: bool
    has_prompts: bool
    is_logged_in: bool
    failure: str
    fix: str

    @property
    def line(self) -> str:
        """Return one line for people."""
        more = [f"{self.tools} {'tool' if self.tools == 1 else 'tools'}"]
        more += ["resources"] * self.has_resources + ["prompts"] * self.has_prompts
        state = f"{self.failure}. {self.fix}" if self.failure else ", ".join(more)
        told = "  logged in" if self.is_logged_in else ""
        return f"{'✗' if self.failure else '✓'} {self.name}  {self.kind}  {state}{told}"


async def _ask_all(layout: Layout, loaded: Loaded) -> list[ServerState]:
    from shipmate.tools.mcp.servers import McpServers

    servers = McpServers(loaded.config.mcp.servers, layout)
    try:
        await servers.load(is_patient=True)
        fixes = {finding.subject: finding.fix for finding in servers.findings()}
        return [
            ServerState(
                name=link.name,
                kind="http" if link.server.url else "stdio",
                tools=len(link.offer.tools) if link.offer is not None and not link.failure else 0,
                has_resources=link.offer is not None and link.offer.has_resources,
                has_prompts=link.offer is not None and link.offer.has_prompts,
                is_logged_in=_has_login(layout, link.name),
                failure=link.failure,
                fix=fixes[f"mcp.{link.name}"],
            )
            for link in servers.links
        ]
    finally:
        await servers.close()


def _has_login(layout: Layout, name: str) -> bool:
    login = LoginFile(layout.mcp_login(name)).read()
    return login is not None and bool(login.access_token)


def _find(context: click.Context, name: str) -> tuple[Layout, McpServer, Loaded]:
    layout = find_layout(context)
    loaded = load_config(layout)
    servers = loaded.config.mcp.servers
    if name not in servers:
        known = ", ".join(servers) or "none"
        raise NotFoundError(f"there is no server {name!r} in `mcp.servers` of ship.json. There are: {known}.")
    return layout, servers[name], loaded


def _show(address: str, take: Callable[[str], None], *, opens: bool) -> None:
    """Print and open the address, and hear what is pasted."""
    from shipmate.cli.ship import has_screen

    click.echo(f"{say('Open this address to log in:')}\n\n{address}\n", err=True)
    if opens and has_screen():
        click.launch(address)
    echo("Waiting for the browser. From another machine: paste the address it ended at, and Enter.", err=True)
    loop = asyncio.get_running_loop()
    # A thread that ends with the process: nobody may ever type here.
    threading.Thread(target=_hear, args=(loop, take), daemon=True).start()


def _hear(loop: asyncio.AbstractEventLoop, take: Callable[[str], None]) -> None:
    for line in sys.stdin:
        if line.strip() and not loop.is_closed():
            loop.call_soon_threadsafe(_take, take, line.strip())


def _take(take: Callable[[str], None], address: str) -> None:
    try:
        take(address)
    except UserError as error:
        complain(f"{error} Paste the whole address.")
