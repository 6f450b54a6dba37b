"""Read a plain command by its program's grammar: which paths it reads, which it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from shipmate.tools.exec.program.grammar import (
    ALWAYS,
    SHAPES,
    Grammar,
    Kind,
    Option,
    Slot,
    find_grammar,
    has_verbs,
)
from shipmate.values.reason import Why

DIGITS = re.compile(r"-\d+")
WILD = re.compile(r"[*?\[]")


class PathOperand(msgspec.Struct, frozen=True, kw_only=True):
    """A path a command reads or writes."""

    text: str
    reads: bool = False
    writes: bool = False
    # All that lies below it is read too.
    below: bool = False
    # … and links found there are followed.
    follows: bool = False


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is understood whole: it runs no other program and touches only these paths."""

    grammar: str
    paths: tuple[PathOperand, ...] = ()
    # What is written and where it goes: the last path may be the folder that takes the others.
    sources: tuple[str, ...] = ()
    writes_repository: bool = False

    @property
    def only_reads(self) -> bool:
        """Return whether it changes nothing."""
        return not self.writes_repository and not any(path.writes for path in self.paths)


def read_invocation(name: str, words: Sequence[str]) -> Invocation | Why:
    """Return what a program does with its words, or what of them is not known."""
    return _read_known(name, tuple(words))


# Every rule about commands asks for it. What it returns cannot be changed.
@lru_cache(maxsize=64)
def _read_known(name: str, words: tuple[str, ...]) -> Invocation | Why:
    grammar, rest = _find(name, words)
    if grammar is None:
        return Why("no-grammar", name)
    if grammar.literal:
        return Invocation(grammar=grammar.name)
    reader = _Reader(grammar)
    unknown = reader.read(rest)
    return Why("option", f"{grammar.name} {unknown}".strip()) if unknown is not None else reader.result()


def _find(name: str, words: Sequence[str]) -> tuple[Grammar | None, Sequence[str]]:
    """Return the grammar for these words; `git stash list` has one of its own, like `git log`."""
    grammar, rest = find_grammar(name), words
    if not has_verbs(name):
        return grammar, rest
    # Options of the program itself, before its verb.
    while grammar is not None and rest and rest[0] in grammar.options and len(rest) > 1:
        rest = rest[1:]
    for count in (2, 1):
        verb = find_grammar(" ".join((name, *rest[:count]))) if len(rest) >= count else None
        if verb is not None:
            return verb, rest[count:]
    return grammar, rest


