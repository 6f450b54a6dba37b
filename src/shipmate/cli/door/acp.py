"""Offer the members to editors that speak the Agent Client Protocol."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import click

from shipmate.cli.completion import complete_member
from shipmate.cli.place import find_layout
from shipmate.cli.ship import open_ship
from shipmate.cli.terminal.leaving import run
from shipmate.errors import UserError
from shipmate.values.event import surface_of
from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN, Layout

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.cli.door.acp_session import AcpSession
    from shipmate.cli.door.line_peer import LinePeer

VERSION = 1
LISTED = 50


@click.command(
    epilog="An editor starts it; in Zed: "
    '"agent_servers": {"Shipmate": {"command": "shipmate", "args": ["-C", "/path/to/workspace", "acp"]}}'
)
@click.option(
    "--member", default=None, metavar="ID", shell_complete=complete_member, help="Who answers at first."
)
@click.pass_context
def command(context: click.Context, member: str | None) -> None:
    """Offer the members to an editor, over standard input and output (Agent Client Protocol)."""
    run(_offer(find_layout(context), member))


async def _offer(layout: Layout, member: str | None) -> None:
    from shipmate.cli.door.line_peer import LinePeer

    async with open_ship(layout) as ship:
        door = AcpDoor(ship, ship.crew.choose(member).id if member is not None else None)
        door.peer = LinePeer(door.answer, door.hear)
        await door.peer.serve()


class AcpDoor:
    """What an editor asks of the workspace, method by method."""

    peer: LinePeer

    def __init__(self, ship: Shipmate, member: str | None) -> None:
        self._ship = ship
        self._member = member
        self._sessions: dict[str, AcpSession] = {}

    async def answer(self, method: str, params: JsonObject) -> Any:
        """Answer a request."""
        match method:
            case "initialize":
                return _introduce()
            case "authenticate":
                return {}
            case "session/new":
                return await self._begin(params)
            case "session/load":
                return await self._load(params)
            case "session/list":
                return await self._list()
            case "session/set_mode":
                self._find(params).member = self._ship.crew.find(_text(params, "modeId")).id
                return {}
            case "session/prompt":
                return {"stopReason": await self._find(params).prompt(params.get("prompt"))}
            case _:
                from shipmate.cli.door.line_peer import UnknownMethodError

                raise UnknownMethodError(f"{method[:100]!r} is not offered")

    def hear(self, method: str, params: JsonObject) -> None:
        """Take what wants no answer; what is not known is passed over, as the protocol wants it."""
        if method == "session/cancel" and (session := self._sessions.get(str(params.get("sessionId")))):
            self.peer.start(session.cancel())
        elif method == "$/cancel_request":
            self.peer.cancel(params.get("requestId"))

    async def _begin(self, params: JsonObject) -> JsonObject:
        thread_id = ThreadId("acp", "session", secrets.token_hex(8))
        session = self._open(thread_id, params)
        await session.open(retells=False)
        return {"sessionId": str(thread_id), **self._modes(session.member or CAPTAIN)}

    async def _load(self, params: JsonObject) -> JsonObject:
        thread_id = ThreadId.parse(_text(params, "sessionId"))
        # One that is not there, or in the bin, is refused before anything is told.
        await self._ship.threads.read(thread_id)
        session = self._open(thread_id, params)
        await session.open(retells=True)
        if await self._ship.approvals.pending(str(thread_id)):
            self.peer.start(_settle(session))
        info = await self._ship.store.threads.find(str(thread_id))
        return self._modes(session.member or (info.member if info is not None else CAPTAIN))

    def _open(self, thread_id: ThreadId, params: JsonObject) -> AcpSession:
        from shipmate.cli.door.acp_session import AcpSession

        if (known := self._sessions.get(str(thread_id))) is not None:
            known.close()
        session = AcpSession(self._ship, self.peer, thread_id, str(params.get("cwd") or ""))
        session.member = self._member
        self._sessions[str(thread_id)] = session
        return session

    async def _list(self) -> JsonObject:
        found = await self._ship.store.threads.list(limit=LISTED)
        root = str(self._ship.layout.root)
        return {
            "sessions": [
                {"sessionId": each.thread_id, "cwd": root, "title": each.title, "updatedAt": each.last_at}
                for each in found
                if surface_of(ThreadId.parse(each.thread_id).platform).is_owner
            ]
        }

    def _modes(self, current: str) -> JsonObject:
        """Return the members as what an editor lets a person choose from."""
        members = self._ship.crew.list()
        if len(members) < 2:
            return {}
        offered = [{"id": each.id, "name": each.name} for each in members]
        return {"modes": {"currentModeId": current, "availableModes": offered}}

    def _find(self, params: JsonObject) -> AcpSession:
        name = _text(params, "sessionId")
        if (session := self._sessions.get(name)) is None:
            raise UserError(f"there is no open session {name[:100]!r}. Begin one, or load it.")
        return session


async def _settle(session: AcpSession) -> None:
    await session.settle()


def _introduce() -> JsonObject:
    from shipmate import __version__

    return {
        "protocolVersion": VERSION,
        "agentInfo": {"name": "shipmate", "title": "Shipmate", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": {"list": {}},
        },
        "authMethods": [],
    }


def _text(params: JsonObject, name: str) -> str:
    if not isinstance(found := params.get(name), str):
        raise UserError(f"{name} is missing, or no text")
    return found
