"""Ask one question and print the answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from shipmate.cli.completion import complete_member, complete_thread
from shipmate.cli.place import find_layout, new_thread_id, parse_thread_id
from shipmate.cli.ship import YOLO, make_text, open_ship, prime, read_names
from shipmate.cli.terminal.attaching import attach_file, attach_piped
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.leaving import is_leaving, run
from shipmate.cli.terminal.shaped import Shaped, load_schema
from shipmate.cli.terminal.tongue import complain, language
from shipmate.cli.terminal.transcript import Transcript
from shipmate.delivery.cleaning import remove
from shipmate.delivery.reception.transcribing import take_voice
from shipmate.errors import UserError
from shipmate.values.chunk import Chunk
from shipmate.values.event import Attachment, Outcome, TextEvent, VoiceEvent
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.upload import UPLOAD_LIMIT, Uploads, name_upload

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.orchestrator.feed import FeedEvent

# What is told beside the answer while it comes: trouble that passes, another model, a call that did not run.
TOLD = frozenset(("retry", "fallback", "resumed", "length-call", "half-call", "compacting", "not-compacted"))


@click.command(
    epilog="Exit codes: 0 answered, 1 failed, cut short, not as --schema wants it or waiting for an "
    "approval, 2 a mistake in what was asked. "
    "Example: git diff | shipmate ask 'Write a commit message.'"
)
@click.argument("words", nargs=-1)
@click.option(
    "-t",
    "--thread",
    default=None,
    metavar="ID",
    shell_complete=complete_thread,
    help="Go on in this thread; a new one by default.",
)
@click.option(
    "-a",
    "--attach",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Attach a file of at most 20 MB; may be given again.",
)
@click.option(
    "--schema",
    default=None,
    metavar="FILE|JSON",
    help="Answer with JSON that fits this schema.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print AI SDK chunks, one a line, and the outcome last."
)
@click.option(
    "--prime", "refs", multiple=True, metavar="REF", help="Begin the new thread with this priming script."
)
@click.option("--model", default=None, metavar="PROVIDER:MODEL", help="Another model for this question.")
@click.option(
    "--member",
    default=None,
    metavar="ID",
    shell_complete=complete_member,
    help="Who answers; else the thread's member.",
)
@click.option(
    "-m", "named", multiple=True, metavar="NAME", help="Short for either: a member, or PROVIDER:MODEL."
)
@click.pass_context
def command(
    context: click.Context,
    words: tuple[str, ...],
    thread: str | None,
    files: tuple[Path, ...],
    schema: str | None,
    as_json: bool,
    refs: tuple[str, ...],
    model: str | None,
    member: str | None,
    named: tuple[str, ...],
) -> int:
    """Ask one question and print the answer. Text piped in is added after the WORDS, a file is attached."""
    layout = find_layout(context)
    model, member = read_names(named, model, member)
    from shipmate.residence import open_shelf

    uploads = context.with_resource(open_shelf(layout)).uploads
    shaped = load_schema(schema, language()) if schema is not None else None
    text, attachments = read_question(uploads, words, files, _read_piped())
    thread_id = parse_thread_id(thread) if thread else new_thread_id()
    printer = _Printer(uploads, as_json=as_json, shaped=shaped)
    outcome = run(_ask(layout, thread_id, text, attachments, refs, model, member, printer))
    for question in printer.questions:
        click.echo(f"\n{clean(question)}\n", err=True)
    return _report(outcome, thread_id, printer)


def _read_piped() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    # A byte more than may be attached is enough to refuse it.
    return sys.stdin.buffer.read(UPLOAD_LIMIT + 1)


def read_question(
    uploads: Uploads, words: tuple[str, ...], files: tuple[Path, ...], piped: bytes
) -> tuple[str, tuple[Attachment, ...]]:
    """Put the question together from arguments, files and what was piped in: words, or a file of its own."""
    attached = [attach_file(uploads, path) for path in files]
    heard = attach_piped(uploads, piped) if piped else None
    pieces = [" ".join(words).strip(), piped.decode("utf-8", "replace").strip("\n") if heard is None else ""]
    text = "\n\n".join(piece for piece in pieces if piece.strip())
    attached += [heard] if heard is not None else []
    if not text and not attached:
        raise UserError("nothing was asked. Write a question: shipmate ask 'What is in this folder?'")
    return text, tuple(attached)


class _Printer:
    """Writes an answer to standard output as it comes."""

    def __init__(self, uploads: Uploads, *, as_json: bool, shaped: Shaped | None = None) -> None:
        self._as_json = as_json
        self.shaped = shaped
        # Why the answer does not fit the schema.
        self.misfit: str | None = None
        self._is_screen = sys.stdout.isatty()
        self._transcript = Transcript(lambda url: name_upload(uploads, url))
        self._gap = False
        self.has_printed = False
        # The approvals the run waits for, and the questions as a person reads them.
        self.asked: list[str] = []
        self.questions: list[str] = []

    def take(self, chunk: Chunk) -> None:
        """Print one chunk; a person at a screen also sees which tools were called."""
        if chunk["type"] == "tool-approval-request":
            self.asked.append(chunk["approvalId"])
        if self._as_json:
            self._write_json(chunk)
        if chunk["type"] == "data-notice" and chunk["data"].get("kind") in TOLD:
            # It is no part of the answer, and whoever reads that alone must still learn whose it is.
            complain(clean(str(chunk["data"]["text"])))
        if self._as_json:
            return
        if chunk["type"] == "text-delta" and self.shaped is None:
            self._write(("\n\n" if self._gap else "") + self._fit(chunk["delta"]))
            self._gap = False
        elif chunk["type"] == "text-end":
            self._gap = True
        for item in self._transcript.apply(chunk) if self._is_screen else ():
            if item.kind == "card" or item.text.startswith("file: "):
                click.echo(("\n" if self._gap else "") + click.style(item.text, dim=True), err=True)

    def end(self, outcome: Outcome, value: Any = None) -> None:
        """Print how it ended; an answer that must fit a schema is printed only now, and if it does."""
        fits = self.shaped is not None and outcome.status == "replied" and self.misfit is None
        if self._as_json:
            shown = {"type": "outcome", **msgspec.to_builtins(outcome)}
            self._write_json({**shown, "value": value} if fits else shown)
        elif fits:
            self._write_json(value)
        elif self.shaped is not None:
            return
        elif self.has_printed:
            self._write("\n")
        elif outcome.text:
            self._write(self._fit(remove(outcome.text)) + "\n")

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
    attachments: tuple[Attachment, ...],
    refs: tuple[str, ...],
    model: str | None,
    member: str | None,
    printer: _Printer,
) -> Outcome:
    async with open_ship(layout) as ship, ship.keeper.watch(str(thread_id)) as queue:
        named = ship.crew.choose(member).id if member is not None else None
        if model is not None:
            # Whoever keeps makes it anew; a name that cannot be used is refused here and now.
            ship.equip(named or CAPTAIN).models.named(model)
        if ship.config.permissions.mode == "yolo":
            complain(YOLO)
        await prime(ship, thread_id, refs)
        if await ship.threads.is_binned(thread_id):
            complain(f"{thread_id} was in the bin; with this question it is back")
        told = printer.shaped.instruct() if printer.shaped is not None else None
        event = make_text(
            thread_id, text, model=model, member=named, attachments=attachments, extra_context=told
        )
        outcome = await _answer(ship, take_voice(event), queue, printer)
        value = None
        if printer.shaped is not None and outcome.status == "replied":
            value, printer.misfit = printer.shaped.read(outcome.text)
            if printer.misfit is not None:
                again = make_text(
                    thread_id,
                    printer.shaped.ask_again(),
                    model=model,
                    member=named,
                    extra_context=printer.shaped.instruct(printer.misfit),
                )
                outcome = await _answer(ship, again, queue, printer)
                value, printer.misfit = printer.shaped.read(outcome.text)
        printer.end(outcome, value)
        printer.questions = await _read_questions(ship, printer.asked)
        return outcome


async def _answer(
    ship: Shipmate, event: TextEvent | VoiceEvent, queue: asyncio.Queue[FeedEvent], printer: _Printer
) -> Outcome:
    try:
        # Interrupted already here, it may have been taken.
        receipt = await ship.receive(event)
        answering = asyncio.ensure_future(receipt.outcome())
        await _follow(ship, event, queue, answering, printer)
    except (asyncio.CancelledError, BrokenPipeError):
        # Whoever read the answer left, which means as much as Ctrl-C.
        if not is_leaving():
            await _take_back(ship, event)
        raise
    return answering.result()


async def _read_questions(ship: Shipmate, asked: list[str]) -> list[str]:
    """Write what waits for a person: nobody is told how to say yes to what they were not shown."""
    from shipmate.approvals.question import describe

    found = [await ship.approvals.get(approval_id) for approval_id in asked]
    return [describe(approval, language()) for approval in found if approval.is_open]


async def _take_back(ship: Shipmate, event: TextEvent | VoiceEvent) -> None:
    """Ctrl-C: end the run here and now, instead of leaving it to the next start; never that of others."""
    if await ship.keeper.withdraw(event.thread_id, event.message_id):
        return
    running = ship.keeper.running(event.thread_id)
    is_own = running is None or event.message_id in running.answers
    if is_own and await ship.keeper.stop(event.thread_id):
        await (await ship.receive(event)).outcome()


async def _follow(
    ship: Shipmate,
    event: TextEvent | VoiceEvent,
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
    from shipmate.orchestrator.run_wording import CUT_ENDINGS
    from shipmate.orchestrator.run_wording import say as tell_ending

    match outcome.status:
        case "replied" | "steered":
            if outcome.ending not in CUT_ENDINGS and printer.misfit is None:
                return 0
            words = f"the answer does not fit the schema: {printer.misfit}"
            if outcome.ending in CUT_ENDINGS:
                words = tell_ending(outcome.ending)
        case "suspended":
            words = _how_to_answer(printer.asked, thread_id)
        case "stopped":
            words = f"stopped. Go on with `shipmate ask --thread {thread_id} …`"
        case "failed":
            words = outcome.error or "the run failed."
    complain(words)
    return 1
