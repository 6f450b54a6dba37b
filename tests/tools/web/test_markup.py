"""Pages become Markdown without any library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.web.markup import read_markup

URL = "https://example.org/a/b"
TAGS = (
    "p",
    "div",
    "a",
    "ul",
    "ol",
    "li",
    "pre",
    "code",
    "blockquote",
    "table",
    "tr",
    "td",
    "nav",
    "main",
    "script",
    "h2",
)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        (
            "<h1>Big &amp; new</h1><p>Hello <b>bold</b> and <i>thin</i></p>",
            "# Big & new\n\nHello **bold** and *thin*",
        ),
        ('<p>A <a href="/x?y=1">link</a>.</p>', "A [link](https://example.org/x?y=1)."),
        ('<a href="javascript:alert(1)">press</a>', "press"),
        ("<ul><li>one</li><li>two<ul><li>in</li></ul></li></ul>", "- one\n- two\n  - in"),
        ("<ol><li>first<li>second</ol>", "1. first\n2. second"),
        ("<pre><code>def f():\n    return 1\n</code></pre>", "```\ndef f():\n    return 1\n```"),
        ("<blockquote><p>said</p></blockquote>after", "> said\n\nafter"),
        ("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>", "| A | B |\n| 1 | 2 |"),
        ("<nav>menu</nav><style>x</style><script>y</script><p>words</p><footer>foot</footer>", "words"),
        ("<p>out</p><main><p>in</p></main><p>out</p>", "in"),
        ("one<br>two<hr>three", "one\ntwo\n\n---\n\nthree"),
        ("<nav>never closed <p>still menu", ""),
        ("</ul></a></pre></blockquote>plain", "plain"),
    ],
)
def test_what_a_page_says_is_kept(html: str, markdown: str) -> None:
    assert read_markup(html, URL) == markdown


@given(
    st.lists(
        st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS] + ["word ", "\n", "<"])
    )
)
def test_no_page_is_too_broken(pieces: list[str]) -> None:
    assert isinstance(read_markup("".join(pieces), URL), str)


@given(st.text(st.characters(exclude_characters="<>&\r", exclude_categories=("C", "Z")), min_size=1))
def test_plain_words_come_through(words: str) -> None:
    assert read_markup(f"<p>{words}</p>", URL) == words
