from __future__ import annotations

import pytest

from shipmate.tools.web.charset import decode
from shipmate.tools.web.page import html_to_markdown, to_markdown


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
