"""List, make and begin tasks, and see what became of them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from shipmate.cli.place import find_layout, parse_thread_id
from shipmate.cli.terminal.leaving import run as run_async
from shipmate.cli.terminal.tongue import echo, language, say
from shipmate.cli.terminal.width import columns, cut, pad
from shipmate.errors import UserError
from shipmate.schedule.schedule_wording import say as tell
from shipmate.values.reveal import reveal, reveal_line

if TYPE_CHECKING:
    from shipmate.schedule.overview import TaskOverview
    from shipmate.schedule.task_folder import TaskFolder
    from shipmate.store.journal.occurrence import JournalOccurrences, Occurrence

MARKS = {"replied": "✓", "quiet": "✓", "failed": "✗", "missed": "!", "uncertain": "!", "suspended": "?"}
ID = click.argument("task_id", metavar="ID")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List what members do by the clock, make such tasks, begin them, and see what became of them."""
    if context.invoked_subcommand is None:
        context.invoke(show_list)


@command.command("list")
@JSON
@click.pass_context
def show_list(context: click.Context, as_json: bool = False) -> None:
    """List the tasks, what comes next first."""
    from shipmate.schedule.overview import list_tasks

    found = list_tasks(*_open(context))
    if as_json:
        _print_json(found)
        return
    if not found:
        echo(tell("none-yet"))
    rows = [(each.id, _next(each), each.when, each.title) for each in found]
    widths = [max([len(row[place]) for row in rows] or [0]) for place in range(3)]
    for each, row in zip(found, rows, strict=True):
        line = "  ".join([*(pad(cell, width) for cell, width in zip(row, widths, strict=False)), row[3]])
        click.echo(reveal(cut(line.rstrip(), columns() or 200)))
        if each.problem:
            click.echo(f"    {reveal_line(each.problem[language()], 300)}")


@command.command()
@ID
@JSON
@click.pass_context
def show(context: click.Context, task_id: str, as_json: bool) -> None:
    """Show the file of task ID, how it stands and its next times."""
    from shipmate.schedule.overview import describe_task

    folder, journal = _open(context)
    file = folder.get(task_id)
    found = describe_task(file, journal.look().get(task_id), datetime.now(UTC))
    if as_json:
        _print_json({**msgspec.to_builtins(found), "text": file.text})
        return
    click.echo(reveal(file.text.rstrip()))
    click.echo()
    if found.problem:
        click.echo(f"✗ {reveal(found.problem[language()])}")
    else:
        echo(tell(f"state-{found.state}"))
    for at in found.upcoming:
        click.echo(f"  {_local(at, found.zone)}")


@command.command()
@click.option(
    "--when",
    required=True,
    metavar="WHEN",
    help="A cron line, `every 2h`, `time:…`, `heartbeat` or `@manual`.",
)
@click.option("--title", required=True, metavar="TITLE", help="What lists call it.")
@click.option(
    "--id", "task_id", default=None, metavar="ID", help="Its id; made from the title when not given."
)
@click.option("--zone", default="", metavar="ZONE", help="The zone of a cron line, such as Europe/Berlin.")
@click.option("--member", default="", metavar="MEMBER", help="Who does it; the captain when not given.")
@click.option(
    "--thread", default="", metavar="THREAD", help="Where it is done; in a thread of its own when not given."
)
@click.option(
    "--deliver", multiple=True, metavar="THREAD", help="Where else the result is sent. May be repeated."
)
@click.option(
    "--catch-up", default="", metavar="HOW", help="What is done of missed times: latest, skip or all."
)
@click.argument("prompt", nargs=-1)
@click.pass_context
def add(
    context: click.Context,
    when: str,
    title: str,
    task_id: str | None,
    zone: str,
    member: str,
    thread: str,
    deliver: tuple[str, ...],
    catch_up: str,
    prompt: tuple[str, ...],
) -> None:
    """Make a task that does PROMPT, or what standard input says."""
    from shipmate.schedule.task import write_task

    words = " ".join(prompt)
    if not words and not sys.stdin.isatty():
        words = sys.stdin.read()
    if not words.strip():
        raise UserError(tell("nothing-given"))
    folder, _ = _open(context)
    text = write_task(
        title=title,
        when=when,
        prompt=words,
        zone=zone,
        member=member,
        thread=str(parse_thread_id(thread)) if thread else "",
        deliver=deliver,
        catch_up=catch_up,
    )
    task = folder.add(task_id or folder.free_id(title), text)
    click.echo(f"{task.id}  {folder.name_of(task.id)}")
    for due in task.when.upcoming(datetime.now(UTC), 3):
        click.echo(f"  {_local(due.isoformat(), task.zone)}")


