"""Read what each everyday program takes: its options, and what each of its words is.

`data/grammar.txt` has a section for each program, or for each verb of one that has verbs. A program or an
option that is not there is not known, and what is not known is covered by no open rule.

    flags -a --all            options that take nothing
    takes number -n --lines   options with a value; several kinds joined by + take as many words
    may-take choice --color   options whose value, if any, is joined to them
    operands text reads*      what the other words are; ? may be missing, * any number
    with -e : reads*          what they are when one of these options is there
    needs -m                  without one of these an editor would open
    below -r | always         paths are read with all that lies below them
    follows -R | always       … and links found on the way are followed
    whole -p | always         content of the whole workspace is shown
    default .                 the path that is read when none is given
    words                     options are whole words with one dash (`find`)
    first                     options count only in front of the other words (`xxd`)
    literal                   every word is text (`echo`)
    apart                     the value of an option with one dash is the next word, never joined to it
    digits                    a number with a dash is an option (`head -5`)
    repository                the files of git's repository are written
    refuses @                 no word may begin so: the program would read its options from a file
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import msgspec

from shipmate.values.pattern import lazy_pattern

# What a word is. `reads` and `writes` are paths; `moves` is a path that is read and then gone; `ref` is a
# commit, or a path git looks for in one.
Kind = Literal[
    "text", "choice", "number", "format", "pretty", "range", "filter", "ref", "reads", "writes", "moves"
]
KINDS: tuple[str, ...] = get_args(Kind)
Times = Literal["one", "maybe", "many"]

DATA = Path(__file__).parent / "data" / "grammar.txt"
ALWAYS = "always"
PLAIN_DIRECTIVES = ("words", "first", "literal", "apart", "digits", "repository")
LISTS = ("needs", "below", "follows", "whole")


class Option(msgspec.Struct, frozen=True):
    """One option: the kinds of the values it takes, none for a flag."""

    values: tuple[Kind, ...] = ()
    # The value is joined to the option or not there at all.
    is_optional: bool = False


class Slot(msgspec.Struct, frozen=True):
    """One place for words that are no options."""

    kind: Kind
    times: Times = "one"


class Grammar(msgspec.Struct):
    """What one program, or one verb of a program, takes."""

    name: str
    options: dict[str, Option] = {}
    operands: tuple[Slot, ...] = ()
    alternatives: list[tuple[frozenset[str], tuple[Slot, ...]]] = []
    needs: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()
    follows: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    default: str | None = None
    refuses: str | None = None
    words: bool = False
    first: bool = False
    literal: bool = False
    apart: bool = False
    digits: bool = False
    repository: bool = False

    def slots(self, given: frozenset[str]) -> tuple[Slot, ...]:
        """Return what the operands are when these options are given."""
        return next((slots for options, slots in self.alternatives if options & given), self.operands)


def find_grammar(name: str) -> Grammar | None:
    """Return the grammar of a program, or of `program verb`; None when it is not known."""
    return _read(name) if name in _sections() else None


def program_names() -> frozenset[str]:
    """Return the names of all sections."""
    return frozenset(_sections())


def has_verbs(name: str) -> bool:
    """Return whether a program's next word names what it does."""
    return name in _with_verbs()


@cache
def _with_verbs() -> frozenset[str]:
    return frozenset(name for section in _sections() for name in _beginnings(section))


def _beginnings(section: str) -> list[str]:
    words = section.split(" ")
    return [" ".join(words[:count]) for count in range(1, len(words))]


@cache
def _sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in DATA.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            # Programs that take the same stand in one line.
            lines = []
            sections.update(dict.fromkeys(line.strip("[]").split(", "), lines))
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


@cache
def _read(name: str) -> Grammar:
    grammar = Grammar(name)
    for line in _sections()[name]:
        directive, _, rest = line.partition(" ")
        _apply(grammar, directive, rest.split())
    return grammar


def _apply(grammar: Grammar, directive: str, words: list[str]) -> None:
    if directive == "flags":
        grammar.options.update(dict.fromkeys(words, Option()))
    elif directive in ("takes", "may-take"):
        kinds, *names = words
        option = Option(tuple(_kind(kind) for kind in kinds.split("+")), directive == "may-take")
        grammar.options.update(dict.fromkeys(names, option))
    elif directive == "operands":
        grammar.operands = tuple(map(_slot, words))
    elif directive == "with":
        split = words.index(":")
        grammar.alternatives.append((frozenset(words[:split]), tuple(map(_slot, words[split + 1 :]))))
    elif directive in ("default", "refuses"):
        (value,) = words
        setattr(grammar, directive, value)
    elif directive in LISTS:
        setattr(grammar, directive, frozenset(words))
    elif directive in PLAIN_DIRECTIVES and not words:
        setattr(grammar, directive, True)
    else:
        raise ValueError(f"{grammar.name}: {directive} {' '.join(words)}")


def _slot(word: str) -> Slot:
    times: dict[str, Times] = {"?": "maybe", "*": "many"}
    return Slot(_kind(word.rstrip("?*")), times.get(word[-1], "one"))


def _kind(word: str) -> Kind:
    kind: Kind = msgspec.convert(word, Kind)
    return kind


# What a word of a kind may look like, where that decides what the program does with it.
SHAPES: dict[Kind, re.Pattern[str]] = {
    "choice": lazy_pattern(r"[\w.,:=%+-]*"),
    "number": lazy_pattern(r"[+-]?[\d.,]+[A-Za-z]{0,3}"),
    # A bare word would set the clock.
    "format": lazy_pattern(r"\+.*", re.DOTALL),
    # What git writes for a commit or a ref; to tell of a signature (`%G?`) it would start gpg.
    "pretty": lazy_pattern(
        r"([^%]|%[-+ ]?([acg][A-Za-z]|[HhTtPpDdeNsfbBnSm%]|x[0-9a-fA-F]{2}|C(\([^)]*\)|[a-z]+)"
        r"|[<>|]+\([^)]*\)|w\([^)]*\)|\((?!\*?signature)[^()]*\)))*",
        re.DOTALL,
    ),
    # Addresses of lines and `p`: sed's other commands write files and run programs.
    "range": lazy_pattern(r"(\d+|\$)(,(\+?\d+|\$))?p"),
    # jq reads further files only by these two words.
    "filter": lazy_pattern(r"(?!.*\b(import|include)\b).*", re.DOTALL),
    # A leading colon is a pattern of paths with a language of its own.
    "ref": lazy_pattern(r"[^:].*|"),
}
