"""Find the commands of `shipmate` in Markdown, and hold each against the command line as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click
from markdown_it.token import Token

from shipmate.cli.group import group

# A command begins a line or follows a pipe or `&&`; it ends at the next, a comment or a description.
BEGIN = re.compile(r"(?:^|[|;&(`]\s*)\$?\s*shipmate(?= |$)")
END = re.compile(r"\s[|;&<>#]|[;`)]|\s{2,}")


def find_commands(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield what stands after `shipmate` in inline code and in the blocks that show a terminal."""
    for token in tokens:
        if token.type == "code_block" or (
            token.type == "fence" and token.info in ("console", "sh", "text", "")
        ):
            is_session = "\n$ " in f"\n{token.content}"
            for line in token.content.splitlines():
                if line.startswith("$ ") or not is_session:
                    yield from cut(line.removeprefix("$ ").strip())
        for child in token.children or []:
            if child.type == "code_inline":
                yield from cut(child.content)


def cut(line: str) -> Iterator[str]:
    """Yield the commands of one line, without what follows them."""
    # What is quoted is one word, whatever stands in it.
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "WORDS", line)
    for found in BEGIN.finditer(line):
        yield END.split(f"{line[found.end() :]} ", maxsplit=1)[0].strip()


def find_mistakes(tokens: Sequence[Token]) -> list[str]:
    """Name every command and option that does not exist."""
    return [mistake for command in find_commands(tokens) for mistake in check(command)]


def check(line: str) -> Iterator[str]:
    """Follow one command line through its groups and hold its options against them."""
    command: click.Command = group
    context = click.Context(group)
    is_value = False
    for word in re.split(r"[\s\[\]]+", line):
        if word == "--":
            return
        if is_value:
            is_value = False
        elif re.match(r"--?\w", word):
            option = find_option(command, context, word.split("=")[0])
            if option is None:
                yield f"`shipmate {line}`: there is no option {word}"
                return
            is_value = "=" not in word and not option.is_flag and option.nargs == 1
        elif isinstance(command, click.Group) and re.fullmatch(r"[a-z-]+", word):
            inner = command.get_command(context, word)
            if inner is None:
                yield f"`shipmate {line}`: there is no command {word}"
                return
            command = inner


def find_option(command: click.Command, context: click.Context, name: str) -> click.Option | None:
    """Return the option of a command that is called so."""
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    return next((each for each in options if name in (*each.opts, *each.secondary_opts)), None)