@command.command("run")
@ID
@click.pass_context
def begin(context: click.Context, task_id: str) -> int:
    """Begin task ID now, and print the answer."""
    return run_async(_begin(context, task_id))


@command.command()
@ID
@click.pass_context
def pause(context: click.Context, task_id: str) -> None:
    """Pause task ID: it is not begun by the clock."""
    _open(context)[0].switch(task_id, on=False)
    echo(tell("paused", id=task_id))


@command.command()
@ID
@click.pass_context
def resume(context: click.Context, task_id: str) -> None:
    """Let task ID go on."""
    task = _open(context)[0].switch(task_id, on=True)
    echo(tell("resumed", id=task_id))
    for due in task.when.upcoming(datetime.now(UTC), 1):
        click.echo(f"  {_local(due.isoformat(), task.zone)}")


@command.command()
@ID
@click.pass_context
def remove(context: click.Context, task_id: str) -> None:
    """Take the file of task ID away; what it did stays in its thread."""
    _open(context)[0].remove(task_id)
    echo(tell("removed", id=task_id))


@command.command()
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@JSON
@click.pass_context
def log(context: click.Context, task_id: str | None, limit: int, as_json: bool) -> None:
    """List what became of due times, newest first: begun, missed or uncertain."""
    records = _open(context)[1].look()
    named = {task_id: records[task_id]} if task_id in records else {} if task_id else records
    known = [each for record in named.values() for each in record.known.values()]
    found = sorted(known, key=lambda each: each.at, reverse=True)[:limit]
    if as_json:
        _print_json(found)
        return
    if not found:
        echo(tell("none-due"))
    for each in found:
        click.echo(_describe(each))


def _open(context: click.Context) -> tuple[TaskFolder, JournalOccurrences]:
    from shipmate.residence import open_shelf
    from shipmate.schedule.task_folder import TaskFolder
    from shipmate.store.journal.occurrence import JournalOccurrences
    from shipmate.workspace.load import load_config

    layout = find_layout(context)
    papers = context.with_resource(open_shelf(layout)).papers
    return TaskFolder(layout, load_config(layout).config.timezone), JournalOccurrences(layout, papers)


async def _begin(context: click.Context, task_id: str) -> int:
    from shipmate.cli.ship import open_ship
    from shipmate.schedule.occasion import make_hand_event

    async with open_ship(find_layout(context)) as ship:
        task = ship.tasks.get(task_id).found()
        receipt = await ship.keeper.receive(make_hand_event(task, datetime.now(UTC), ship.config.language))
        outcome = await receipt.outcome()
    if outcome.error:
        raise UserError(outcome.error)
    if outcome.text:
        click.echo(reveal(outcome.text))
    if outcome.status == "suspended":
        echo(tell("asks"), err=True)
        return 3
    return 0


def _next(found: TaskOverview) -> str:
    return _local(found.upcoming[0], found.zone) if found.upcoming else say(tell(f"state-{found.state}"))


def _local(at: str, zone: str) -> str:
    from shipmate.schedule.occasion import show as show_moment

    return show_moment(datetime.fromisoformat(at), zone)


def _describe(each: Occurrence) -> str:
    from shipmate.schedule.overview import tell_reason

    due = _local(each.due, "")
    if each.until:
        due = f"{due} – {_local(each.until, '')}"
        due += f" ({each.count}×)" if each.count else ""
    pieces = [due, each.task, say(tell(f"status-{each.status}"))]
    if each.by_hand:
        pieces.append(say(tell("by-hand")))
    if why := tell_reason(each, language()):
        pieces.append(reveal_line(why, 200))
    return reveal(f"{MARKS.get(each.status, '…')} {'  '.join(pieces)}")


def _print_json(found: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
