from __future__ import annotations

import pytest

from shipmate.tools.web.page import decode, find_encoding, html_to_markdown, to_markdown


def test_a_page_without_content_gives_its_title_alone() -> None:
    html = "<html><head><title>Just this</title></head><body></body></html>"
    assert html_to_markdown(html, "http://x/") == "# Just this\n\n"


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("你好".encode("gbk"), "gbk", "你好"),
        (b'<meta charset="gbk">' + "你好".encode("gbk"), None, '<meta charset="gbk">你好'),
        ("你好".encode(), None, "你好"),
        ("你好".encode(), "no-such-charset", "你好"),
        (b"\xff", None, "\ufffd"),
        (b"abc", "hex", "abc"),
    ],
)
def test_decoding(body: bytes, charset: str | None, text: str) -> None:
    assert decode(body, charset) == text


@pytest.mark.parametrize(
    ("kind", "body", "is_text"),
    [
        ("text/plain", b"x", True),
        ("application/json", b"{}", True),
        ("application/ld+json", b"{}", True),
        ("application/xml", b"<a/>", True),
        ("", b"plain", True),
        ("", b"\0\1", False),
        ("text/plain", b"\0", False),
        ("image/png", b"x", False),
        ("application/octet-stream", b"x", False),
    ],
)
def test_kinds_of_content(kind: str, body: bytes, is_text: bool) -> None:
    assert (to_markdown(body, kind, None, "http://x/") is not None) == is_text


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
