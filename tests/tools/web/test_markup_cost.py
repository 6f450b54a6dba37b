"""C5: no page takes more than linear time or more than a little memory, whatever it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.tools.web.lexer import TAG_LIMIT, PageCut, scan
from shipmate.tools.web.markup import CUT, OUTPUT_LIMIT, read_markup
from tests.support.cost import assert_linear, measure

READ = "shipmate.tools.web.markup:read_markup"
URL = "https://example.org/" + "a/" * 500
# What a hostile page repeats; each was quadratic in some reader.
SHAPES = {
    "lists": "<ul><li>",
    "numbered lists": "<ol><li>1",
    "quotations": "<blockquote>a",
    "tables": "<table><tr><td>",
    "definitions": "<dl><dt>a<dd>",
    "blocks": "<div>",
    "marks": "<b><i>",
    "headings": "<h1>",
    "code": "<pre><code>",
    "links never closed": "<a href=x>y",
    "links": "<a href=x>y</a>",
    "silent inside silent": "<nav></footer>",
    "silent never closed": "<svg><g>",
    "frames": "<main>a</main>",
    "tags never closed": "<a <a ",
    "attributes": "<p a=1 b=2 c='3'>",
    "attributes never closed": '<p a="',
    "one quotation mark": "<p a='>x",
    "attributes of one tag": " a=b",
    "equals signs": "<p =====>",
    "comments": "<!--",
    "comments closed oddly": "<!--->",
    "sections": "<![CDATA[",
    "declarations": "<!x",
    "instructions": "<?",
    "scripts": "<script>",
    "scripts closed wrongly": "<script></scriptx>",
    "titles": "<title>",
    "ends": "</",
    "empty ends": "</>",
    "brackets": "<",
    "references": "&",
    "unknown references": "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "numbers": "&#9999",
    "huge numbers": "&#" + "9" * 5000,
    "spaces": " \n\t",
    "words": "word ",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_c5_a_hostile_page_takes_linear_time_and_little_memory(shape: str) -> None:
    expression = f"(({shape!r}) * (SIZE // {len(shape)} + 1))[:SIZE]"
    cost = assert_linear(READ, expression, 1_000_000, repr(URL))
    assert cost.error == ""
    assert cost.seconds < 4
    assert cost.megabytes < 100
    assert cost.size <= OUTPUT_LIMIT + len(CUT)


@pytest.mark.parametrize("shape", ["<ul><li>", "<blockquote>", "<a href=x>", "<!--", "&", "<p a='"])
def test_c5_ten_megabytes_of_it_are_no_worse(shape: str) -> None:
    cost = measure(READ, f"{shape!r} * (10_000_000 // {len(shape)})", repr(URL))
    assert cost.error == ""
    assert cost.seconds < 10
    assert cost.megabytes < 150


def test_a_page_with_too_many_tags_is_cut_and_says_so() -> None:
    tokens = list(scan("<p>" * (TAG_LIMIT + 5)))
    assert isinstance(tokens[-1], PageCut)
    assert len(tokens) == TAG_LIMIT + 1
    assert read_markup("<p>word" * (TAG_LIMIT + 5), URL).endswith(CUT.strip())


def test_nesting_is_drawn_to_a_depth_and_kept_beyond_it() -> None:
    text = read_markup("<ul><li>" * 50 + "deep", URL)
    assert text.splitlines()[-1].endswith("- deep")
    assert len(text.splitlines()[-1]) < 40
    text = read_markup("<blockquote>" * 50 + "deep", URL)
    assert text.splitlines()[-1].count(">") < 20


def test_a_long_address_is_not_multiplied_by_many_links() -> None:
    html = "<a href=x>y</a> " * 50_000
    assert len(read_markup(html, "https://example.org/" + "a" * 5_000 + "/")) <= OUTPUT_LIMIT + len(CUT)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("before<!-- never closed <p>hidden", "before"),
        ("before<p title='never closed>kept", "before\n\nkept"),
        ("before<p title=never-closed hidden", "before"),
        ("before<script>never closed <p>hidden", "before"),
        ("a<!-->b<!--->c<!-- x -->d", "abcd"),
        ("a < b and c <3 d", "a < b and c <3 d"),
        ("<p don't>kept</p>", "kept"),
        ("<a title=\"it's > that\" href='/x'>y</a>", "[y](https://example.org/x)"),
        ("<a href=/x>one<a href=/y>two</a>", "[one](https://example.org/x)[two](https://example.org/y)"),
        ("<main><!-- nothing --></main><p>words</p>", "words"),
        ("&#99999999999999999999; &lt;b&gt;", "\ufffd <b>"),
        ("<TEXTAREA><b>as it stands</b></TextArea >x", "<b>as it stands</b>x"),
        ('<a href="http://[">y</a>', "[y](http://[)"),
    ],
)
def test_markup_is_read_as_browsers_read_it(html: str, text: str) -> None:
    assert read_markup(html, "https://example.org/") == text


SOUP = st.lists(
    st.sampled_from(
        [*SHAPES.values(), "</ul>", "</a>", "</pre>", "</nav>", "</main>", ">", "-->", '"', "'", "x"]
    )
    | st.text(max_size=20),
    max_size=200,
)


@settings(deadline=None)
@given(SOUP)
def test_any_soup_of_tags_is_read_once_through(pieces: list[str]) -> None:
    """Each token takes up some of the page, so there are no more tokens than characters."""
    html = "".join(pieces)
    assert sum(1 for _ in scan(html)) <= 2 * len(html) + 1
    # Every character gives a few at most: its own, those of a list's indent, a link's address.
    assert len(read_markup(html, "https://example.org/")) <= 60 * len(html) + 100
