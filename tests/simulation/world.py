"""One simulated machine and what lies around it: processes, volume, clock, people."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from shipmate.app import Shipmate
from shipmate.approvals.service import utc_now
from shipmate.approvals.value import Approval
from shipmate.store.file_store import FileStore
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.port import OutboxRow
from shipmate.store.sqlite.database import Database
from shipmate.thread.row import split_lines
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import Loaded
from tests.simulation.check_index import audit_troubles, index_troubles
from tests.simulation.clock import Clock
from tests.simulation.disk import Locks
from tests.simulation.loop import OWNER, SimLoop
from tests.simulation.model import SimModel
from tests.simulation.node import FileNode, FolderNode
from tests.simulation.outside import Outside
from tests.simulation.person import decode_approval
from tests.simulation.platform import SimAdapter, SimPlatform, has_chats
from tests.simulation.process import Process
from tests.simulation.socket import Harbour
from tests.simulation.tool import make_toolset
from tests.simulation.volume import Volume
from tests.simulation.watcher import Watcher


class World:
    """Everything that one seed unfolds."""

    def __init__(self, seed: int, layout: Layout, loaded: Loaded, blank: bytes = b"") -> None:
        self.seed = seed
        # An index of nothing.
        self._blank = blank
        self.layout = layout
        self.loaded = loaded
        self.chance = random.Random(seed)
        self.loop = SimLoop(self.chance)
        self.clock = Clock(self.loop.time)
        self.volume = Volume(self.chance, self.clock.now)
        self.volume.make(layout.root)
        self.locks = Locks()
        self.harbour = Harbour(self.loop, self.chance)
        self.outside = Outside()
        # Where people chat, in some seeds.
        self.platform = SimPlatform(seed) if has_chats(seed) else None
        self.watchers: list[Watcher] = []
        self.processes: list[Process] = []
        self.told: list[str] = []
        self.tells = False
        # The disk failed to read or write at some time.
        self.has_failed = False
        # Something in the model's answer kills the process that asks, so often.
        self.is_deadly = False
        self.deaths = 1000
        # Misfortunes happen.
        self.is_rough = False
        self.ignores_lock = False
        # Every call on the disk so far, and at which one the power goes.
        self.calls = 0
        self.cut_at: int | None = None
        self._digest = 0
        # Changes with every start of the machine.
        self.starts = 1
        self._databases: dict[int, Database] = {}
        self._graves: list[Process] = []
        self._copies: list[dict[str, bytes]] = []

    def note(self, words: str) -> None:
        """Write down what happens, for whoever looks into a seed."""
        if self.tells:
            self.told.append(f"{self.loop.time():9.4f} {words}")

    @property
    def digest(self) -> str:
        """Name the course of events: equal when a seed is replayed."""
        return f"{self._digest & 0xFFFFFFFF:08x}"

    def pid(self) -> int:
        """Return the number of the process that runs now."""
        owner = OWNER.get()
        return owner.number if isinstance(owner, Process) else 1

    def before(self, process: Process, call: str, path: str) -> None:
        """Hear of a call on the disk that is about to be made."""
        self.calls += 1
        self._digest = hash((self._digest, process.number, call, len(path)))
        if self.tells:
            self.note(f"  {process.number} {call} {path.removeprefix(str(self.layout.root))}")
        if call == "fsync":
            # The only call that takes its time.
            self.clock.jump(0.001)
        if self.calls == self.cut_at:
            self.cut_power()

    @property
    def alive(self) -> list[Process]:
        """List the processes that can be asked for something."""
        return [process for process in self.processes if process.is_ready]

    def join(self, *, is_asking: bool = False) -> Process:
        """Start another process; one that asks has its own plans."""
        process = Process(self, 100 + len(self.processes) + len(self._graves))
        self.processes.append(process)
        self.note(f"{process.number} starts")
        process.is_asking = is_asking
        process.start(process.open())
        return process

    def bury(self) -> None:
        """Set the dead aside."""
        self._graves += [process for process in self.processes if process.is_dead]
        self.processes = [process for process in self.processes if not process.is_dead]

    def kill_keeper_soon(self) -> None:
        """Kill whoever keeps, in some seeds, within a few calls on the disk."""
        holder = self.harbour.holder
        if self.is_rough and holder is not None and self.chance.random() < 0.5:
            owner = holder.owner
            assert isinstance(owner, Process)
            owner.kill_at = owner.calls + self.chance.choice((1, 2, 3, 5, 8))

    def cut_power(self) -> None:
        """Lose power: all processes die, and of what was not synced anything may be lost."""
        self.note("the power goes")
        self.cut_at = None
        for process in self.processes:
            process.kill()
        self.volume.cut_power()
        self.starts += 1
        self.lose_index()
        self.clock.jump(self.chance.choice((0, 0, 1, 3600)))

    async def compose(self, process: Process) -> Shipmate:
        """Open the workspace as a process does."""
        if self._blank and not self.layout.state.exists() and self.chance.random() < 0.9:
            # Making the tables takes longer than all else; most of the time they are there.
            self.layout.ship.mkdir(exist_ok=True)
            self.layout.state.write_bytes(self._blank)
        database = self._databases[process.number] = Database(self.layout)
        store = FileStore(self.layout, process.disk, database, utc_now)
        self._hear_stops(store)
        ship = Shipmate(
            self.layout,
            self.loaded,
            store,
            Sandbox(self.layout),
            model=SimModel(process),
            toolset=make_toolset(process),
            disk=process.disk,
            socket=process.socket,
        )
        if self.platform is not None:
            ship.adapters.put(SimAdapter(process, self.platform))
        await ship.keeper.open()
        return ship

    def _hear_stops(self, store: FileStore) -> None:
        """Learn which run a stop is about: whoever asks for it names only the thread."""
        stop = store.inbox.stop

        async def hear(run_id: str) -> None:
            for name in await store.inbox.threads():
                if any(row.run_id == run_id for row in await store.inbox.open(name)):
                    self.outside.stopping[name] = run_id
            await stop(run_id)

        store.inbox.stop = hear

    def close_index(self, process: Process) -> None:
        """Let go of a dead process's hold on the index."""
        if (database := self._databases.pop(process.number, None)) is not None:
            database.close()

    async def check_index(self) -> list[str]:
        """Compare the index with the files, as it is and as it is made anew."""
        process = self.alive[0]
        assert process.ship is not None
        if self.chance.random() < 0.5:
            # Noticed by whoever asks, without any restart.
            self.lose_index()
        troubles = await process.start(index_troubles(process.ship.store, self))
        return [*troubles, *audit_troubles(process.ship.approvals.audit, self)]

    def read(self, path: Path) -> bytes:
        """Return what a file holds; no misfortune touches this."""
        node = self.volume.find(path)
        assert isinstance(node, FileNode)
        return bytes(node.data)

    def read_thread(self, thread_id: str) -> bytes:
        """Return the file of a thread, wherever it lies."""
        parsed = ThreadId.parse(thread_id)
        places = [self.layout.thread(parsed), self.layout.thread_bin(parsed)]
        found = [self.read(path) for path in places if path.name in self.names(path.parent)]
        if len(found) > 1:
            self.outside.troubles.append(f"{thread_id} lies in the bin and outside")
        return found[0]

    def sends(self) -> list[OutboxRow]:
        """List what the outbox holds, whoever keeps."""
        return JournalOutbox(self.layout, self.alive[0].disk).look() if self.alive else []

    def unsent(self) -> list[OutboxRow]:
        """List what is still to be sent."""
        if self.platform is None:
            return []
        rows = self.sends()
        closed = {row.message.extra.get("closes") for row in rows}
        decided = {each.id for each in self.approvals() if not each.is_open} - closed
        can_edit, can_ask = self.platform.capabilities.supports_edits, self.platform.kind != "neither"
        return [
            row
            for row in rows
            if row.status in ("waiting", "sending")
            or (row.status == "uncertain" and can_ask)
            or (can_edit and row.receipt and row.message.extra.get("approval") in decided)
        ]

    def last_answer(self, thread_id: str) -> str | None:
        """Name the last answer in a thread's file."""
        if thread_id not in self.thread_ids():
            return None
        rows, _, _ = split_lines(self.read_thread(thread_id), 1)
        return next((row["id"] for row in reversed(rows) if row["role"] == "assistant"), None)

    def names(self, folder: Path) -> list[str]:
        """List what lies in a folder."""
        try:
            node = self.volume.find(folder)
        except FileNotFoundError:
            return []
        assert isinstance(node, FolderNode)
        return sorted(node.entries)

    def thread_ids(self) -> list[str]:
        """List the threads that have a file."""
        names = sorted({*self.names(self.layout.threads), *self.names(self.layout.bin)})
        return [str(ThreadId.decode(name[:-6])) for name in names if name.endswith(".jsonl")]

    def approvals(self) -> list[Approval]:
        """List the approvals that have a file."""
        folder = self.layout.approvals
        names = [name for name in self.names(folder) if name.endswith(".json") and name[0] != "."]
        return [decode_approval(self.read(folder / name)) for name in names]

    def keep_index(self) -> None:
        """Copy the index aside, to come back later."""
        folder = self.layout.ship
        self._copies.append({path.name: path.read_bytes() for path in sorted(folder.glob("state.db*"))})

    def lose_index(self) -> None:
        """Replace the index by an earlier copy, by nothing, or leave it."""
        chosen = self.chance.choice(("nothing", "copy", "leave", "leave", "torn"))
        if chosen == "leave" or (chosen == "copy" and not self._copies):
            return
        self.note(f"the index is replaced: {chosen}")
        found = sorted(self.layout.ship.glob("state.db*"))
        torn = {path.name: path.read_bytes() for path in found} if chosen == "torn" else {}
        for path in found:
            path.unlink()
        if chosen == "copy":
            torn = self.chance.choice(self._copies)
        for name, data in torn.items():
            cut = self.chance.randrange(len(data) + 1) if chosen == "torn" and data else len(data)
            (self.layout.ship / name).write_bytes(data[:cut])

    def end(self) -> None:
        """Take everything down."""
        for process in self.processes:
            process.kill()
        self.bury()
        self.loop.drop()
        shutil.rmtree(self.layout.ship, ignore_errors=True)


def make_workspace(folder: Path) -> Layout:
    """Make the folder that a workspace's own files lie in; nothing in it changes from seed to seed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Agent.md").write_text("# Sim\n")
    (folder / "ship.json").write_text('{"permissions": {"allow": ["deed"]}}')
    return Layout(folder)
