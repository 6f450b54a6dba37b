"""A gate of mutants: each takes away one thing that durability rests on, and some seed must notice.

`python -m tests.simulation.mutant` runs all of them; names choose some. Each is a patch at run time.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any
from unittest import mock

import msgspec

from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import ReplyEffect
from shipmate.delivery.adapter import Button, OutgoingMessage
from shipmate.delivery.sender import Sender
from shipmate.errors import StorageError
from shipmate.orchestrator.lane import ingress
from shipmate.orchestrator.lane import lane as lanes_of
from shipmate.orchestrator.lane.lane import Lane
from shipmate.orchestrator.lane.lanes import Lanes
from shipmate.orchestrator.lane.note import NoteEvent
from shipmate.orchestrator.turn import Turn
from shipmate.store.index import Index
from shipmate.store.journal import outbox as outboxes
from shipmate.store.journal.inbox import JournalInbox
from shipmate.store.journal.inbox_line import Line, StopLine
from shipmate.store.journal.lines import LineFile
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.journal.outbox_line import Intend, Revise
from shipmate.store.port import InboxRow, OutboxRow
from shipmate.values.event import ApprovalReplyEvent, Outcome, TextEvent
from shipmate.workspace.disk import disk as disks
from tests.simulation.disk import SimDisk
from tests.simulation.platform import SimPlatform
from tests.simulation.socket import SimSocket

Mutant = Callable[[ExitStack], None]
MUTANTS: dict[str, Mutant] = {}
LIMIT = 1000


def mutant(make: Mutant) -> Mutant:
    """Add a mutant to the gate."""
    MUTANTS[make.__name__.replace("_", "-")] = make
    return make


def _put(stack: ExitStack, target: Any, name: str, value: Any) -> None:
    stack.enter_context(mock.patch.object(target, name, value))


@mutant
def no_sync_of_rows(stack: ExitStack) -> None:
    """Appended lines are not waited for."""
    _put(stack, SimDisk, "fdatasync", lambda _disk, _handle: None)


@mutant
def no_sync_of_files(stack: ExitStack) -> None:
    """Replaced files are renamed before their bytes are on disk."""
    sync = SimDisk.fsync

    def skip(disk: SimDisk, handle: int) -> None:
        if disk.is_folder(handle):
            sync(disk, handle)

    _put(stack, SimDisk, "fsync", skip)
    _put(stack, SimDisk, "fdatasync", sync)


@mutant
def no_sync_of_names(stack: ExitStack) -> None:
    """The names of new files are not waited for."""
    _put(stack, disks, "sync_entries", lambda _disk, _folder: None)


@mutant
def acknowledged_before_stored(stack: ExitStack) -> None:
    """An event is confirmed first and written a moment later."""

    async def late(file: LineFile, *lines: msgspec.Struct) -> None:
        asyncio.get_running_loop().call_later(0.005, lambda: file.append(*lines, waits=True))

    _put(stack, LineFile, "append_durably", late)


@mutant
def accepted_without_waiting(stack: ExitStack) -> None:
    """An event is written, not waited for, and confirmed."""

    async def hasty(file: LineFile, *lines: msgspec.Struct) -> None:
        file.append(*lines, waits=False)

    _put(stack, LineFile, "append_durably", hasty)


@mutant
def stopped_without_waiting(stack: ExitStack) -> None:
    """What became of an event, a stop among it, is written and not waited for."""
    write = JournalInbox._write  # pyright: ignore[reportPrivateUsage]
    _put(stack, JournalInbox, "_write", lambda inbox, line, *, waits: write(inbox, line, waits=False))


@mutant
def claim_skipped(stack: ExitStack) -> None:
    """What acts is not claimed before."""

    async def claim(_turn: Turn, _call_id: str) -> bool:
        return True

    _put(stack, Turn, "claim", claim)


@mutant
def order_reversed(stack: ExitStack) -> None:
    """The newest of what waits comes first."""
    listed = JournalInbox.open

    async def reverse(inbox: JournalInbox, thread_id: str) -> list[InboxRow]:
        return (await listed(inbox, thread_id))[::-1]

    _put(stack, JournalInbox, "open", reverse)


@mutant
def calls_not_on_disk(stack: ExitStack) -> None:
    """Tools run before their calls are on disk."""
    commit = Turn.commit

    async def skip(turn: Turn, *told: Any) -> None:
        if told:
            await commit(turn, *told)

    _put(stack, Turn, "commit", skip)


@mutant
def closed_without_answer(stack: ExitStack) -> None:
    """A run that a process left is closed instead of taken up."""

    async def close(lane: Lane, thread: Any, rows: list[InboxRow]) -> bool:
        left = [row for row in rows if row.run_id]
        if left:
            outcome = Outcome(run_id=str(left[0].run_id), status="failed", error="interrupted")
            await lane._finish(thread, left, outcome)  # pyright: ignore[reportPrivateUsage]
        return bool(left)

    _put(stack, Lane, "_go_on", close)


@mutant
def dedup_dropped(stack: ExitStack) -> None:
    """A repeat is taken for something new, in the inbox and in the thread."""
    accept = JournalInbox.accept

    async def again(inbox: JournalInbox, event: Any) -> tuple[InboxRow, bool]:
        inbox._seqs.clear()  # pyright: ignore[reportPrivateUsage]
        return await accept(inbox, event)

    async def nothing(*_given: Any) -> None:
        return None

    _put(stack, JournalInbox, "accept", again)
    _put(stack, Lanes, "_answered", nothing)
    for name in ("is_kept", "run_of", "outcome_of"):
        _put(stack, ingress, name, lambda _thread, _event: None)


@mutant
def lock_ignored(stack: ExitStack) -> None:
    """Whoever comes keeps."""
    _put(stack, SimSocket, "hold", lambda _socket: True)


@mutant
def stop_not_kept(stack: ExitStack) -> None:
    """A stop ends the run in flight and is written nowhere."""
    write = JournalInbox._write  # pyright: ignore[reportPrivateUsage]

    def skip(inbox: JournalInbox, line: Line, *, waits: bool) -> None:
        if not isinstance(line, StopLine):
            write(inbox, line, waits=waits)

    _put(stack, JournalInbox, "_write", skip)


@mutant
def early_yes_counts(stack: ExitStack) -> None:
    """A yes answers whatever waits when it is read."""

    async def read(approvals: ApprovalService, thread: Any, row: InboxRow) -> Any:
        if not isinstance(row.event, TextEvent | ApprovalReplyEvent):
            return ReplyEffect()
        return await approvals.answer(row.event, await approvals.pending(str(thread.id)))

    _put(stack, lanes_of, "read_answer", read)


@mutant
def noted_anew_after_a_crash(stack: ExitStack) -> None:
    """A course or a pin whose row is there already is taken for one that is still to come."""
    _put(stack, ingress, "outcome_of_note", lambda _row: None)


@mutant
def words_before_a_course_fall_into_it(stack: ExitStack) -> None:
    """A course opens before what was said ahead of it is answered."""

    def first_note(rows: list[InboxRow]) -> list[InboxRow]:
        notes = [row for row in rows if isinstance(row.event, NoteEvent)]
        return notes[:1] or one_turn(rows)

    one_turn = ingress.one_turn
    _put(stack, ingress, "one_turn", first_note)


@mutant
def index_not_healed(stack: ExitStack) -> None:
    """An index that is behind stays so."""

    async def nothing(*_given: Any, **_named: Any) -> None:
        return None

    _put(stack, Index, "catch_up", nothing)


@mutant
def no_word_before_sending(stack: ExitStack) -> None:
    """A send begins without being written down."""

    async def begin(_outbox: JournalOutbox, row: OutboxRow) -> OutboxRow:
        return row

    _put(stack, JournalOutbox, "begin", begin)


@mutant
def sent_again_blindly(stack: ExitStack) -> None:
    """What a dead process was sending is sent once more."""

    async def doubt(outbox: JournalOutbox) -> list[OutboxRow]:
        for row in await outbox.list("sending"):
            await outbox.failed(row, "", retry=True)
        return []

    _put(stack, JournalOutbox, "doubt", doubt)
    _put(stack, SimPlatform, "find", lambda _platform, _key: None)


@mutant
def preview_not_known_again(stack: ExitStack) -> None:
    """What the platform calls a preview is not written down."""
    shown = JournalOutbox.shown

    async def forget(outbox: JournalOutbox, row: OutboxRow, _receipt: str | None, _error: Any = None) -> None:
        await shown(outbox, row, None)

    _put(stack, JournalOutbox, "shown", forget)


@mutant
def intents_not_waited_for(stack: ExitStack) -> None:
    """The inbox may say that all is done before what must be sent is on disk."""
    write = JournalOutbox._write  # pyright: ignore[reportPrivateUsage]

    async def hurry(outbox: JournalOutbox, *lines: Any) -> None:
        if all(isinstance(line, Intend | Revise) for line in lines):
            outbox._file.append(*lines, waits=False)  # pyright: ignore[reportPrivateUsage]
            outbox._apply_all(lines)  # pyright: ignore[reportPrivateUsage]
        else:
            await write(outbox, *lines)

    _put(stack, JournalOutbox, "_write", hurry)


@mutant
def intended_anew(stack: ExitStack) -> None:
    """What an answer sends is meant again when its end is found again."""
    count = itertools.count()
    _put(stack, outboxes, "_key", lambda *_: f"{next(count)}")


@mutant
def receipts_by_luck(stack: ExitStack) -> None:
    """What the disk refused to write about a send is forgotten."""

    async def record(_sender: Sender, write: Callable[[], Any]) -> None:
        with suppress(StorageError):
            await write()

    _put(stack, Sender, "record", record)


@mutant
def last_first(stack: ExitStack) -> None:
    """What waits in a chat goes out with the newest first."""
    opened = JournalOutbox.open

    async def turned(outbox: JournalOutbox, thread_id: str) -> list[OutboxRow]:
        return (await opened(outbox, thread_id))[::-1]

    _put(stack, JournalOutbox, "open", turned)


@mutant
def buttons_stay(stack: ExitStack) -> None:
    """Questions keep their buttons once they are decided."""
    _put(stack, Sender, "render", _with_buttons(Sender.render))


def _with_buttons(render: Callable[..., OutgoingMessage]) -> Callable[..., OutgoingMessage]:
    def kept(sender: Sender, row: OutboxRow, adapter: Any) -> OutgoingMessage:
        made = render(sender, row, adapter)
        if row.message.extra.get("closes"):
            return msgspec.structs.replace(made, buttons=((Button("yes", "a"),),))
        return made

    return kept


def hunt(name: str, seeds: Sequence[int]) -> tuple[str, int | None, str]:
    """Run a mutant until a seed notices; return which, and what it says."""
    from tests.simulation.run import Runner, silence

    silence()
    runner = Runner()
    try:
        with ExitStack() as stack:
            MUTANTS[name](stack)
            for seed in seeds:
                if troubles := runner.run(seed).troubles:
                    return name, seed, troubles[0].strip().splitlines()[-1]
    finally:
        runner.close()
    return name, None, ""


def main() -> int:
    """Hunt all mutants, or those that are named; return 1 when one survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutant", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MUTANTS, []])
    parser.add_argument("--seeds", type=int, default=LIMIT, help="how many seeds may look for each")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        fixed = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation.mutant", *sys.argv[1:]], fixed)
    began, survivors = time.perf_counter(), list[str]()
    with ProcessPoolExecutor() as pool:
        hunts = [pool.submit(hunt, name, range(1, given.seeds + 1)) for name in given.names or MUTANTS]
        for each in hunts:
            name, seed, words = each.result()
            print(f"{name:28} {f'seed {seed}: {words[:120]}' if seed else 'SURVIVED'}", flush=True)
            survivors += [] if seed else [name]
    print(f"{len(hunts) - len(survivors)} of {len(hunts)} caught in {time.perf_counter() - began:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
