"""Ask one question and print the answer."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from shipmate.cli.place import find_layout, new_thread_id, parse_thread_id
from shipmate.cli.ship import YOLO, make_text, open_ship, prime, read_names
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.leaving import is_leaving, run
from shipmate.cli.terminal.transcript import Transcript
from shipmate.errors import UserError
from shipmate.values.chunk import Chunk
from shipmate.values.event import Outcome, TextEvent
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.upload import UploadFolder, Uploads, name_upload

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.orchestrator.feed import FeedEvent

# What is told beside the answer while it comes: trouble that passes, another model, a call that did not run.
TOLD = frozenset(("retry", "fallback", "resumed", "length-call", "half-call"))


@click.command(
    epilog="Exit codes: 0 answered, 1 failed, cut short or waiting for an approval, 2 a mistake in what was "
    "asked. "
    "Example: git diff | shipmate ask 'Write a commit message.'"
)
@click.argument("words", nargs=-1)
@click.option(
    "-t", "--thread", default=None, metavar="ID", help="Go on in this thread; a new one by default."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print AI SDK chunks, one a line, and the outcome last."
)
@click.option(
    "--prime", "refs", multiple=True, metavar="REF", help="Begin the new thread with this priming script."
)
@click.option("--model", default=None, metavar="PROVIDER:MODEL", help="Another model for this question.")
@click.option("--member", default=None, metavar="ID", help="Who answers; else the thread's member.")
@click.option(
    "-m", "named", multiple=True, metavar="NAME", help="Short for either: a member, or PROVIDER:MODEL."
)
@click.pass_context
def command(
    context: click.Context,
    words: tuple[str, ...],
    thread: str | None,
    as_json: bool,
    refs: tuple[str, ...],
    model: str | None,
    member: str | None,
    named: tuple[str, ...],
) -> int:
    """Ask one question and print the answer. Text piped in is added after the WORDS."""
    layout = find_layout(context)
    model, member = read_names(named, model, member)
    text = join_input(words, None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read())
    thread_id = parse_thread_id(thread) if thread else new_thread_id()
    printer = _Printer(UploadFolder(layout), as_json=as_json)
    outcome = run(_ask(layout, thread_id, text, refs, model, member, printer))
    for question in printer.questions:
        click.echo(f"\n{clean(question)}\n", err=True)
    return _report(outcome, thread_id, printer)


def join_input(words: tuple[str, ...], piped: bytes | None) -> str:
    """Put the question together from arguments and piped text."""
    pieces = [" ".join(words).strip(), (piped or b"").decode("utf-8", "replace").strip("\n")]
    text = "\n\n".join(piece for piece in pieces if piece.strip())
    if not text:
        raise UserError("nothing was asked. Write a question: shipmate ask 'What is in this folder?'")
    return text


class _Printer:
    """Writes an answer to standard output as it comes."""

    def __init__(self, uploads: Uploads, *, as_json: bool) -> None:
        self._as_json = as_json
        self._is_screen = sys.stdout.isatty()
        self._transcript = Transcript(lambda url: name_upload(uploads, url))
        self._gap = False
        self.has_printed = False
        # The approvals the run waits for, and the questions as a person reads them.
        self.asked: list[str] = []
        self.language = "en"
        self.questions: list[str] = []

    def take(self, chunk: Chunk) -> None:
        """Print one chunk; a person at a screen also sees which tools were called."""
        if chunk["type"] == "tool-approval-request":
            self.asked.append(chunk["approvalId"])
        if self._as_json:
            self._write_json(chunk)
        if chunk["type"] == "data-notice" and chunk["data"].get("kind") in TOLD:
            # It is no part of the answer, and whoever reads that alone must still learn whose it is.
            click.echo(f"shipmate: {clean(str(chunk['data']['text']))}", err=True)
        if self._as_json:
            return
        if chunk["type"] == "text-delta":
            self._write(("\n\n" if self._gap else "") + self._fit(chunk["delta"]))
            self._gap = False
        elif chunk["type"] == "text-end":
            self._gap = True
        for item in self._transcript.apply(chunk) if self._is_screen else ():
            if item.kind == "card" or item.text.startswith("file: "):
                click.echo(("\n" if self._gap else "") + click.style(item.text, dim=True), err=True)

    def end(self, outcome: Outcome) -> None:
        """Print how it ended."""
        if self._as_json:
            self._write_json({"type": "outcome", **msgspec.to_builtins(outcome)})
        elif self.has_printed:
            self._write("\n")
        elif outcome.text:
            self._write(self._fit(outcome.text) + "\n")

    def _fit(self, text: str) -> str:
        # A pipe gets the answer as it is; a screen must not be steered by it.
        return clean(text) if self._is_screen else text

    def _write_json(self, value: object) -> None:
        # JSON is UTF-8, whatever the terminal speaks.
        self.has_printed = True
        click.echo(msgspec.json.encode(value))

    def _write(self, text: str) -> None:
        self.has_printed = True
        sys.stdout.write(text)
        sys.stdout.flush()


async def _ask(
    layout: Layout,
    thread_id: ThreadId,
    text: str,
    refs: tuple[str, ...],
    model: str | None,
    member: str | None,
    printer: _Printer,
) -> Outcome:
    async with open_ship(layout) as ship, ship.keeper.watch(str(thread_id)) as queue:
        printer.language = ship.config.language
        named = ship.crew.choose(member).id if member is not None else None
        if model is not None:
            # Whoever keeps makes it anew; a name that cannot be used is refused here and now.
            ship.equip(named or CAPTAIN).models.named(model)
        if ship.config.permissions.mode == "yolo":
            click.echo(f"shipmate: {YOLO}", err=True)
        await prime(ship, thread_id, refs)
        if await ship.threads.is_binned(thread_id):
            click.echo(f"shipmate: {thread_id} was in the bin; with this question it is back", err=True)
        event = make_text(thread_id, text, model=model, member=named)
        try:
            # Interrupted already here, it may have been taken.
            receipt = await ship.receive(event)
            answering = asyncio.ensure_future(receipt.outcome())
            await _follow(ship, event, queue, answering, printer)
        except (asyncio.CancelledError, BrokenPipeError):
            # The reader of the answer left, as Ctrl-C does.
            if not is_leaving():
                await _take_back(ship, event)
            raise
        printer.end(answering.result())
        printer.questions = await _read_questions(ship, printer.asked)
        return answering.result()


async def _read_questions(ship: Shipmate, asked: list[str]) -> list[str]:
    """Write what waits for a person: nobody is told how to say yes to what they were not shown."""
    from shipmate.approvals.question import describe

    found = [await ship.approvals.get(approval_id) for approval_id in asked]
    return [describe(approval, ship.config.language) for approval in found if approval.is_open]


async def _take_back(ship: Shipmate, event: TextEvent) -> None:
    """Ctrl-C: end the run here and now, instead of leaving it to the next start; never that of others."""
    if await ship.keeper.withdraw(event.thread_id, event.message_id):
        return
    running = ship.keeper.running(event.thread_id)
    is_own = running is None or event.message_id in running.answers
    if is_own and await ship.keeper.stop(event.thread_id):
        await (await ship.receive(event)).outcome()


async def _follow(
    ship: Shipmate,
    event: TextEvent,
    queue: asyncio.Queue[FeedEvent],
    answering: asyncio.Future[Outcome],
    printer: _Printer,
) -> None:
    """Print the run that answers an event, until its outcome is known."""
    from shipmate.cli.terminal.watching import Watching

    watching = Watching()
    while not answering.done() or not queue.empty():
        for told in await _next(queue, answering):
            if event.message_id in told.answers:
                for chunk in watching.take(told):
                    printer.take(chunk)
    # What was told while the keeper changed is in the thread.
    message_id, thread_id = answering.result().message_id, ThreadId.parse(event.thread_id)
    if message_id is not None and await ship.threads.exists(thread_id):
        stored = (await ship.threads.read(thread_id)).find(message_id)
        for chunk in watching.complete(stored) if stored is not None else ():
            printer.take(chunk)


async def _next(queue: asyncio.Queue[FeedEvent], answering: asyncio.Future[Outcome]) -> list[FeedEvent]:
    """Wait for something told, or for the outcome."""
    getting = asyncio.ensure_future(queue.get())
    await asyncio.wait({getting, answering}, return_when=asyncio.FIRST_COMPLETED)
    if getting.done():
        return [getting.result()]
    getting.cancel()
    return []


def _how_to_answer(asked: list[str], thread_id: ThreadId) -> str:
    reply = f"shipmate ask --thread {thread_id} yes"
    if len(asked) != 1:
        words = f"`shipmate approvals list` shows the questions; `{reply} to all` allows them."
        return f"waiting for your approval. {words}"
    look, answer = f"shipmate approvals show {asked[0]}", f"shipmate approvals answer {asked[0]} yes"
    return f"waiting for your approval. Look with `{look}`; answer with `{answer}` or `{reply}`."


def _report(outcome: Outcome, thread_id: ThreadId, printer: _Printer) -> int:
    """Say on standard error what did not go through, and give the exit code."""
    from shipmate.orchestrator.run_wording import CUT_ENDINGS, say

    match outcome.status:
        case "replied" | "steered":
            if outcome.ending not in CUT_ENDINGS:
                return 0
            words = say(outcome.ending).tell(printer.language)
        case "suspended":
            words = _how_to_answer(printer.asked, thread_id)
        case "stopped":
            words = f"stopped. Go on with `shipmate ask --thread {thread_id} …`"
        case "failed":
            words = outcome.error or "the run failed."
    click.echo(f"shipmate: {words}", err=True)
    return 1
