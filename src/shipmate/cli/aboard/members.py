"""List, add, rename and remove members, and say how they stand to each other."""

from __future__ import annotations

import sys

import click
import msgspec

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import echo, say
from shipmate.cli.workspace.init import EXAMPLES, NAMES
from shipmate.crew.enlisting import dismiss, enlist, rename, set_variable
from shipmate.crew.roster import Roster
from shipmate.errors import UserError
from shipmate.values.reveal import reveal_line
from shipmate.workspace.crew import Crew
from shipmate.workspace.load import load_config
from shipmate.workspace.member import Member

LINE = 60


def _crew(context: click.Context) -> Crew:
    layout = find_layout(context)
    return Crew(layout, load_config(layout))


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the members, the captain first."""
    if context.invoked_subcommand is None:
        context.invoke(show_list)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def show_list(context: click.Context, as_json: bool = False) -> None:
    """List the members."""
    crew = _crew(context)
    roster = Roster(crew)
    if as_json:
        rows = [
            {
                "id": each.id,
                "name": each.name,
                "description": each.description,
                "kind": each.kind,
                "colleagues": [other.id for other in roster.colleagues(each)],
            }
            for each in crew.list()
        ]
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    for each in crew.list():
        click.echo(f"{each.id:<16} {reveal_line(each.name, LINE):<20} {reveal_line(each.description, LINE)}")
    for finding in [*crew.findings(), *roster.findings()]:
        if finding.level != "ok":
            click.echo(
                f"! {finding.subject}: {finding.message}{finding.fix and f'; {finding.fix}'}", err=True
            )


@command.command()
@click.argument("member", metavar="MEMBER")
@click.pass_context
def show(context: click.Context, member: str) -> None:
    """Show what MEMBER is: files, model, rights, variables by name, and its colleagues."""
    crew = _crew(context)
    found = crew.choose(member)
    model = found.config.llm
    permissions = found.permissions or found.config.permissions
    rows = [
        ("id", found.id),
        ("name", found.name),
        ("kind", found.kind),
        ("about", found.description or "-"),
        ("files", crew.layout.name_of(found.own.root) or "."),
        ("model", f"{model.provider}:{model.model}" if model and model.model else say("the workspace's")),
        ("mode", permissions.mode),
        ("tools", ", ".join(found.tools) if found.tools is not None else say("all")),
        ("variables", ", ".join(sorted(found.settings.env)) or "-"),
    ]
    for name, value in rows:
        click.echo(f"{name:<10} {reveal_line(str(value), 200)}")
    for each in Roster(crew).relations(found):
        words = " ".join(filter(None, (each.relation, each.strength, each.note)))
        click.echo(f"{'knows':<10} {reveal_line(f'{each.target_id} ({each.target_name}): {words}', 200)}")


@command.command()
@click.argument("member_id", metavar="ID")
@click.option("--name", default=None, metavar="NAME", help="What it is called; ID by default.")
@click.option("--model", default=None, metavar="PROVIDER:MODEL", help="Its own model.")
@click.option("--colour", default=None, metavar="COLOUR", help="Its colour on the page, such as #3366cc.")
@click.option(
    "--example",
    type=click.Choice(list(NAMES)),
    default="helper",
    show_default=True,
    help="Its first Agent.md.",
)
@click.pass_context
def add(
    context: click.Context,
    member_id: str,
    name: str | None,
    model: str | None,
    colour: str | None,
    example: str,
) -> None:
    """Add a member with the id ID."""
    words = (EXAMPLES / f"{example}.md").read_text(encoding="utf-8").replace("{name}", name or member_id)
    made = enlist(_crew(context), member_id, words, name=name, model=model, colour=colour)
    echo(f"{made.name} is a member now: edit {made.layout.name_of(made.own.agent)}.")
    click.echo(f"Next: shipmate chat --member {made.id}")


@command.command("rename")
@click.argument("member", metavar="MEMBER")
@click.argument("name", metavar="NAME")
@click.pass_context
def call_otherwise(context: click.Context, member: str, name: str) -> None:
    """Call MEMBER by another NAME; its id and its threads stay."""
    crew = _crew(context)
    found = crew.choose(member)
    place = rename(crew, found, name)
    echo(f"{found.id} is called {crew.find(found.id).name} now ({place}).")


@command.command()
@click.argument("member", metavar="MEMBER")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.pass_context
def remove(context: click.Context, member: str, is_sure: bool) -> None:
    """Move MEMBER aside. Its threads stay, and nobody answers in them until it is back."""
    crew = _crew(context)
    found: Member = crew.choose(member)
    if not is_sure:
        if not sys.stdin.isatty():
            raise UserError(f"nothing was removed: say `shipmate members remove {found.id} --yes`.")
        click.confirm(say(f"Remove {found.id} ({found.name})?"), abort=True)
    kept = dismiss(crew, found)
    echo(f"{found.id} lies in {crew.layout.name_of(kept)}; move it back to members/{found.id} to undo.")


@command.command()
@click.argument("member", metavar="MEMBER")
@click.argument("key", metavar="NAME")
@click.option("--forget", "is_gone", is_flag=True, help="Take the variable back.")
@click.pass_context
def env(context: click.Context, member: str, key: str, is_gone: bool) -> None:
    """Set a private variable NAME of MEMBER; its value is asked for, or read from a pipe."""
    crew = _crew(context)
    value = None if is_gone else _read_value(key)
    place = set_variable(crew, crew.choose(member), key, value)
    if is_gone:
        echo(f"{place} no longer holds {key}.")
    else:
        echo(f"{place} holds {key} (mode 0600).")


def _read_value(key: str) -> str:
    if sys.stdin.isatty():
        return click.prompt(key, hide_input=True)
    value = sys.stdin.read().rstrip("\n")
    if not value:
        raise UserError(f"there is no value for {key}: pipe it in, or type it at a terminal.")
    return value


@command.command()
@click.argument("one", metavar="MEMBER", required=False)
@click.argument("relation", metavar="RELATION", required=False)
@click.argument("other", metavar="OTHER", required=False)
@click.option("--strength", default="", metavar="WORD", help="How close: core, common, occasional.")
@click.option("--note", default="", metavar="TEXT", help="What else there is to know.")
@click.option(
    "--mend", "is_mending", is_flag=True, help="Write what only one side knows into the other's file."
)
@click.pass_context
def relate(
    context: click.Context,
    one: str | None,
    relation: str | None,
    other: str | None,
    strength: str,
    note: str,
    is_mending: bool,
) -> None:
    """Say that MEMBER is the RELATION of OTHER: superior, subordinate, peer, support.

    Both their RELATIONS.md say so then, and each may ask the other.
    """
    crew = _crew(context)
    if is_mending:
        written = Roster(crew).mend()
        for line in written:
            click.echo(line)
        echo(f"{len(written)} relations were written.")
        return
    if not one or not relation or not other:
        raise UserError("name a member, the relation and the other: shipmate members relate nina peer bob.")
    Roster(crew).relate(other, one, relation, strength, note)
    echo(f"{one} is {relation} of {other}; both files say so.")


@command.command()
@click.argument("one", metavar="MEMBER")
@click.argument("other", metavar="OTHER")
@click.pass_context
def unrelate(context: click.Context, one: str, other: str) -> None:
    """Take the relation of MEMBER and OTHER out of both their files."""
    Roster(_crew(context)).part(one, other)
    echo(f"{one} and {other} have no relation any more.")
