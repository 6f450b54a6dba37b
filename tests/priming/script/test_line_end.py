from __future__ import annotations

import pytest

from shipmate.priming.lint.fix import fix_script
from shipmate.priming.script.line_end import cut_lines, restore_ends
from tests.support.rehearsed import answered, said


def test_only_a_newline_ends_a_line() -> None:
    assert cut_lines("a\u2028b\x85\n\nc\x0c\r\nd") == ["a\u2028b\x85\n", "\n", "c\x0c\r\n", "d"]


@pytest.mark.parametrize(
    ("original", "plain", "restored"),
    [
        ("a\nb\n", "a\nc\n", "a\nc\n"),
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("\ufeffa\r\nb", "a\nc", "\ufeffa\r\nc"),
        ("a\r\nb\nc\r\n", "a\nx\nb\nc\n", "a\r\nx\r\nb\nc\r\n"),
    ],
)
def test_lines_that_stayed_keep_their_ends(original: str, plain: str, restored: str) -> None:
    assert restore_ends(original, plain) == restored


def test_a_mended_script_of_both_line_ends_keeps_them() -> None:
    text = (said("hello") + answered("hi")).replace("genseq", "gensec", 1).replace("\n", "\r\n", 4)
    assert fix_script(text) == text.replace("gensec", "genseq")
