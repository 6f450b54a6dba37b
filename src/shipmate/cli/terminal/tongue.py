"""Speak to the person at the terminal in their language: that of ship.json, else that of the system."""

from __future__ import annotations

import importlib
import os
from functools import cache
from pathlib import Path

import click
import msgspec

from shipmate.errors import ShipmateError
from shipmate.values.saying import Saying
from shipmate.workspace.layout import Layout

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
# The modules of click that have words of their own; each looks for them under the name `_`.
CLICK = ("core", "decorators", "exceptions", "formatting", "parser", "termui", "types")
HELP = Path(__file__).with_name("words") / "help.zh.json"
_folder: list[Path] = []


def look_in(folder: Path | None) -> None:
    """Take the language of another workspace than that of the current folder."""
    _folder[:] = [folder] if folder else []


def language() -> str:
    """Return the language of who reads: `en` or `zh`."""
    return _find_language(_folder[0] if _folder else Path.cwd())


@cache
def _find_language(folder: Path) -> str:
    try:
        settings = msgspec.json.decode(Layout.find(folder).config.read_bytes())
        said = settings.get("language")
    except (ShipmateError, OSError, msgspec.DecodeError, AttributeError, UnicodeDecodeError):
        # Whoever needs the settings says what is wrong with them.
        said = None
    if said in ("en", "zh"):
        return said
    chosen = next(filter(None, map(os.environ.get, VARIABLES)), "")
    return "zh" if chosen.lower().startswith("zh") else "en"


def say(text: str) -> str:
    """Return words of Shipmate's own in the reader's language."""
    if language() == "en":
        return text
    if isinstance(text, Saying):
        return text.tell(language())
    from shipmate.values.translation import translate

    words = text.strip()
    return text.replace(words, translate(words), 1) if words else text


def say_error(error: ShipmateError) -> str:
    """Return what an error says in the reader's language."""
    return say(error.args[0] if error.args and isinstance(error.args[0], Saying) else str(error))


def echo(words: str, *, err: bool = False) -> None:
    """Print words of Shipmate's own."""
    click.echo(say(words), err=err)


def complain(words: str) -> None:
    """Print words of Shipmate's own beside the output."""
    print_trouble(say(words))


def print_trouble(text: str) -> None:
    """Print a line beside the output; names that files and people have in it cannot steer the terminal."""
    # Only now: most commands have no trouble.
    from shipmate.values.reveal import reveal_prose

    click.echo(f"shipmate: {reveal_prose(text)}", err=True)


def teach_click() -> None:
    """Let click say its own words, `[y/N]` and mistakes in options, in the reader's language."""
    if language() == "en":
        return
    for name in CLICK:
        module = importlib.import_module(f"click.{name}")
        if hasattr(module, "_"):
            setattr(module, "_", say)  # noqa: B010 (no attribute that is declared)
        if hasattr(module, "ngettext"):
            setattr(module, "ngettext", _say_count)  # noqa: B010

    setattr(click.formatting, "wrap_text", _wrap)  # noqa: B010


def teach_command(command: click.Command) -> click.Command:
    """Return a command whose help, and that of all below it, is in the reader's language."""
    if language() == "en":
        return command
    command.help, command.epilog = _say_help(command.help), _say_help(command.epilog)
    command.short_help = (command.help or "").partition("。")[0]
    for option in command.params:
        if isinstance(option, click.Option):
            option.help = _say_help(option.help)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        teach_command(inner)
    return command


def _say_help(text: str | None) -> str | None:
    if not text:
        return text
    return load_help().get(" ".join(text.split()), text)


@cache
def load_help() -> dict[str, str]:
    """Return what commands and options say of themselves, in Chinese; nothing but the terminal reads it."""
    return msgspec.json.decode(HELP.read_bytes(), type=dict[str, str])


def _wrap(
    text: str, width: int = 78, initial_indent: str = "", subsequent_indent: str = "", **_: bool
) -> str:
    """Break a text as click does, by columns instead of characters."""
    from shipmate.cli.terminal.width import wrap_words

    paragraphs = (" ".join(each.split()) for each in text.split("\n\n"))
    return "\n\n".join(wrap_words(initial_indent + each, width, subsequent_indent) for each in paragraphs)


def _say_count(one: str, many: str, count: int) -> str:
    return say(one if count == 1 else many)
