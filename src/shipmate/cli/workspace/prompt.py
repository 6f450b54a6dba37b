"""Show what a member's program would be sent."""

from __future__ import annotations

import asyncio

import click
import msgspec

from shipmate.cli.place import find_layout, parse_thread_id
from shipmate.cli.terminal.tongue import complain
from shipmate.cli.workspace.context import look_up
from shipmate.crew.briefing import brief, find_session, split_turn
from shipmate.crew.program.installed import PROGRAMS
from shipmate.crew.prompt_build import PromptOutput, build_prompt
from shipmate.models.port import RunOrigin
from shipmate.values.message import user_message
from shipmate.values.reveal import reveal
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.load import load_config


@click.command()
@click.option("--member", metavar="ID", default=None, help="Whose prompt; that of the thread's by default.")
@click.option("--thread", metavar="THREAD", default=None, help="In which thread it would be said.")
@click.option(
    "--as", "kind", type=click.Choice(list(PROGRAMS)), default=None, help="For this kind of program."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("message", required=False, default="…")
@click.pass_context
def command(
    context: click.Context,
    member: str | None,
    thread: str | None,
    kind: str | None,
    as_json: bool,
    message: str,
) -> None:
    """Show what the program of a member would be sent for MESSAGE: system text, context and message."""
    layout = find_layout(context)
    crew = Crew(layout, load_config(layout))
    history, owner = asyncio.run(look_up(layout, parse_thread_id(thread))) if thread else ([], CAPTAIN)
    chosen = crew.choose(member) if member else crew.find(owner)
    origin = RunOrigin(thread_id=thread or "", run_id="", owns_thread=chosen.id == owner)
    messages = [*history, user_message("preview", message)]
    before, _ = split_turn(messages, "")
    session = find_session(chosen, before, origin)
    told = brief(chosen, messages, origin, session=session)
    channel = chosen.settings.system_channel
    made = build_prompt(
        msgspec.structs.replace(
            told,
            agent_type=kind or told.agent_type,
            takes_system=None if channel is None else channel == "native",
        )
    )
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(made)).decode())
    else:
        _show(made)


def _show(made: PromptOutput) -> None:
    for cut in made.cuts:
        complain(cut)
    if made.system_flag is not None:
        click.echo(f"--- system\n{_shown(made.system_flag)}\n--- prompt")
    click.echo(_shown(made.prompt))


def _shown(text: str) -> str:
    # What files and people wrote cannot steer the terminal.
    return "\n".join(map(reveal, text.split("\n")))
