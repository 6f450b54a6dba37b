"""Words keep their looks in mrkdwn, and can neither call anybody up nor become markup of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.adapters.mrkdwn import escape, list_mentions, read_mrkdwn, write_mrkdwn


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**bold** and *slanted*, ~~gone~~ `a<b`", "*bold* and _slanted_, ~gone~ `a&lt;b`"),
        ("# Head & tail", "*Head &amp; tail*"),
        ("[here](https://x.example/?a=1&b=2)", "<https://x.example/?a=1&amp;b=2|here>"),
        ("**[a > b](https://x.example)** 😀 **`c`**", "*<https://x.example|a &gt; b>* 😀 *`c`*"),
        ("a\n```py\nif x < 1:\n    pass\n```\nb", "a\n```\nif x &lt; 1:\n    pass\n```\nb"),
        ("<!everyone> <@U1> <https://evil|x>", "&lt;!everyone&gt; &lt;@U1&gt; &lt;https://evil|x&gt;"),
    ],
)
def test_looks_are_written_as_slack_reads_them(markdown: str, mrkdwn: str) -> None:
    assert write_mrkdwn(markdown) == mrkdwn


@given(st.text())
def test_whatever_a_member_writes_calls_nobody_up_and_escaping_is_undone_by_reading(text: str) -> None:
    written = write_mrkdwn(text)
    assert list_mentions(written) == []
    assert "<!" not in written
    assert read_mrkdwn(escape(text), {}) == text.strip()


def test_what_people_write_is_read_as_they_see_it() -> None:
    text = "<@UBOT> ask <@U1> &amp; <@U2|bo> in <#C1|harbour> or <#C2> <!here> <!subteam^S1|@crew> "
    links = (
        "<https://x.example|the page> <https://x.example> <mailto:a@x.example|a@x.example> 1 &lt; 2 &amp;lt;"
    )
    assert list_mentions(text) == ["UBOT", "U1", "U2"]
    assert read_mrkdwn(text + links, {"UBOT": "", "U1": "Ann"}) == (
        "ask @Ann & @bo in #harbour or #C2 @here @crew "
        "the page (https://x.example) https://x.example mailto:a@x.example 1 < 2 &lt;"
    )
