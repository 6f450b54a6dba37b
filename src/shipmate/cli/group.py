"""Load commands when they are asked for, and turn errors into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import click

from shipmate.cli import COMMANDS, MODULES, ROOMS
from shipmate.cli.terminal.outlet import abandon, describe_refusal, mend_outlets
from shipmate.cli.terminal.tongue import (
    complain,
    look_in,
    print_trouble,
    say,
    say_error,
    teach_click,
    teach_command,
)
from shipmate.errors import ShipmateError


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        room = f"shipmate.cli.{ROOMS[cmd_name]}" if cmd_name in ROOMS else "shipmate.cli"
        module = importlib.import_module(f"{room}.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return teach_command(command)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        teach_command(self)
        super().format_help(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(say("Commands")):
            formatter.write_dl([(name, say(does)) for name, does in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Run `shipmate COMMAND --help` for one command. Start with `shipmate init`, then `shipmate chat`.",
)
@click.option(
    "-C",
    "--workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="The folder with the Agent.md; found upward from here when not given.",
)
@click.version_option(package_name="shipmate", prog_name="shipmate", message="%(prog)s %(version)s")
@click.pass_context
def group(context: click.Context, workspace: Path | None) -> None:
    """Run AI crew members that are defined in plain Markdown."""
    context.obj = workspace
    look_in(workspace)
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        context.color = False


def run(arguments: list[str]) -> int:
    """Run a command line; give the exit code: 0 done, 1 failed, 2 a mistake in what was asked."""
    mend_outlets()
    teach_click()
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        abandon()
        return 0
    except OSError as error:
        words = describe_refusal(error)
        if words is None:
            raise
        complain(words)
        abandon()
        return 1


def _run(arguments: list[str]) -> int:
    try:
        result = group.main(args=arguments, prog_name="shipmate", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except ShipmateError as error:
        print_trouble(say_error(error))
        return error.exit_code
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        complain("stopped")
        return 130
    except SystemExit:
        # So click ends when the reader of our output left, as `head` does; that is no failure of ours.
        abandon()
        return 0
