"""List what acted, what was refused and who let it pass; check that the log was not changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click
import msgspec

from shipmate.approvals.audit_call import AuditCall, fold
from shipmate.approvals.question import moment
from shipmate.cli.place import find_layout, parse_thread_id
from shipmate.cli.terminal.tongue import echo, say
from shipmate.errors import UserError
from shipmate.residence import open_shelf
from shipmate.values.message import timestamp
from shipmate.values.reveal import reveal, reveal_line
from shipmate.workspace.layout import Layout

WHAT_WIDTH = 60
UNITS = {"m": "minutes", "h": "hours", "d": "days"}
MARKS = {"ok": "✓", "error": "✗", "interrupted": "✗", "refused": "⊘", "denied": "⊘", "requested": "?"}


@click.command(
    epilog="Each call that acts is recorded before it begins. docs/approvals.md says what is kept."
)
@click.option("--verify", is_flag=True, help="Check the whole log; exit code 1 when it was cut or changed.")
@click.option("--thread", default=None, metavar="ID", help="Only calls of this thread.")
@click.option(
    "--since", default=None, metavar="WHEN", help="Only calls since then: 2026-03-01, or 30m, 12h, 7d ago."
)
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), help="How many calls."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context, verify: bool, thread: str | None, since: str | None, limit: int, as_json: bool
) -> int:
    """List every call that acted and every refusal, newest first: when, who, what, and what let it pass."""
    layout = find_layout(context)
    if verify:
        return _verify(layout, as_json)
    with open_shelf(layout) as shelf:
        page = fold(
            shelf.audit.entries(),
            limit,
            thread_id=str(parse_thread_id(thread)) if thread else None,
            since=_read_moment(since) if since else "",
        )
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(page.calls)))
        return 0
    for call in page.calls:
        click.echo(_write_line(call))
    if not page.calls:
        echo("No call has acted or been refused." if not thread and not since else "No such call.")
    elif page.has_more:
        echo(f"There are older ones: --limit {limit * 2} shows more.")
    return 0


def _verify(layout: Layout, as_json: bool) -> int:
    with open_shelf(layout) as shelf:
        found = shelf.audit.verify()
    if as_json:
        click.echo(
            msgspec.json.format(
                msgspec.json.encode({"holds": found.holds, **msgspec.to_builtins(found)})
            ).decode()
        )
        return 0 if found.holds else 1
    folder = layout.audit.relative_to(layout.root)
    for each in found.breaks:
        click.echo(reveal(f"✗ {folder}/{say(str(each))}"))
    if found.holds:
        counted = "1 entry" if found.entries == 1 else f"{found.entries:,} entries"
        said = f"{counted}, none cut or changed" if found.entries else "nothing recorded yet"
        click.echo(f"✓ {folder}: {say(said)}")
    if found.torn:
        torn = say("the last line is unfinished, as a crash leaves it; the next entry mends it")
        click.echo(f"! {folder}: {torn}")
    return 0 if found.holds else 1


def _write_line(call: AuditCall) -> str:
    if call.kind == "note":
        return reveal(f"! {moment(call.at)}  the log: {call.events[-1].what}")
    basis = f"{call.by} {call.basis}".strip() if call.by else "asked"
    what = reveal_line(call.what, WHAT_WIDTH)
    pieces = (moment(call.at), call.member, call.tool, what, f"({basis})", call.outcome)
    return reveal(f"{MARKS.get(call.outcome, '…')} {'  '.join(pieces)}")


def _read_moment(text: str) -> str:
    """Read a day, a moment, or how long ago."""
    if text[:-1].isascii() and text[:-1].isdigit() and text[-1] in UNITS and len(text) < 8:
        return timestamp(datetime.now(UTC) - timedelta(**{UNITS[text[-1]]: int(text[:-1])}))
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--since {text}: write a day such as 2026-03-01, or 30m, 12h, 7d.") from error
    return timestamp(given.astimezone(UTC))
