"""People who talk in shared threads at once, each through processes that may be killed at any time."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import msgspec

from shipmate.approvals.approval_file import ApprovalFiles
from shipmate.approvals.value import Approval
from shipmate.server.stream.stream import CLOSING
from shipmate.server.stream.watch import REJOIN
from shipmate.values.event import IngressEvent, TextEvent, encode_event
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.layout import Layout
from tests.crash.check import approval_ids
from tests.crash.record import ROOMS, Record, Said
from tests.support.fork_server import ForkServer, Started
from tests.support.stamp import acting_tool
from tests.support.terminal import Terminal
from tests.support.wait import LONG
from tests.support.wire import user

# How often something is tried again that a killed process could not do.
RETRY_SECONDS = 0.05
DENIED_EVERY = 5
REPEAT_CHANCE = 0.2


class Crowd:
    """The people of one workspace and the processes they use."""

    def __init__(self, folder: Path, forks: ForkServer, record: Record, chance: random.Random) -> None:
        self.layout = Layout(folder)
        self.forks = forks
        self.record = record
        self.chance = chance
        # Where each server is.
        self.addresses: dict[Started, str] = {}
        # Once set nobody begins anything new; what was begun is brought to its end.
        self.is_closing = False
        self._served = asyncio.Event()

    @property
    def token(self) -> str:
        return self.layout.token.read_text().strip()

    def people(self) -> list[Awaitable[None]]:
        """Return what each person does."""
        talks: list[Callable[[], Awaitable[None]]] = [
            self.talk_by_http,
            self.talk_by_http,
            self.ask,
            self.ask,
            self.chat,
            self.run_program,
            self.decide,
        ]
        return [talk() for talk in talks]

    def client(self, address: str) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx2.AsyncClient(
            base_url=address, headers=headers, trust_env=False, verify=False, timeout=LONG
        )

    async def serve(self) -> None:
        """Keep a server up: whenever it ends, start another a little later."""
        while True:
            process = await self.forks.start("serve", "serve", "--port", "0", "--no-open")
            words = (await process.lines.readline()).decode().split()
            if words:
                self.addresses[process] = words[-1]
                self._served.set()
                await process.ended.wait()
                del self.addresses[process]
                if not self.addresses:
                    self._served.clear()
            await process.ended.wait()
            self._check_end(process)
            await asyncio.sleep(self.chance.uniform(0, 0.6))

    async def address(self) -> str:
        """Wait for a server; return where one is."""
        await self._served.wait()
        return self.chance.choice(sorted(self.addresses.values()))

    async def talk_by_http(self) -> None:
        """Say one thing after another over HTTP, each until its answer was told to the end."""
        while not self.is_closing:
            said = self.record.new(self.chance.choice(ROOMS), "http")
            while said.told is None:
                try:
                    await self._post(said, await self.address())
                except httpx2.HTTPError:
                    await asyncio.sleep(RETRY_SECONDS)
                if said.told is not None and self.chance.random() < REPEAT_CHANCE:
                    # Sent once more, it is told what came of it and nothing is begun.
                    said.told = None
                    self.record.counts["repeats"] += 1
            await asyncio.sleep(self.chance.uniform(0, 0.2))

    async def _post(self, said: Said, address: str) -> None:
        body = {"id": said.thread_id, "messages": [user(f"web-{said.number}", said.text)]}
        chunks: list[JsonObject] = []
        async with (
            self.client(address) as client,
            client.stream("POST", "/api/chat", json=body) as response,
        ):
            if response.status_code != 200:
                words = (await response.aread()).decode()
                # A server that lost its keeper and found none says so; the message may be sent again.
                self.record.troubles.append(f"{said.mark}: {response.status_code} {words}")
                await asyncio.sleep(1)
                return
            said.acknowledge()
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    chunks.append(msgspec.json.decode(line.removeprefix("data: ")))
        troubles = [chunk["errorText"] for chunk in chunks if chunk["type"] == "error"]
        if not any(words in (REJOIN, CLOSING) for words in troubles):
            said.told = _describe(chunks, troubles)

    async def ask(self) -> None:
        """Ask one question after another, each by a process of its own."""
        while not self.is_closing:
            said = self.record.new(self.chance.choice(ROOMS), "ask")
            process = await self.forks.start("ask", "ask", "--json", "-t", said.thread_id, said.text)
            async for line in process.lines:
                said.acknowledge()
                chunk = msgspec.json.decode(line)
                if chunk["type"] == "outcome":
                    said.told = chunk["status"]
                    self._check_outcome(said, process, chunk)
            await process.ended.wait()
            if said.told is None and not process.is_doomed:
                code = self.forks.exit_code(process)
                words = f"{said.mark}: ask ended with {code} and told no outcome:\n{process.log.read_text()}"
                self.record.troubles.append(words)
            await asyncio.sleep(self.chance.uniform(0, 0.3))

    def _check_outcome(self, said: Said, process: Started, outcome: JsonObject) -> None:
        if not outcome.get("messageId") and not process.is_doomed:
            self.record.troubles.append(f"{said.mark}: ask was told {outcome}")

    async def chat(self) -> None:
        """Talk in a terminal until it is killed, then in another."""
        while not self.is_closing:
            thread_id = self.chance.choice(ROOMS)
            process = await self.forks.start_in_terminal("chat", "chat", "-t", thread_id)
            screen = Screen(process)
            try:
                await screen.expect("/help for help")
                while not self.is_closing:
                    await self._chat_once(thread_id, screen)
                    await asyncio.sleep(self.chance.uniform(0, 0.3))
                await screen.leave()
            except EOFError:
                self._check_end(process, screen.shown)
            except TimeoutError as error:
                if not process.is_doomed:
                    words = f"chat: {error} was not shown:\n{screen.shown[-3000:]}{await process.stand()}"
                    self.record.troubles.append(words)
                process.signal(signal.SIGKILL)
            await process.ended.wait()
            process.close_input()
            process.log.write_text(screen.shown)

    async def _chat_once(self, thread_id: str, screen: Screen) -> None:
        said = self.record.new(thread_id, "chat")
        screen.process.write(f"{said.text}\r".encode())
        # Answered, done, or asked about: it may be part of a turn that answers others too.
        question = rf'"mark": "{said.mark}"'
        await screen.expect(rf"done [^\n]*{said.mark}\b|[✓✗⊘] \w+ mark={said.mark}\b|{question}")
        if acting_tool(said.mark) == "seal":
            await screen.expect(rf"{question}|[✓✗⊘] seal mark={said.mark}\b")
            screen.process.write(b"yes\r" if said.number % DENIED_EVERY else b"no\r")
        said.acknowledge()
        said.told = "shown"

    async def run_program(self) -> None:
        """Hand events over through the Python API; those without an outcome go to the next process."""
        todo: dict[str, IngressEvent] = {}
        while not self.is_closing or todo:
            process = await self.forks.start("program", is_program=True)
            await process.lines.readline()
            for event in todo.values():
                process.write(encode_event(event) + b"\n")
            feeding = asyncio.create_task(self._feed(process, todo))
            async for line in process.lines:
                self._note(line.decode().split(), todo)
            feeding.cancel()
            await process.ended.wait()
            process.close_input()
            self._check_end(process)

    async def _feed(self, process: Started, todo: dict[str, IngressEvent]) -> None:
        known: list[IngressEvent] = []
        while not self.is_closing:
            said = self.record.new(self.chance.choice(ROOMS), "program")
            event = self._event(said)
            todo[event.message_id] = event
            process.write(encode_event(event) + b"\n")
            known.append(event)
            if self.chance.random() < REPEAT_CHANCE:
                # What was answered is not answered again.
                process.write(encode_event(self.chance.choice(known)) + b"\n")
                self.record.counts["repeats"] += 1
            await asyncio.sleep(self.chance.uniform(0.1, 0.8))
        process.close_input()

    def _event(self, said: Said) -> TextEvent:
        return TextEvent(
            platform="cli",
            thread_id=said.thread_id,
            user_id="ann",
            message_id=str(said.number),
            timestamp=timestamp(),
            text=said.text,
        )

    def _note(self, words: list[str], todo: dict[str, IngressEvent]) -> None:
        said = self.record.said.get(f"mark-{int(words[1]):05}")
        if said is not None and words[0] == "ack":
            said.acknowledge()
        elif said is not None:
            said.told = words[2]
            todo.pop(words[1], None)

    async def decide(self) -> None:
        """Answer what waits for a person, one way or another, until nothing waits any more."""
        while not self.is_closing:
            await asyncio.sleep(self.chance.uniform(0.05, 0.4))
            if waiting := self.waiting():
                await self.answer(self.chance.choice(waiting))

    def waiting(self) -> list[Approval]:
        """List what waits for a person."""
        records = ApprovalFiles(self.layout)
        found = [records.read(each) for each in approval_ids(self.layout)]
        return [each for each in found if each is not None and each.is_open]

    async def answer(self, approval: Approval) -> None:
        """Answer a question; whether the answer came through is seen at the next look."""
        approves = int(approval.input["mark"].removeprefix("mark-")) % DENIED_EVERY > 0
        self.record.counts["answers"] += 1
        if self.chance.random() < 0.4:
            words = "yes" if approves else "no"
            process = await self.forks.start("answer", "approvals", "answer", approval.id, words)
            await process.ended.wait()
            return
        try:
            async with self.client(await self.address()) as client:
                await client.post(f"/api/approvals/{approval.id}", json={"approved": approves})
        except httpx2.HTTPError:
            return

    def _check_end(self, process: Started, shown: str = "") -> None:
        if not process.is_doomed and not self.is_closing:
            code = self.forks.exit_code(process)
            words = f"{process.name} ended by itself with {code}:\n{shown[-3000:]}{process.log.read_text()}"
            self.record.troubles.append(words)


class Screen:
    """What a terminal shows."""

    def __init__(self, process: Started) -> None:
        self.process = process
        self.shown = ""

    async def expect(self, pattern: str | None, seconds: float = LONG) -> None:
        """Wait until something is shown; raise EOFError when the program ends first."""
        try:
            async with asyncio.timeout(seconds):
                while pattern is None or not re.search(pattern, self.shown):
                    await self._read()
        except TimeoutError as error:
            raise TimeoutError(pattern) from error

    async def leave(self) -> None:
        """Press Ctrl-D until the program ends; before it holds the keyboard, the terminal itself takes it."""
        for _ in range(LONG):
            self.process.write(b"\x04")
            with contextlib.suppress(TimeoutError):
                await self.expect(None, 1)
        raise TimeoutError("the end")

    async def _read(self) -> None:
        try:
            data = await self.process.lines.read(65536)
        except OSError:
            # Linux reports a terminal whose program has ended this way.
            data = b""
        if not data:
            raise EOFError
        self.shown += Terminal.CODES.sub("", data.decode("utf-8", "replace"))


def _describe(chunks: list[JsonObject], troubles: list[str]) -> str:
    if troubles:
        return f"failed: {troubles[-1]}"
    kinds = {chunk["type"] for chunk in chunks}
    if "tool-approval-request" in kinds:
        return "suspended"
    return "replied" if "finish" in kinds else f"nothing but {sorted(kinds)}"
