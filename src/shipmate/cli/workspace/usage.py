"""Show what models used and cost, with small plots."""

from __future__ import annotations

import csv
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, get_args

import click
import msgspec

from shipmate.cli.place import find_layout, open_records, parse_thread_id
from shipmate.cli.terminal.leaving import run as run_async
from shipmate.cli.terminal.tongue import echo, say
from shipmate.cli.terminal.width import columns, cut, measure, pad
from shipmate.errors import UserError
from shipmate.store.tally import Grouping, Tally, add_up, group_by, start_of
from shipmate.values.reveal import reveal_line

if TYPE_CHECKING:
    from shipmate.store.port import StepUsage
    from shipmate.workspace.layout import Layout

HEADS = ("requests", "tokens in", "cached", "tokens out", "cost")
CACHED = 3
STEPS = "▁▂▃▄▅▆▇█"
NAME_WIDTH = 40
BAR_WIDTH = 24
# What begins so, a spreadsheet would compute.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@click.command(epilog="Days are those of UTC. docs/usage.md says what is counted.")
@click.option("--days", default=30, show_default=True, type=click.IntRange(1, 4000), help="How far back.")
@click.option(
    "--by",
    "grouping",
    default="day",
    show_default=True,
    type=click.Choice(get_args(Grouping)),
    help="What to add up.",
)
@click.option(
    "--thread", default=None, metavar="ID", help="Only this thread, with what colleagues did for it."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.pass_context
def command(
    context: click.Context, days: int, grouping: Grouping, thread: str | None, as_json: bool, as_csv: bool
) -> None:
    """Show requests, tokens and cost; the work of colleagues counts for whoever asked them."""
    if as_json and as_csv:
        raise UserError("--json and --csv: choose one of them.")
    thread_id = str(parse_thread_id(thread)) if thread else None
    layout = find_layout(context)
    steps = run_async(_read(layout, start_of(days), thread_id))
    groups, total = group_by(steps, grouping), add_up(steps)
    if as_json:
        rows = [{grouping: name, **msgspec.to_builtins(each)} for name, each in groups.items()]
        told = {"days": days, "by": grouping, "rows": rows, "total": total}
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    elif as_csv:
        _write_csv(grouping, groups)
    elif not steps:
        echo("No model was asked in this time.")
        _show_budget(layout)
    else:
        _show(grouping, groups, total)
        if _draws():
            click.echo(f"\n{say('tokens by day')}\n{_draw_days(steps, min(days, columns() or 80))}")
        _show_budget(layout)


def _show_budget(layout: Layout) -> None:
    """Say how the limits of ship.json stand, whatever else was asked for."""
    from shipmate.residence import open_shelf
    from shipmate.workspace.load import load_config

    with open_shelf(layout) as shelf:
        found = shelf.allowance.look(load_config(layout).config.budget)
    for each in found:
        when = "today" if each.period == "day" else "this month"
        whose = f" ({reveal_line(each.member, NAME_WIDTH)})" if each.member else ""
        echo(f"Budget{whose}: {each.amount(each.spent)} of {each.amount(each.limit)} used {when}")


async def _read(layout: Layout, since: str, thread_id: str | None) -> list[StepUsage]:
    async with open_records(layout) as records:
        return await records.store.ledger.usage(since, thread_id)


def _show(grouping: Grouping, groups: dict[str, Tally], total: Tally) -> None:
    heads = [say(f"by {grouping}"), *map(say, HEADS)]
    rows = [[reveal_line(name, NAME_WIDTH), *_cells(each)] for name, each in groups.items()]
    table = [heads, *rows, [say("together"), *_cells(total)]]
    widths, room = _measure(table)
    if room < 0:
        # On a narrow screen a part of another column gives way, then the name.
        table = [[*cells[:CACHED], *cells[CACHED + 1 :]] for cells in table]
        if grouping == "day":
            table[1:-1] = [[name[-len("11-16") :], *cells] for name, *cells in table[1:-1]]
        widths, room = _measure(table)
        widths[0] = max(8, widths[0] + min(0, room))
    sizes = [each.tokens if total.cost is None else each.cost or 0 for each in groups.values()]
    bars = [_bar(size, max(sizes), min(room, BAR_WIDTH)) for size in sizes]
    for cells, bar in zip(table, ["", *bars, ""], strict=True):
        numbers = "  ".join(_align(cell, width) for cell, width in zip(cells[1:], widths[1:], strict=True))
        line = f"{pad(cut(cells[0], widths[0]), widths[0])}  {numbers}"
        click.echo(f"{line}  {click.style(bar, fg='cyan')}" if bar else line)
    if total.cost is None:
        known, told = total.requests - total.unpriced, f"{total.unpriced:,} of {total.requests:,}"
        echo(f"The price of {told} requests is not known, so no sum of money is told.")
        if known:
            echo("`--by model` shows which have one.")


def _measure(table: list[list[str]]) -> tuple[list[int], int]:
    """Return how wide the columns are, and what is left beside them."""
    widths = [max(map(measure, column)) for column in zip(*table, strict=True)]
    return widths, (columns() or 100) - sum(widths) - 2 * len(widths)


def _cells(tally: Tally) -> list[str]:
    cost = "?" if tally.cost is None else f"${tally.cost:.4f}"
    counts = (tally.requests, tally.input_tokens, tally.cache_read_tokens, tally.output_tokens)
    return [*(f"{count:,}" for count in counts), cost]


def _align(text: str, width: int) -> str:
    return " " * (width - measure(text)) + text


def _bar(size: float, most: float, width: int) -> str:
    if width < 4 or not size or not most:
        return ""
    return ("█" if _draws() else "#") * max(1, round(size / most * width))


def _draw_days(steps: list[StepUsage], days: int) -> str:
    """Draw one column a day, the last of them today."""
    every, today = group_by(steps, "day"), datetime.now(UTC).date()
    names = [str(today - timedelta(days=back)) for back in reversed(range(days))]
    sizes = [every[name].tokens if name in every else 0 for name in names]
    most = max(sizes) or 1
    return "".join(STEPS[round(size / most * (len(STEPS) - 1))] if size else "·" for size in sizes)


def _draws() -> bool:
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _write_csv(grouping: Grouping, groups: dict[str, Tally]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([grouping, *Tally.__struct_encode_fields__])
    for name, each in groups.items():
        safe = f"'{name}" if name.startswith(FORMULA) else name
        writer.writerow([safe, *("" if value is None else value for value in msgspec.structs.astuple(each))])
