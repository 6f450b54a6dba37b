"""Show how a folder of another agent opens, and make it lasting."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from shipmate.cli.place import PLATFORM, find_layout
from shipmate.cli.terminal.tongue import echo, say
from shipmate.cli.workspace.inspection import Drawing, describe
from shipmate.context.kept.account import Account, write_account
from shipmate.context.request import ContextRequest
from shipmate.errors import WorkspaceError
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.crew import Crew
from shipmate.workspace.foreign.adoption import Adoption, plan_adoption, write_adoption
from shipmate.workspace.foreign.recognised import Recognised, Unused
from shipmate.workspace.foreign.recognition import survey
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, load_config
from shipmate.workspace.secret.secret import Mask


@click.command(epilog="Nothing of the folder is changed, but for ship.json with --write.")
@click.option("--write", is_flag=True, help="Add the lines to ship.json that make it lasting.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("path", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.pass_context
def command(context: click.Context, path: Path | None, *, write: bool, as_json: bool) -> None:
    """Show what a folder of another agent is taken for, the prompt it gives, and what has no effect.

    PATH is such a folder; the one you stand in when it is not given.
    """
    layout = find_layout(context) if path is None else Layout.at(path.resolve())
    if not layout.is_workspace:
        raise WorkspaceError(
            f"{layout.root} is no folder of an agent that is known here. Run `shipmate init` to make one."
        )
    loaded = load_config(layout)
    plan = plan_adoption(layout, layout.recognised) if layout.recognised else None
    unused = survey(layout.root)
    if as_json:
        account = _account(layout, loaded, plan, unused, is_written=write and bool(plan and plan.added))
        click.echo(loaded.mask(msgspec.json.format(msgspec.json.encode(account)).decode()))
    else:
        _show(layout, loaded, plan, unused, write=write)
    if write and plan and plan.added:
        write_adoption(layout, plan)
        if not as_json:
            echo(f"Wrote {layout.config}.")


def _account(
    layout: Layout, loaded: Loaded, plan: Adoption | None, unused: list[Unused], *, is_written: bool
) -> JsonObject:
    found = layout.recognised
    return {
        "program": found.program if found else "Shipmate",
        "root": str(layout.root),
        "signs": list(found.signs) if found else ["Agent.md"],
        "name": loaded.config.name or (found.name if found else ""),
        "profile": loaded.config.context.profile,
        "members": dict(found.members) if found else {},
        "rules": dict(found.rules) if found else {},
        "prompt": describe(_build(layout, loaded), with_text=False),
        "unused": unused,
        "config": plan.added if plan else {},
        "written": is_written,
    }


def _show(
    layout: Layout, loaded: Loaded, plan: Adoption | None, unused: list[Unused], *, write: bool
) -> None:
    found = layout.recognised
    for line in _introduce(layout, loaded, found):
        click.echo(loaded.mask(reveal(say(line))))
    echo("\nThe prompt, section by section:")
    Drawing(is_terminal=sys.stdout.isatty()).draw(_build(layout, loaded))
    echo("\nNot carried over:" if unused else "\nEverything that was found is used.")
    for each in unused:
        for line in _explain(each):
            click.echo(loaded.mask(reveal(say(line))))
    for line in _offer(layout, plan, loaded.mask, write=write):
        echo(line)


def _introduce(layout: Layout, loaded: Loaded, found: Recognised | None) -> Iterator[str]:
    if found is None:
        yield f"{layout.root} is a workspace of Shipmate's own, by its Agent.md."
        return
    yield f"{layout.root} opens as a folder of {found.program}, by {', '.join(found.signs)}."
    yield f"  name     {loaded.config.name or found.name}"
    yield f"  profile  {loaded.config.context.profile}"
    for member_id, place in found.members.items():
        yield f"  agent    {member_id} ({place})"
    for path, globs in found.rules.items():
        yield f"  rule     {path} (told when a tool works on {', '.join(globs)})"


def _explain(each: Unused) -> Iterator[str]:
    yield f"  {each.what}"
    yield f"      {each.why}"
    if each.lines:
        yield f"      {format_lines(each.lines)}"


def format_lines(lines: JsonObject) -> str:
    """Return settings as they stand inside the braces of a ship.json, on one line."""
    return msgspec.json.format(msgspec.json.encode(lines), indent=0).decode()[1:-1]


def _offer(layout: Layout, plan: Adoption | None, mask: Mask, *, write: bool) -> Iterator[str]:
    if plan is None:
        return
    if not plan.added:
        yield "\nship.json says all of it already; nothing is to be written."
        return
    place = "" if layout.root == Path.cwd() else f" {layout.root}"
    yield (
        "\nAdded to ship.json:"
        if write
        else f"\nTo make it lasting, `shipmate adopt --write{place}` adds to ship.json:"
    )
    yield mask(msgspec.json.format(msgspec.json.encode(plan.added), indent=2).decode())


def _build(layout: Layout, loaded: Loaded) -> Account:
    from shipmate.context.builder import ContextBuilder
    from shipmate.tools.toolset import default_toolset

    captain = Crew(layout, loaded).find(CAPTAIN)
    tools = default_toolset(captain).specs()
    request = ContextRequest(platform=PLATFORM, tools=tools)
    return write_account(ContextBuilder(captain, environ=loaded.environ).build(request), tools, ())
