"""List, show, change and export threads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from shipmate.cli.completion import complete_thread
from shipmate.cli.place import OpenWorkspace, find_layout, open_records, parse_thread_id, run_opened
from shipmate.cli.ship import open_ship
from shipmate.cli.talk.note import compact_here, course_here, pin_here
from shipmate.cli.terminal.card import clean, shorten
from shipmate.cli.terminal.leaving import run
from shipmate.cli.terminal.show import local_time, write_markdown
from shipmate.cli.terminal.tongue import complain, echo, say
from shipmate.cli.terminal.width import columns, fit, measure, pad
from shipmate.errors import NotFoundError, UserError
from shipmate.priming.workspace_search import FileHit, search_files
from shipmate.store.port import SearchHit, ThreadInfo
from shipmate.thread.service import Thread
from shipmate.values.event import CourseEvent, Outcome, PinEvent
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.load import load_config

THREAD = click.argument("thread", metavar="THREAD", shell_complete=complete_thread)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
# How wide titles are shown, when they go below the id instead, and what stands beside them.
TITLE_WIDTH = 50
NARROW_TITLE = 16
BESIDE_TITLE = 26
# How much of a message is shown around words that were looked for, and how much of it before them.
LONG_LINE = 160
LEAD = 20
# How many messages are shown before and after one that was found.
AROUND = 3
EMPTY = "No threads yet. Start one with `shipmate chat`."
EMPTY_OF = {"bin": "The bin is empty.", "archived": "Nothing is archived.", "query": "No thread matches."}


@click.group(epilog="THREAD is an id such as web:room:1; a bare name is short for cli:chat:NAME.")
def command() -> None:
    """List, show and export conversations; open courses and pin facts."""


@command.command("list")
@click.argument("query", default="")
@click.option("--archived", is_flag=True, help="List the archived threads.")
@click.option("--bin", "binned", is_flag=True, help="List the threads in the bin.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=30, show_default=True)
@JSON
@click.pass_context
def list_threads(
    context: click.Context, query: str, archived: bool, binned: bool, limit: int, as_json: bool
) -> None:
    """List threads, the latest first; QUERY keeps those whose title or id contains it."""

    async def work(records: OpenWorkspace) -> list[ThreadInfo]:
        wanted = None if binned else archived
        await records.store.reconcile()
        return await records.store.threads.list(query=query, archived=wanted, binned=binned, limit=limit)

    found = run_opened(context, open_records, work)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    if not found:
        which = "bin" if binned else "archived" if archived else "query" if query else ""
        echo(EMPTY_OF.get(which, EMPTY))
    for line in format_threads(found):
        click.echo(line)


def format_threads(found: list[ThreadInfo]) -> list[str]:
    """Write a list of threads as aligned lines, or as two lines each where the screen is narrow."""
    width = columns()
    widest = max((measure(info.thread_id) for info in found), default=0)
    room = TITLE_WIDTH if width is None else min(TITLE_WIDTH, width - widest - BESIDE_TITLE)
    lines: list[str] = []
    for info in found:
        title, at = info.title or say("(no words yet)"), local_time(info.last_at)
        if room < NARROW_TITLE:
            assert width is not None, "only a screen is narrow"
            lines += [clean(info.thread_id), f"  {at}  {shorten(title, max(8, width - 20))}"]
        else:
            count = f"{info.message_count:>4}"
            lines.append(f"{pad(clean(info.thread_id), widest)}  {at}  {count}  {shorten(title, room)}")
    return lines


@command.command()
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True)
@JSON
@click.pass_context
def search(context: click.Context, words: tuple[str, ...], limit: int, as_json: bool) -> int:
    """Find WORDS in all threads, in memory and in scripts; exit code 1 when they are nowhere.

    `shipmate threads show THREAD --at MESSAGE` shows a message that was found among those around it.
    """
    wanted = " ".join(words)

    async def work(records: OpenWorkspace) -> list[SearchHit]:
        await records.store.reconcile()
        return await records.store.search.find(wanted, limit)

    said: list[SearchHit | FileHit] = [*run_opened(context, open_records, work)]
    layout = find_layout(context)
    found = said + search_files(layout, Crew(layout, load_config(layout)).list(), wanted, limit)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
    else:
        for line in format_hits(found, wanted) or [say("No message matches.")]:
            click.echo(line)
    return 0 if found else 1


def format_hits(hits: Sequence[SearchHit | FileHit], words: str) -> list[str]:
    """Write what was found: where, when and by whom each was said, and the words around."""
    first = words.casefold().split()[0]
    room = max(20, (columns() or LONG_LINE) - 4)
    lines: list[str] = []
    for hit in hits:
        at = max(0, hit.text.casefold().find(first) - LEAD)
        if isinstance(hit, FileHit):
            lines.append(fit(clean(f"{hit.path}:{hit.line}"), "  "))
        else:
            who = say("You") if hit.role == "user" else say("Member")
            at_message = f"{clean(hit.thread_id)}  {local_time(hit.at)}  {who}  --at {clean(hit.message_id)}"
            lines.append(fit(at_message, "  "))
        lines.append(f"    {shorten(('…' if at else '') + hit.text[at:], room)}")
    return lines


@command.command()
@THREAD
@JSON
@click.option("--output/--no-output", default=True, help="Show what tools gave.")
@click.option("--at", "message", metavar="MESSAGE", help="Only this message and those around it.")
@click.pass_context
def show(context: click.Context, thread: str, as_json: bool, output: bool, message: str | None) -> None:
    """Show a thread: what was said, thought and done."""
    thread_id = parse_thread_id(thread)
    found, title = _read(context, thread_id)
    shown = _around(found, message) if message is not None else list(found.messages)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(shown)))
        return
    text = write_markdown(title, shown, with_output=output, marked=message)
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console

    from shipmate.cli.talk.screen import ChatMarkdown

    Console().print(ChatMarkdown(clean(text)))


def _around(thread: Thread, message_id: str) -> list[UIMessage]:
    place = thread.messages.place_of(message_id)
    if place is None:
        raise NotFoundError(
            f"{thread.id} has no message {message_id[:80]!r}. `shipmate threads search` shows the ids."
        )
    return thread.messages[max(0, place - AROUND) : place + AROUND + 1]


@command.command()
@THREAD
@click.option(
    "--format", "kind", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.pass_context
def export(context: click.Context, thread: str, kind: str, output: Path | None) -> None:
    """Export a thread as AI SDK messages (JSONL, one message a line) or as Markdown."""
    found, title = _read(context, parse_thread_id(thread))
    if kind == "jsonl":
        data = b"".join(msgspec.json.encode(message) + b"\n" for message in found.messages)
    else:
        data = write_markdown(title, found.messages).encode()
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise UserError(
            f"cannot write {output}: {error.strerror}. Give another file with --output."
        ) from error
    count = len(found.messages)
    echo(f"Wrote 1 message to {output}." if count == 1 else f"Wrote {count} messages to {output}.")


@command.command()
@THREAD
@click.argument("title")
@click.pass_context
def rename(context: click.Context, thread: str, title: str) -> None:
    """Change the TITLE of a thread."""
    words = " ".join(title.split())
    if not words:
        raise UserError("the title is empty. Write what the thread should be called.")

    async def work(records: OpenWorkspace) -> None:
        thread_id = await _require(records, parse_thread_id(thread))
        await records.store.threads.rename(thread_id, words)

    run_opened(context, open_records, work)
    echo(f"Renamed to “{clean(words)}”.")


@command.command()
@THREAD
@click.option("--undo", is_flag=True, help="Take it out of the archive again.")
@click.pass_context
def archive(context: click.Context, thread: str, undo: bool) -> None:
    """Hide a thread from the list; it stays where it is."""

    async def work(records: OpenWorkspace) -> None:
        thread_id = await _require(records, parse_thread_id(thread))
        await records.store.threads.set(thread_id, archived=not undo)

    run_opened(context, open_records, work)
    echo("Back in the list." if undo else "Archived. `shipmate threads list --archived` shows it.")


@command.command("bin")
@THREAD
@click.pass_context
def bin_thread(context: click.Context, thread: str) -> None:
    """Move a thread to the bin."""
    thread_id = parse_thread_id(thread)

    async def work(records: OpenWorkspace) -> None:
        await _require(records, thread_id)
        await records.threads.bin(thread_id)
        await records.store.threads.refresh(str(thread_id))

    run_opened(context, open_records, work)
    echo(f"In the bin. `shipmate threads restore {thread_id}` brings it back.")


@command.command()
@THREAD
@click.pass_context
def restore(context: click.Context, thread: str) -> None:
    """Bring a thread back from the bin."""
    thread_id = parse_thread_id(thread)

    async def work(records: OpenWorkspace) -> None:
        if not records.layout.thread_bin(thread_id).exists():
            raise NotFoundError(
                f"{thread_id} is not in the bin. `shipmate threads list --bin` shows what is."
            )
        await records.threads.restore(thread_id)
        await records.store.threads.refresh(str(thread_id))

    run_opened(context, open_records, work)
    echo(f"Restored {thread_id}.")


@command.command("new-course")
@THREAD
@click.pass_context
def new_course(context: click.Context, thread: str) -> None:
    """Open a new course of a thread: the model sees nothing of what was said before, but for the pins.

    A run in flight ends first. The thread keeps everything, and questions that wait can still be answered.
    """
    _note(context, course_here(parse_thread_id(thread)))


@command.command()
@THREAD
@click.argument("focus", default="")
@click.pass_context
def compact(context: click.Context, thread: str, focus: str) -> None:
    """Sum a thread up: a new course begins with the summary, with heed to FOCUS if one is given.

    A run in flight ends first. The thread keeps everything; pins, questions and your last words go along.
    """
    _note(context, compact_here(parse_thread_id(thread), focus))


@command.command()
@THREAD
@click.argument("text")
@click.pass_context
def pin(context: click.Context, thread: str, text: str) -> None:
    """Pin TEXT, a fact that every course of a thread shows."""
    if not text.strip():
        raise UserError("there is nothing to pin. Write the fact that must stay in sight.")
    _note(context, pin_here(parse_thread_id(thread), text))


@command.command()
@THREAD
@click.argument("number", type=click.IntRange(min=1))
@click.pass_context
def unpin(context: click.Context, thread: str, number: int) -> None:
    """Take the pin of a NUMBER off; `shipmate threads pins` shows the numbers."""
    _note(context, pin_here(parse_thread_id(thread), number=number))


@command.command()
@THREAD
@JSON
@click.pass_context
def pins(context: click.Context, thread: str, as_json: bool) -> None:
    """List what is pinned in a thread."""
    found = _read(context, parse_thread_id(thread))[0].pins.list()
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    if not found:
        echo("Nothing is pinned. `shipmate threads pin THREAD TEXT` pins a fact.")
    for each in found:
        click.echo(clean(f"{each.number}. {each.text}"))


def _note(context: click.Context, event: CourseEvent | PinEvent) -> None:
    """Hand an event over to whoever works the thread, and print what came of it."""
    layout = find_layout(context)

    async def work() -> Outcome:
        async with open_ship(layout) as ship:
            # A thread in the bin is refused: what is said into one there would bring it back.
            await ship.threads.read(ThreadId.parse(event.thread_id))
            receipt = await ship.receive(event)
            if ship.keeper.running(event.thread_id) is not None:
                complain("a run is going on; this is done when it ends")
            return await receipt.outcome()

    outcome = run(work())
    if outcome.status != "replied":
        raise UserError(f"{event.thread_id}: {outcome.error}.")
    click.echo(clean(outcome.text))


async def _require(records: OpenWorkspace, thread_id: ThreadId) -> str:
    """Check that a thread exists."""
    await records.threads.read(thread_id)
    return str(thread_id)


def _read(context: click.Context, thread_id: ThreadId) -> tuple[Thread, str]:
    async def work(records: OpenWorkspace) -> tuple[Thread, str]:
        thread = await records.threads.read(thread_id)
        info = await records.store.threads.find(str(thread_id))
        return thread, (info.title if info and info.title else str(thread_id))

    thread, title = run_opened(context, open_records, work)
    for problem in thread.problems:
        place = f"line {problem.line} of {thread_id} cannot be read" if problem.line else str(thread_id)
        complain(f"{place}: {problem.message}")
    return thread, title
