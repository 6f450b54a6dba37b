"""List and change the people of a team, on the machine of the workspace itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar, get_args

import click

from shipmate.cli.place import find_layout
from shipmate.team.team import Team, open_team
from shipmate.team.user import Role, User
from shipmate.values.reveal import reveal_line

NAME_LENGTH = 60
Result = TypeVar("Result")
ROLE = click.Choice(get_args(Role))


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the team: who may sign in, as what, and with which tokens."""
    if context.invoked_subcommand is None:
        _list(context)


@command.command("list")
@click.pass_context
def list_users(context: click.Context) -> None:
    """List the team."""
    _list(context)


@command.command()
@click.argument("user", metavar="NAME")
@click.option("--role", type=ROLE, default="member", show_default=True, help="What they may.")
@click.option("--name", "shown", default="", metavar="TEXT", help="How they are called beside their words.")
@click.option("--password", "asks", is_flag=True, help="Ask for a password they sign in with.")
@click.pass_context
def add(context: click.Context, user: str, role: Role, shown: str, *, asks: bool) -> None:
    """Take NAME in."""
    secret = _ask() if asks else ""
    made = _do(_team(context).add(user, role, name=shown, password=secret))
    click.echo(f"{made.id} has the role {made.role} now.")
    if not asks:
        click.echo(f"They sign in with a password (`shipmate users password {made.id}`) or a token.")


@command.command()
@click.argument("user", metavar="NAME")
@click.option("--label", default="", metavar="TEXT", help="What it is for.")
@click.option("--days", type=click.IntRange(1, 3650), default=None, help="It ends after so many days.")
@click.option("--revoke", default=None, metavar="ID", help="Take this token back instead.")
@click.pass_context
def token(context: click.Context, user: str, label: str, days: int | None, revoke: str | None) -> None:
    """Make a token for NAME, or take one back. It is shown once."""
    team = _team(context)
    if revoke is not None:
        _do(team.revoke(user, revoke))
        click.echo(f"{revoke} lets nobody in any more.")
        return
    lasts = None if days is None else timedelta(days=days)
    _, secret = _do(team.issue(user, "token", label, lasts=lasts))
    click.echo(secret)


@command.command()
@click.argument("user", metavar="NAME")
@click.pass_context
def password(context: click.Context, user: str) -> None:
    """Set another password for NAME; every session of theirs ends."""
    team = _team(context)
    _do(team.get(user))
    _do(team.set_password(user, _ask()))
    click.echo(f"{user} has another password, and is signed out everywhere.")


@command.command()
@click.argument("user", metavar="NAME")
@click.argument("role", type=ROLE)
@click.pass_context
def role(context: click.Context, user: str, role: Role) -> None:
    """Set another role for NAME: guest, member or admin."""
    _do(_team(context).alter(user, role=role))
    click.echo(f"{user} has the role {role} now.")


@command.command()
@click.argument("user", metavar="NAME")
@click.option("--again", is_flag=True, help="Let them in again.")
@click.pass_context
def disable(context: click.Context, user: str, *, again: bool) -> None:
    """Keep NAME out, with every token and session, until you let them in again."""
    _do(_team(context).alter(user, is_disabled=not again))
    click.echo(f"{user} {'may sign in again' if again else 'may not sign in any more'}.")


@command.command()
@click.argument("user", metavar="NAME")
@click.pass_context
def remove(context: click.Context, user: str) -> None:
    """Take NAME out. Their threads stay, for admins."""
    _do(_team(context).remove(user))
    click.echo(f"{user} is gone. Their threads stay, for admins.")


def _team(context: click.Context) -> Team:
    return open_team(find_layout(context))


def _do(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


def _ask() -> str:
    return click.prompt("Password", hide_input=True, confirmation_prompt=True)


def _list(context: click.Context) -> None:
    users = _do(_team(context).users.list())
    if not users:
        click.echo(
            "There is no team beside the owner, who has the workspace's token. `shipmate users add NAME`"
        )
    for user in users:
        click.echo(_line(user))
        for key in user.keys:
            if key.kind == "token":
                used = f"used {key.used_at[:16]}" if key.used_at else "never used"
                until = f", until {key.expires_at[:10]}" if key.expires_at else ""
                click.echo(f"    {key.id}  {reveal_line(key.label, NAME_LENGTH) or '-'}  {used}{until}")


def _line(user: User) -> str:
    ways = [word for word, is_so in (("password", user.password), ("OpenID", user.identity)) if is_so]
    sessions = sum(key.kind == "session" for key in user.keys)
    state = "  disabled" if user.is_disabled else ""
    name = reveal_line(user.name, NAME_LENGTH)
    return f"{user.id}  {user.role}  {name or '-'}  {', '.join(ways) or 'token'}  {sessions} signed in{state}"
