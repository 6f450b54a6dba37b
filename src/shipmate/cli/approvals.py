"""List and answer what waits for a person; list and take back grants."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import click
import msgspec

from shipmate.approvals.question import describe, describe_grant, moment, summarise
from shipmate.approvals.reply.parser import parse
from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Approval
from shipmate.cli.place import PLATFORM, find_layout, open_records, run_opened
from shipmate.cli.ship import local_user, open_ship
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.leaving import run
from shipmate.cli.terminal.tongue import echo, language, say
from shipmate.errors import ApprovalError, NotFoundError, UserError
from shipmate.values.event import ApprovalReplyEvent, Outcome
from shipmate.values.message import new_id, timestamp
from shipmate.values.reveal import reveal
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config

ID = click.argument("approval_id", metavar="ID")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
# A terminal scrolls, so a question is always shown whole here.
NO_LIMIT = 100_000_000


@click.group(epilog="ID is an approval's id, or the end of one that waits.")
def command() -> None:
    """List and answer what waits for a person."""


@command.command("list")
@click.option("--all", "every", is_flag=True, help="List the decided ones too: the audit trail.")
@JSON
@click.pass_context
def list_approvals(context: click.Context, every: bool, as_json: bool) -> None:
    """List what waits, or with --all everything that was ever asked."""

    async def work(service: ApprovalService) -> list[Approval]:
        return await service.list() if every else await service.pending()

    found = run_opened(context, _open_service, work)
    if as_json:
        _print_json(found)
        return
    if not found:
        echo("Nothing waits for an answer.")
    for each in found:
        click.echo(reveal(f"{each.id}  {each.status:<10}  {each.thread_id}  {each.tool}: {summarise(each)}"))
        if each.decision is not None:
            words = f" “{each.decision.words}”" if each.decision.words else ""
            decided = say(f"{each.status} by {each.decision.by} on {moment(each.decision.at)}")
            click.echo(reveal(f"    {decided}{words}"))


@command.command()
@ID
@JSON
@click.pass_context
def show(context: click.Context, approval_id: str, as_json: bool) -> None:
    """Show a question whole: what would happen, and why it is asked."""

    async def work(service: ApprovalService) -> tuple[Approval, str]:
        approval = await _find(service, approval_id)
        return approval, describe(approval, language(), limit=NO_LIMIT)

    approval, words = run_opened(context, _open_service, work)
    if as_json:
        _print_json(approval)
        return
    click.echo(reveal(words))
    if approval.decision is not None:
        echo(f"\n{approval.status} by {reveal(approval.decision.by)} on {moment(approval.decision.at)}")


@command.command()
@ID
@click.argument("words", nargs=-1, required=True)
@JSON
@click.pass_context
def answer(context: click.Context, approval_id: str, words: tuple[str, ...], as_json: bool) -> int:
    """Answer a question in WORDS: yes, no, `no, that file is shared`, `yes, always`, `yes for 10 minutes`.

    The run goes on, and what it says is printed.
    """
    layout = find_layout(context)
    approval, outcome, notice = run(_answer(layout, approval_id, " ".join(words)))
    if as_json:
        _print_json({"approval": approval, "outcome": outcome, "say": notice})
    else:
        for line in (notice and say(notice), outcome.text, outcome.error and say(outcome.error)):
            if line:
                click.echo(clean(line))
    return 0 if outcome.status == "replied" else 1


@command.command()
@JSON
@click.pass_context
def grants(context: click.Context, as_json: bool) -> None:
    """List the grants in force: what runs without being asked about."""

    async def work(service: ApprovalService) -> tuple[list[Any], list[str]]:
        found = await service.grants()
        return list(found), [describe_grant(grant, language()) for grant in found]

    found, lines = run_opened(context, _open_service, work)
    if as_json:
        _print_json(found)
        return
    if not found:
        echo("No grants are in force.")
    for grant, line in zip(found, lines, strict=True):
        click.echo(reveal(f"{grant.id}  {line} (by {grant.granted_by}, “{grant.words}”)"))


@command.command()
@click.argument("grant_id", metavar="GRANT")
@click.pass_context
def revoke(context: click.Context, grant_id: str) -> None:
    """Take a grant back: what it covered asks again."""
    run_opened(context, _open_service, lambda service: service.revoke(grant_id))
    echo(f"Revoked {grant_id}.")


async def _answer(layout: Layout, approval_id: str, words: str) -> tuple[Approval, Outcome, str | None]:
    async with open_ship(layout) as ship:
        approval = await _find(ship.approvals, approval_id)
        event = _make_event(approval, words)
        async with ship.keeper.watch(approval.thread_id) as queue:
            outcome = await (await ship.receive(event)).outcome()
            told = [queue.get_nowait() for _ in range(queue.qsize())]
        decided = await ship.approvals.get(approval.id)
    if decided.decision is None or decided.decision.message_id != event.message_id:
        raise ApprovalError(outcome.text or None)
    notices = [
        each.chunk["data"]["text"] for each in told if each.chunk and each.chunk["type"] == "data-notice"
    ]
    return decided, outcome, notices[-1] if notices else None


def _make_event(approval: Approval, words: str) -> ApprovalReplyEvent:
    """Make the event of an answer; behind a plain refusal any words are its reason."""
    first, _, rest = words.partition(" ")
    verdict = parse(first)
    is_refusal = parse(words) is None and verdict is not None and not verdict.approves
    if parse(words) is None and not is_refusal:
        raise UserError(f"{words!r} is not an answer. Write yes or no; a reason may follow no.")
    return ApprovalReplyEvent(
        platform=PLATFORM,
        thread_id=approval.thread_id,
        user_id=local_user(),
        message_id=new_id("in"),
        timestamp=timestamp(),
        text=rest.strip(" ,") if is_refusal else words,
        approval_id=approval.id,
        approved=False if is_refusal else None,
    )


async def _find(service: ApprovalService, given: str) -> Approval:
    """Find an approval by its id, or by the end of the id of one that waits."""
    waiting = [each for each in await service.pending() if given and each.id.endswith(given)]
    if len(waiting) > 1:
        raise NotFoundError(f"{given} is the end of several ids. Write more of it.")
    return waiting[0] if waiting else await service.get(given)


@asynccontextmanager
async def _open_service(layout: Layout) -> AsyncGenerator[ApprovalService]:
    loaded = load_config(layout)
    config = loaded.config
    async with open_records(layout) as records:
        yield ApprovalService(layout, config.permissions, records.store, config.language, mask=loaded.mask)


def _print_json(value: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value)))
