from __future__ import annotations

import pytest

from shipmate.models.wire.http.proxy import find_proxy

HTTPS = {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("url", "environ", "wanted"),
    [
        ("https://model.example", HTTPS, "http://proxy:3128"),
        ("http://model.example", HTTPS, None),
        ("http://model.example", {"HTTP_PROXY": "proxy:3128"}, "http://proxy:3128"),
        ("https://model.example", {"ALL_PROXY": "socks5://proxy"}, "socks5://proxy"),
        ("https://model.example", {"https_proxy": "http://low", **HTTPS}, "http://low"),
        ("https://model.example", {"https_proxy": "", **HTTPS}, None),
        ("http://model.example", {"HTTP_PROXY": "http://evil", "REQUEST_METHOD": "GET"}, None),
        ("https://localhost:8000", HTTPS, None),
        ("https://a.localhost", HTTPS, None),
        ("https://127.8.9.1", HTTPS, None),
        ("https://[::1]:8000", HTTPS, None),
    ],
)
def test_finds_the_proxy_of_an_address(url: str, environ: dict[str, str], wanted: str | None) -> None:
    assert find_proxy(url, environ) == wanted


@pytest.mark.parametrize(
    ("rules", "url", "direct"),
    [
        ("*", "https://model.example", True),
        ("example", "https://model.example", True),
        (".example", "https://model.example", True),
        ("*.example", "https://model.example", True),
        ("model.example", "https://model.example", True),
        ("odel.example", "https://model.example", False),
        ("other, model.example ,", "https://model.example", True),
        ("model.example:443", "https://model.example", True),
        ("model.example:8080", "https://model.example", False),
        ("10.0.0.0/8", "https://10.1.2.3", True),
        ("10.0.0.0/8", "https://11.1.2.3", False),
        ("10.0.0.0/8", "https://model.example", False),
        ("fd00::/8", "https://[fd00::1]", True),
        ("[fd00::1]:443", "https://[fd00::1]", True),
        ("[fd00::1]:80", "https://[fd00::1]", False),
        ("MODEL.example.", "https://model.example.", True),
        ("", "https://model.example", False),
    ],
)
def test_no_proxy_names_what_is_reached_directly(rules: str, url: str, direct: bool) -> None:
    assert (find_proxy(url, {**HTTPS, "NO_PROXY": rules}) is None) == direct
