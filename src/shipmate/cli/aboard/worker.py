"""Work threads of a fleet, beside any number of others; and show who takes part."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click
import msgspec

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.leaving import run
from shipmate.cli.terminal.tongue import echo
from shipmate.errors import ShipmateError, UserError
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.orchestrator.keeper.health import EngineHealth

NO_FLEET = (
    "a worker works a workspace whose store is PostgreSQL, and this one keeps all in its folder: "
    "`shipmate serve` works it. docs/fleet.md says how it moves to a database."
)
# So long a probe may wait for the database.
PROBE_SECONDS = 5.0


@click.group(invoke_without_command=True)
@click.option("--members", default=None, metavar="A,B", help="Work for these members alone; else for all.")
@click.option(
    "--concurrency", type=click.IntRange(1, 500), default=20, show_default=True, help="Threads at once."
)
@click.option(
    "--probe",
    type=click.IntRange(1, 65535),
    default=None,
    metavar="PORT",
    help="Answer /livez and /readyz here.",
)
@click.pass_context
def command(context: click.Context, members: str | None, concurrency: int, probe: int | None) -> None:
    """Work threads until told to end; runs then come to their end for a while, and go on elsewhere."""
    if context.invoked_subcommand is None:
        names = tuple(each.strip() for each in members.split(",") if each.strip()) if members else None
        run(_work(find_layout(context), names, concurrency, probe))


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
@click.pass_context
def show(context: click.Context, *, as_json: bool) -> int:
    """List the processes of the fleet and what waits; exit code 1 when nobody serves some of it."""
    health = run(_look(find_layout(context)))
    if as_json:
        echo(msgspec.json.encode(health).decode())
        return 1 if health.unserved else 0
    for each in health.processes:
        serves = f"{','.join(each.members) if each.members else 'all members'}, {each.concurrency} at once"
        state = " (ends)" if each.is_draining else " (silent)" if each.silent else ""
        echo(f"{each.worker}  {each.role}{f'  {serves}' if each.concurrency else ''}{state}")
    waiting = ", ".join(f"{count} for {member}" for member, count in health.waiting.items())
    echo(f"{health.running} running; {waiting or 'nothing'} waiting.")
    for member in health.unserved:
        echo(f"! nobody serves {member}: start `shipmate worker --members {member}` where its files are.")
    for thread_id in health.stranded:
        echo(f"  {thread_id} waits")
    return 1 if health.unserved else 0


async def _work(layout: Layout, members: tuple[str, ...] | None, concurrency: int, port: int | None) -> None:
    from shipmate.app import Shipmate
    from shipmate.fleet.role import WORKER
    from shipmate.residence import find_address

    if not find_address(layout):
        raise UserError(NO_FLEET)
    role = msgspec.structs.replace(WORKER, members=members, concurrency=concurrency)
    async with Shipmate.open(layout.root, role=role) as ship:
        for name in members or ():
            ship.crew.find(name)
        probing = await asyncio.start_server(_Probe(ship).answer, port=port) if port else None
        echo(
            f"Working for {', '.join(members) if members else 'all members'}, {concurrency} threads at once."
        )
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            if probing is not None:
                probing.close()


class _Probe:
    """What answers whoever watches over processes; it tells nothing else, to nobody."""

    def __init__(self, ship: Shipmate) -> None:
        self._ship = ship

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Say that the process lives, or that it can be given work."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                words = (await reader.readline()).split()
                path = words[1] if len(words) > 1 else b""
                code = await self._judge(path)
                writer.write(f"HTTP/1.1 {code}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
                await writer.drain()
        except (TimeoutError, OSError, ValueError):
            pass
        finally:
            writer.close()

    async def _judge(self, path: bytes) -> str:
        if path == b"/livez":
            return "200 OK"
        if path != b"/readyz":
            return "404 Not Found"
        try:
            async with asyncio.timeout(PROBE_SECONDS / 2):
                await self._ship.keeper.health()
        except (ShipmateError, TimeoutError):
            return "503 Service Unavailable"
        return "200 OK"


async def _look(layout: Layout) -> EngineHealth:
    from shipmate.app import Shipmate

    async with Shipmate.open(layout.root, keeps_time=False) as ship:
        return await ship.keeper.health()
