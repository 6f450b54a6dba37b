"""Bring a message into the one form the table of replies is written in."""

from __future__ import annotations

import re
import string
import unicodedata

import msgspec

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
