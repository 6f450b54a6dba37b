"""Bring a reply into the one form the grammar reads."""

from __future__ import annotations

import re
import unicodedata

import msgspec

REPLY_LIMIT = 300
SIMPLIFIED = str.maketrans(
    "絕執許準個這話會對鐘時內總終還運過後無別沒從點謝請號駁條餘統買為開動麼與願贊認確權驗決禁們麼",
    "绝执许准个这话会对钟时内总终还运过后无别没从点谢请号驳条余统买为开动么与愿赞认确权验决禁们么",
)
QUOTES = str.maketrans("’‘“”「」『』。、—–", '\'\'"""""".,--')
QUESTION = re.compile(
    r"[?]|(?:吗|么|嘛|呢)[\s!.~]*$|^(?:为什么|为何|怎么|什么|why|what|how|which|who|where)", re.IGNORECASE
)
EDGE = " \t\r\n,.;:!~-"


class Line(msgspec.Struct, frozen=True):
    """Hold a text twice, letter by letter alike: as written, and as the lexicon matches it."""

    written: str
    plain: str
    # What waits to be answered, as people may call it.
    names: tuple[str, ...]

    def cut(self, start: int, end: int | None = None) -> Line:
        """Give a piece without breaks at its edges."""
        stop = len(self.plain) if end is None else end
        while start < stop and self.plain[start] in EDGE:
            start += 1
        while stop > start and self.plain[stop - 1] in EDGE:
            stop -= 1
        return Line(self.written[start:stop], self.plain[start:stop], self.names)


def normalise(text: str, names: tuple[str, ...]) -> Line | None:
    """Give the line of a reply, or None for a question, a long message, or one with hidden characters."""
    written = unicodedata.normalize("NFKC", text).translate(QUOTES)
    # Skin tones and variation selectors change how a thumb looks, not what it says.
    written = "".join(
        each for each in written if each not in "\ufe0f\ufe0e" and not 0x1F3FB <= ord(each) <= 0x1F3FF
    )
    plain = written.translate(SIMPLIFIED)
    if not plain.strip() or len(plain) > REPLY_LIMIT or QUESTION.search(plain.strip()):
        return None
    if any(unicodedata.category(each) in ("Cf", "Co", "Cs") for each in plain):
        return None
    return Line(written, plain, names).cut(0)
