"""Read the table of replies (`data/reply.txt`): every message that is an answer, and what it decides."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

FILE = Path(__file__).parents[1] / "data" / "reply.txt"
Language: TypeAlias = Literal["en", "zh"]
PIECE = re.compile(r"(<[a-z]+>)|\{([^}]+)\}|(\[,\])")
# How the documentation writes a slot.
SHOWN = {
    "<numbers>": "*1 and 3*",
    "<others>": "*2*",
    "<name>": "*git status*",
    "<second>": "*git push*",
    "<length>": "*10 minutes*",
    "<until>": "*until tomorrow*",
}
SHOWN_ZH = SHOWN | {"<numbers>": "*1 和 3*", "<length>": "*10 分钟*", "<until>": "*今天之内*"}

REPLY_LIMIT = 300
# Characters that carry no meaning of their own: one width, one script, one kind of quote.
WIDTH = {0xFF01 + offset: 0x21 + offset for offset in range(94)}
SIMPLIFIED = str.maketrans(
    "絕執許準個這話會對鐘時內總終還運過後無別沒從點謝請號駁條餘統為開動麼與願贊認確權驗決們當該僅讓兩項遠應間",
    "绝执许准个这话会对钟时内总终还运过后无别没从点谢请号驳条余统为开动么与愿赞认确权验决们当该仅让两项远应间",
)
MARKS = str.maketrans("’‘“”「」『』。、—–\u3000\u00a0\t", '\'\'"""""".,--   ')
# How an emoji looks, not what it says: variation selectors and skin tones.
LOOKS = frozenset({0xFE0E, 0xFE0F, *range(0x1F3FB, 0x1F400)})
# Only plain letters: the kelvin sign and its like also have a small form that looks right.
SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# Spaces that part nothing: at an edge, doubled, or beside a Chinese character or a comma. Compiled when
# first needed: a class of so many characters takes milliseconds.
IDLE = r"^ +| +$| +(?=[ \u3400-\u9fff,;:])|(?<=[\u3400-\u9fff,;:]) +"
# One full stop, or a few exclamation marks or tildes; several full stops are a hesitation.
END = re.compile(r"(?:(?<!\.)\.|!{1,3}|~{1,2})$")


class Meaning(msgspec.Struct, frozen=True):
    """One meaning: its words for people, what it decides, and the messages that have it."""

    title: str
    effect: tuple[str, ...]
    messages: dict[Language, tuple[str, ...]]


class Table(msgspec.Struct, frozen=True):
    """The whole file."""

    words: dict[str, tuple[str, ...]]
    until: dict[str, tuple[str, ...]]
    # What may be named without quotes: programs with their verbs.
    names: dict[str, tuple[str, ...]]
    speech: frozenset[str]
    meanings: tuple[Meaning, ...]


# A row as the parser matches it: slots in angle brackets, and the texts of which one must stand between.
Row: TypeAlias = tuple[str | tuple[str, ...], ...]


@cache
def read_table() -> Table:
    """Return the table as it stands in the file."""
    lists: dict[str, dict[str, tuple[str, ...]]] = {"words": {}, "until": {}, "names": {}, "speech": {}}
    meanings: list[Meaning] = []
    section: dict[str, tuple[str, ...]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = lists[line.strip("[]")]
        elif line.startswith("== "):
            meanings.append(Meaning(line[3:], (), {"en": (), "zh": ()}))
        elif not meanings:
            key, _, words = line.partition(": ")
            section[key] = _split(words)
        elif line[0] in "+-":
            meanings[-1] = msgspec.structs.replace(meanings[-1], effect=tuple(line.split()))
        else:
            language: Language = "zh" if line.startswith("zh: ") else "en"
            meanings[-1].messages[language] += _split(line[4:])
    return Table(
        words=lists["words"],
        until=lists["until"],
        names=lists["names"],
        speech=frozenset(lists["speech"]["en"]),
        meanings=tuple(meanings),
    )


def _split(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(" | "))


@cache
def fixed_rows() -> dict[str, Meaning]:
    """Return the messages without slots, folded."""
    return {
        flatten(text): meaning
        for meaning, message in _messages()
        if "<" not in message
        for text in expand(message)
    }


@cache
def slot_rows() -> tuple[tuple[Row, Meaning], ...]:
    """Return the messages with slots."""
    return tuple((_cut(message), meaning) for meaning, message in _messages() if "<" in message)


def _messages() -> list[tuple[Meaning, str]]:
    return [
        (meaning, message)
        for meaning in read_table().meanings
        for messages in meaning.messages.values()
        for message in messages
    ]


def expand(message: str) -> list[str]:
    """Return every text a message of the file stands for; slots stay as they are."""
    words = read_table().words
    choices: list[tuple[str, ...]] = []
    place = 0
    for found in PIECE.finditer(message):
        choices.append((message[place : found.start()],))
        choices.append(words[found[2]] if found[2] else ((found[1],) if found[1] else (",", "")))
        place = found.end()
    choices.append((message[place:],))
    return list(dict.fromkeys("".join(chosen) for chosen in product(*choices)))


def _cut(message: str) -> Row:
    """Return a message cut at its slots, with the folded texts that may stand between them."""
    pieces = re.split(r"(<[a-z]+>)", message)
    row: list[str | tuple[str, ...]] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            row.append(piece)
        elif piece:
            # A letter stands in for the slot beside it, so that spaces there are folded as in a message.
            before, after = "x" * (place > 0), "x" * (place < len(pieces) - 1)
            folded = (flatten(f"{before}{text}{after}") for text in expand(piece))
            row.append(tuple(text[len(before) : len(text) - len(after)] for text in folded))
    return tuple(row)


def make_table() -> str:
    """Return the table for the documentation."""
    rows = [
        f"| {meaning.title} | {_show(meaning, 'en')} | {_show(meaning, 'zh')} |"
        for meaning in read_table().meanings
    ]
    head = "| meaning | English | 中文 |\n|---|---|---|\n"
    return head + "\n".join(rows) + "\n\n" + _show_words()


def _show(meaning: Meaning, language: Language) -> str:
    slots, mark = (SHOWN, "; ") if language == "en" else (SHOWN_ZH, "；")

    def show(piece: re.Match[str]) -> str:
        return slots[piece[1]] if piece[1] else f"**{piece[2]}**" if piece[2] else ","

    shown = mark.join(PIECE.sub(show, message) for message in meaning.messages[language])
    return shown if language == "en" else shown.replace(",", "，")


def _show_words() -> str:
    table = read_table()
    same = "\n".join(f"- {key}: {', '.join(words[1:])}" for key, words in table.words.items())
    until = ", ".join(words for listed in table.until.values() for words in listed)
    return (
        f"For a word in bold these may stand as well:\n\n{same}\n\n"
        f"Points in time: {until}; a time of day (until 18:00, 到 18:00, 到 18 点).\n"
    )


class Line(msgspec.Struct, frozen=True):
    """A message twice: as written, and folded as the table is; `places` leads from this to that."""

    written: str
    plain: str
    places: tuple[int, ...]

    def cut(self, start: int, end: int) -> str:
        """Return what was written between two places of the folded text."""
        return self.written[self.places[start] : self.places[end - 1] + 1] if start < end else ""

    def part(self, start: int, end: int) -> Line:
        """Return a piece as a line of its own."""
        return fold(self.cut(start, end))


def read_line(text: str) -> Line | None:
    """Return the line of a message, or None for one that is too long or holds hidden characters."""
    if len(text) > REPLY_LIMIT or any(_is_hidden(character) for character in text):
        return None
    line = fold(text.strip())
    return line if line.plain else None


def fold(text: str) -> Line:
    """Return a text with its folded form: one width, small letters, simplified script, no idle spaces."""
    written = text.translate(WIDTH).translate(MARKS)
    folded = written.translate(SIMPLIFIED).translate(SMALL)
    idle = {place for found in re.finditer(IDLE, folded) for place in range(found.start(), found.end())}
    places = [place for place, each in enumerate(folded) if place not in idle and ord(each) not in LOOKS]
    return Line(written, "".join(folded[place] for place in places), tuple(places))


def flatten(text: str) -> str:
    """Return the folded form of a text that is written as the table is."""
    return re.sub(IDLE, "", text)


def trim(line: Line) -> Line:
    """Return a line without the mark it ends with."""
    end = END.search(line.plain)
    return line.part(0, end.start()) if end and end.start() else line


def _is_hidden(character: str) -> bool:
    if character in "\n\t\r" or ord(character) in LOOKS:
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
