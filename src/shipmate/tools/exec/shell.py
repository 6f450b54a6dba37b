"""Read commands with a real shell grammar, and say which are one plain command and nothing more."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import msgspec

from shipmate.values.reason import Why

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# The longest command a person can be asked to read; whatever is longer belongs in a script file.
COMMAND_LIMIT = 32_768
# What may stand outside quotes in a plain word: nothing here is expanded, split or redirected by any shell. A
# tilde is, at the start of a word and in what looks like an assignment.
BARE = re.compile(r"(?!~)(?:[\w./:=@%+,^-]|(?<![:=])~)+")
# Inside double quotes these still mean something to the shell.
LIVE_IN_QUOTES = frozenset("$`\\!")


class CommandReading(msgspec.Struct, frozen=True):
    """A plain command's words, or why it is not plain."""

    words: tuple[str, ...] | None
    why: Why | None = None


def read_command(command: str) -> CommandReading:
    """Return the words of one plain command; anything the shell would expand, join or redirect has none."""
    if len(command) > COMMAND_LIMIT:
        return CommandReading(None, Why("too-long", str(COMMAND_LIMIT)))
    if not command.isprintable():
        return CommandReading(None, Why("hidden"))
    root = _parse(command)
    if root.has_error or len(root.children) != 1 or root.children[0].type != "command":
        return CommandReading(None, Why("not-plain"))
    words: list[str] = []
    for child in root.children[0].children:
        word = _plain_word(child.children[0] if child.type == "command_name" and child.children else child)
        if word is None:
            return CommandReading(None, Why("expands", _text(child)[:60]))
        words.append(word)
    return _second_opinion(command, tuple(words))


def _second_opinion(command: str, words: tuple[str, ...]) -> CommandReading:
    """Trust the grammar only where an independent splitter sees the same words."""
    try:
        split = tuple(shlex.split(command, comments=False, posix=True))
    except ValueError:
        return CommandReading(None, Why("not-plain"))
    if split != words or not words or not words[0] or "=" in words[0]:
        return CommandReading(None, Why("not-plain"))
    return CommandReading(words)


def _plain_word(node: Node) -> str | None:
    text = _text(node)
    match node.type:
        case "word" | "number":
            return text if BARE.fullmatch(text) else None
        case "raw_string":
            return text[1:-1]
        case "string":
            inner = text[1:-1]
            return None if LIVE_IN_QUOTES & set(inner) else inner
        case "concatenation":
            pieces = [_plain_word(child) for child in node.children]
            known = [piece for piece in pieces if piece is not None]
            return "".join(known) if len(known) == len(pieces) else None
        case _:
            return None


def commands_within(command: str) -> tuple[list[tuple[str, ...]], bool]:
    """List every command found anywhere in a command line, and whether all of it could be read."""
    if len(command) > COMMAND_LIMIT:
        return [], False
    found, is_clear = _commands_within(command)
    return list(found), is_clear


# Every rule about commands asks for it.
@lru_cache(maxsize=16)
def _commands_within(command: str) -> tuple[tuple[tuple[str, ...], ...], bool]:
    root = _parse(command)
    found: list[tuple[str, ...]] = []
    is_clear = not root.has_error
    for node in _walk(root):
        if node.type in ("command", "declaration_command", "test_command"):
            words = tuple(
                _loose_word(child) for child in node.children if child.type != "variable_assignment"
            )
            is_clear = is_clear and bool(words) and BARE.fullmatch(words[0]) is not None
            found.append(words)
    return tuple(found), is_clear


def _loose_word(node: Node) -> str:
    """Take a word apart as the shell would, as far as that is possible without running it."""
    text = _text(node)
    return re.sub(r"""\\(.)|['"]""", r"\1", text)


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(current.children)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _parse(command: str) -> Node:
    return _parser().parse(command.encode("utf-8", "surrogatepass")).root_node


@cache
def _parser() -> Parser:
    # Loading the grammar costs 20 ms that only the first command should pay.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
