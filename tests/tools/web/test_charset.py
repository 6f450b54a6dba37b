from __future__ import annotations

import pytest

from shipmate.tools.web.charset import decode, find_encoding


@pytest.mark.parametrize(
    "name",
    [
        "zip", "zlib", "bz2", "hex", "base64", "uu", "quopri", "rot13", "rot_13", "idna", "punycode",
        "unicode_escape", "raw_unicode_escape", "utf_7", "utf-7", "undefined", "mbcs", "oem", "charmap",
        "../os", "os.path", "x" * 5000, "", "\0", "utf-32", "palmos",
    ],
)  # fmt: skip
def test_what_is_no_encoding_of_text_is_never_used(name: str) -> None:
    assert find_encoding(name) is None
    assert decode(b"+AGE- \\x41", name) == "+AGE- \\x41"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gb2312", "镕"), ("GBK", "你好"), ("gb18030", "𠀀"), ("big5", "繁體"), ("Shift_JIS", "日本"),
        ("euc-jp", "日本"),
        ("iso-2022-jp", "日本"), ("EUC-KR", "한국"), ("koi8-r", "мир"), ("windows-1251", "мир"),
        ("latin1", "é"),
        ("ISO-8859-15", "€"), ("utf8", "ok ✓"), ("utf-16le", "ok"), ("us-ascii", "ok"),
    ],
)  # fmt: skip
def test_the_encodings_of_the_web_are_read(name: str, text: str) -> None:
    encoding = find_encoding(name)
    assert encoding is not None
    assert decode(text.encode(encoding), name) == text


def test_the_first_bytes_count_more_than_what_is_said() -> None:
    assert decode(b"\xef\xbb\xbf" + "é".encode(), "latin1") == "é"
    assert decode(b"\xff\xfe" + "é".encode("utf-16-le"), None) == "é"
