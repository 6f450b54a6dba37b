"""Decode pages: by the names the web has for encodings of text, and by no other codec Python knows."""

from __future__ import annotations

import codecs
import re

META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings by their Python names. `codecs` also knows some that unpack or evaluate what they are given.
ENCODINGS = frozenset(
    {
        "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
        "gbk", "gb2312", "gb18030", "hz", "big5", "big5hkscs", "cp950",
        "shift_jis", "cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949", "johab",
        "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866", "cp874", "tis-620",
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in range(1, 17)),
    }
)  # fmt: skip
# What the web means by these is wider than what the names say.
WIDER = {"gbk": "gb18030", "gb2312": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252", "euc_kr": "cp949"}


def decode(body: bytes, charset: str | None) -> str:
    """Decode by what the page's first bytes say, else the server, else the page itself, else as UTF-8."""
    for mark, name in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    said = META_CHARSET.search(body[:4096])
    for name in (charset, said[1].decode("ascii") if said else None):
        if name and (encoding := find_encoding(name)):
            return body.decode(encoding, "replace")
    return body.decode("utf-8", "replace")


def find_encoding(name: str) -> str | None:
    """Return the encoding a page means by a name; None when it is none of text."""
    # Looking a name up imports a module named after it, so nothing odd is looked up.
    if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,40}", name):
        return None
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError, UnicodeError):
        return None
    return WIDER.get(found, found) if found in ENCODINGS else None