class _Reader:
    """Goes through the words of one command."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.given: set[str] = set()
        self.values: list[tuple[Kind, str]] = []
        self.operands: list[str] = []
        # A path among the operands; one that an option takes is not where the program looks.
        self._has_place = False

    def read(self, words: Sequence[str]) -> str | None:
        """Take all words; return the first that is not known."""
        if self.grammar.refuses and (
            word := next((w for w in words if w.startswith(self.grammar.refuses)), None)
        ):
            return word
        rest = iter(words)
        for word in rest:
            if word == "--" and not self.grammar.words:
                self.operands.extend(rest)
            elif not self._take(word, rest):
                return word
        if self.grammar.needs and not self.grammar.needs & self.given:
            return ""
        slots = self.grammar.slots(frozenset(self.given))
        return self._place(slots)

    def _take(self, word: str, rest: Iterator[str]) -> bool:
        if self.grammar.first and self.operands and word.startswith("-"):
            # The program takes it for a file.
            return False
        if self.grammar.words:
            return self._take_whole(word, rest)
        if word.startswith("--"):
            return self._take_long(word, rest)
        if word.startswith("-") and word != "-":
            return self._take_short(word, rest)
        self.operands.append(word)
        return True

    def _take_whole(self, word: str, rest: Iterator[str]) -> bool:
        option = self.grammar.options.get(word)
        if option is not None:
            return self._take_values(word, option, None, rest)
        self.operands.append(word)
        return not word.startswith("-")

    def _take_long(self, word: str, rest: Iterator[str]) -> bool:
        name, equals, value = word.partition("=")
        option = self.grammar.options.get(name)
        if option is None or (equals and not option.values):
            return False
        return self._take_values(name, option, value if equals else None, rest)

    def _take_short(self, word: str, rest: Iterator[str]) -> bool:
        if self.grammar.digits and DIGITS.fullmatch(word):
            return True
        for at, letter in enumerate(word[1:], start=1):
            option = self.grammar.options.get(f"-{letter}")
            if option is None:
                return False
            if option.values:
                if self.grammar.apart and len(word) > 2:
                    return False
                # Some programs take `-f=x` for `-f x`, others for a file named `=x`.
                if word[at + 1 :].startswith("="):
                    return False
                return self._take_values(f"-{letter}", option, word[at + 1 :] or None, rest)
            self.given.add(f"-{letter}")
        return True

    def _take_values(self, name: str, option: Option, joined: str | None, rest: Iterator[str]) -> bool:
        self.given.add(name)
        values = [] if joined is None else [joined]
        if not option.is_optional:
            values += [word for _, word in zip(option.values[len(values) :], rest, strict=False)]
            if len(values) != len(option.values):
                return False
        found = list(zip(option.values, values, strict=False))
        self.values += found
        return all(_fits(kind, value) for kind, value in found)

    def _place(self, slots: Sequence[Slot]) -> str | None:
        """Say what each operand is; return the first that has no place or not the look of its kind."""
        ahead = [slot for slot in slots if slot.times == "one"]
        spare = len(self.operands) - len(ahead)
        left = iter(self.operands)
        for slot in slots:
            count = {"one": 1, "maybe": min(max(spare, 0), 1), "many": max(spare, 0)}[slot.times]
            spare -= 0 if slot.times == "one" else count
            for _ in range(count):
                word = next(left, None)
                if word is None:
                    return ""
                if not _fits(slot.kind, word):
                    return word
                self.values.append((slot.kind, word))
                self._has_place |= slot.kind == "reads" and word != "-"
        return next(left, None)

    def result(self) -> Invocation:
        """Return what was read."""
        paths = [path for kind, text in self.values for path in self._paths(kind, text)]
        if self.grammar.default is not None and not self._has_place:
            paths += self._paths("reads", self.grammar.default)
        if self._holds(self.grammar.whole):
            paths.append(PathOperand(text=".", reads=True, below=True))
        sources = [path.text for path in paths if path.reads] if self.grammar.name in ("cp", "mv") else []
        return Invocation(
            grammar=self.grammar.name,
            paths=tuple(paths),
            sources=tuple(sources),
            writes_repository=self.grammar.repository,
        )

    def _holds(self, options: frozenset[str]) -> bool:
        return ALWAYS in options or bool(options & self.given)

    def _paths(self, kind: Kind, text: str) -> list[PathOperand]:
        follows = self._holds(self.grammar.follows)
        below = follows or self._holds(self.grammar.below)
        match kind:
            case "reads" if text != "-":
                return [PathOperand(text=text, reads=True, below=below, follows=follows)]
            case "writes":
                return [PathOperand(text=text, writes=True)]
            case "moves":
                return [PathOperand(text=text, reads=True, writes=True, below=True)]
            case "ref" if text:
                return [PathOperand(text=way, reads=True, below=True) for way in _ways(text)]
            case _:
                return []


def _ways(ref: str) -> list[str]:
    """Return the paths a commit or path of git may mean: itself, and what stands behind a colon."""
    commit, colon, path = ref.partition(":")
    ways = [commit, path or "."] if colon else [ref]
    # Of a pattern of paths, the folder it begins in.
    return [WILD.split(way)[0].rpartition("/")[0] or "." if WILD.search(way) else way for way in ways]


def _fits(kind: Kind, word: str) -> bool:
    shape = SHAPES.get(kind)
    return shape is None or shape.fullmatch(word) is not None
