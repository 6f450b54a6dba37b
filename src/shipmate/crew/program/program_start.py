"""Start a program in the sandbox, with its login, what it reads and what it may do."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from shipmate.crew.crew_wording import say
from shipmate.crew.program.installed import find_home, locate, package_of, program_of
from shipmate.crew.program.live_program import LiveProgram
from shipmate.crew.program.program import RIGHTS, Access, Launch, ProgramError, ProgramOpening
from shipmate.crew.program.program_output import EventLines
from shipmate.crew.prompt_build import PromptOutput
from shipmate.errors import ToolError
from shipmate.models.port import RunOrigin
from shipmate.tools.exec.process import Process
from shipmate.tools.exec.sandbox.room import Room
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.variable import make_environment
from shipmate.tools.file.protection import find_rights
from shipmate.tools.tool import ToolContext
from shipmate.workspace.member import Member

# What of the host's variables says how the network is reached.
NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
CERTIFICATES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")


class ProgramStarter:
    """Starts the program of one member."""

    def __init__(
        self, member: Member, sandbox: Sandbox, mask: Callable[[str], str], host: Mapping[str, str]
    ) -> None:
        self._member = member
        self._program = program_of(member)
        self._sandbox = sandbox
        self._mask = mask
        self._host = host

    @property
    def model(self) -> str | None:
        """Return the model the member names."""
        stated = self._member.settings.model
        return stated if isinstance(stated, str) else stated.model if stated else None

    @property
    def access(self) -> Access:
        """Return what the program may do: a program that cannot ask may only read where it would have to."""
        found = RIGHTS.get(self._member.config.permissions.mode, "read")
        return "read" if found == "ask" and not self._program.converses("ask") else found

    async def start(self, output: PromptOutput, origin: RunOrigin, session: str | None) -> LiveProgram:
        """Start the program with what it is sent."""
        # The first call tries what confines here, which starts processes and waits for them.
        room, launch, command, environment = await asyncio.to_thread(self._enter, output, origin, session)
        # Both without a name, and gone with us.
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the program
        pipe: asyncio.WriteTransport | None = None
        opening: ProgramOpening | None = None
        try:
            with tempfile.TemporaryFile() as prompt:
                if self._program.converses(launch.access):
                    stdin, pipe = await _open_pipe()
                    folder = self._member.layout.root
                    opening = ProgramOpening(prompt=output.prompt, folder=folder, launch=launch)
                else:
                    prompt.write(output.prompt.encode())
                    prompt.seek(0)
                    stdin = os.dup(prompt.fileno())
                try:
                    process = await self._spawn(room, command, environment, origin, stdin, complaints)
                finally:
                    os.close(stdin)
        except BaseException as error:
            complaints.close()
            if pipe is not None:
                pipe.close()
            await asyncio.to_thread(self._leave, room, origin.run_id, None)
            if isinstance(error, OSError):
                said = str(error.strerror)
                raise ProgramError(say("failed", program=self._program.title, said=said)) from error
            raise
        reader = self._program.reader(opening)
        return LiveProgram(
            self._member, self._program, reader, process, complaints, pipe, self._mask, origin.run_id
        )

    async def _spawn(
        self,
        room: Room,
        command: list[str],
        environment: dict[str, str],
        origin: RunOrigin,
        stdin: int,
        complaints: IO[bytes],
    ) -> Process[EventLines]:
        return await Process.start(
            command,
            self._member.layout.root,
            environment,
            EventLines(),
            leave=partial(self._leave, room, origin.run_id),
            kill_signal=self._sandbox.kill_signal,
            stdin=stdin,
            stderr=complaints.fileno(),
        )

    def _enter(
        self, output: PromptOutput, origin: RunOrigin, session: str | None
    ) -> tuple[Room, Launch, list[str], dict[str, str]]:
        """Make the program's room, and return the line to start in it with its variables."""
        member, program, access = self._member, self._program, self.access
        path = locate(member)
        home, own = find_home(member, self._host.get("HOME", ""))
        if not self._sandbox.works:
            raise ProgramError(say("no-sandbox", program=program.title))
        certificates = {name: self._host[name] for name in CERTIFICATES if name in self._host}
        room = self._sandbox.open_room(
            network=True,
            is_read_only=access == "read",
            closed=tuple(find_rights(member.layout).closed(member.id)),
            shown=(package_of(path), *map(Path, certificates.values())),
            shared=own,
        )
        try:
            launch = Launch(
                home=home or room.home,
                temporary=room.temporary,
                access=access,
                model=self.model,
                session=session,
                system=output.system_flag,
            )
            words, variables = program.line(launch)
            context = ToolContext(member=member, thread_id=origin.thread_id, run_id=origin.run_id, call_id="")
            environment = {
                **make_environment(context, room, {}, self._host),
                **{name: self._host[name] for name in NETWORK if name in self._host},
                **certificates,
                "HOME": str(launch.home),
                **variables,
                **member.settings.env,
            }
            return room, launch, self._sandbox.wrap([str(path.resolve()), *words], room), environment
        except (ToolError, OSError) as error:
            self._sandbox.close_room(room)
            raise ProgramError(say("failed", program=program.title, said=str(error))) from error

    def _leave(self, room: Room, run_id: str, code: int | None) -> list[str]:
        """Clear up after the program: nothing of it runs any more when what it made is looked at."""
        hit = self._sandbox.end_room(room, code)
        refused = self._sandbox.refuse_new(room, run_id, None)
        self._sandbox.close_room(room)
        return [*refused, *([hit] if hit else [])]


async def _open_pipe() -> tuple[int, asyncio.WriteTransport]:
    """Return the end a program reads from, and the one that is written to."""
    read_end, write_end = os.pipe()
    pipe, _ = await asyncio.get_running_loop().connect_write_pipe(
        asyncio.BaseProtocol, os.fdopen(write_end, "wb", buffering=0)
    )
    return read_end, pipe
