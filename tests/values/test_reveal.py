"""Nothing hides: every class of hidden character is looked for in the whole of Unicode (C16)."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.values.reveal import MARKS, reveal, reveal_line, reveal_prose

HIDDEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs", "Me")
# Default_Ignorable_Code_Point of Unicode 16 outside the categories above, and what is drawn as a blank.
IGNORABLE = [
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0, 0xFFFC),
    *range(0xFE00, 0xFE10),
    *range(0xE0000, 0xE1000),
]


def kept(characters: list[str]) -> list[str]:
    shown = set(reveal("a".join(characters)))
    return [hex(ord(character)) for character in characters if character in shown]


def of_category(*wanted: str) -> list[str]:
    return [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in wanted]


def test_c16_no_character_of_a_hidden_class_passes_in_all_of_unicode() -> None:
    assert kept(of_category(*HIDDEN)) == ["0x9", "0xa", "0x20"]
    assert kept([chr(code) for code in IGNORABLE]) == []


def test_c16_letters_digits_and_signs_of_every_script_stay_as_they_are() -> None:
    plain = of_category("Ll", "Lu", "Nd", "Nl", "No", "Sm", "Sc", "Po", "Pd", "Ps", "Pe")
    assert kept(plain) == [hex(ord(character)) for character in plain]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls\x1b[2K\u202e gpj\u200b\n", "ls\\u{1b}[2K\\u{202e} gpj\\u{200b}\n"),
        ("sh\u00ady\ufeff", "sh\\u{ad}y\\u{feff}"),
        ("a\rb\r\n", "a\\u{d}b\\u{d}\n"),
        ("rm\u3000-rf\u00a0x", "rm\\u{3000}-rf\\u{a0}x"),
        ("\U000e0072\U000e006d", "\\u{e0072}\\u{e006d}"),
        ("❤\ufe0f", "❤\\u{fe0f}"),
        ("\ud800", "\\u{d800}"),
        ("r\u0336m\u20dd", "r\\u{336}m\\u{20dd}"),
        ("中文，日本語 ñ é 한국어 हिन्दी 👍", "中文，日本語 ñ é 한국어 हिन्दी 👍"),
    ],
)
def test_c16_what_hides_is_written_by_its_number(text: str, shown: str) -> None:
    assert reveal(text) == shown


def test_c16_marks_do_not_pile_up_on_one_letter() -> None:
    for mark in of_category("Mn", "Mc", "Me"):
        longest = run = 0
        for character in reveal(f"a{mark * 9}b"):
            run = run + 1 if character == mark else 0
            longest = max(longest, run)
        assert longest <= MARKS, hex(ord(mark))


def test_c16_nothing_is_pushed_out_of_sight_by_blanks() -> None:
    assert reveal(f"ls{' ' * 5000}; rm x") == "ls [… 5,000 spaces …] ; rm x"
    assert reveal("ls\n" + "\n" * 400 + "rm x") == "ls\n[… 400 empty lines …]\nrm x"
    assert reveal(f"{' ' * 80}deep") == f"{' ' * 80}deep"


@given(st.text())
def test_revealing_twice_changes_nothing_more(text: str) -> None:
    once = reveal(text)
    assert reveal(once) == once
    assert once.encode().decode() == once


@given(st.text(), st.integers(1, 50))
def test_a_line_is_one_line_of_bounded_length(text: str, limit: int) -> None:
    line = reveal_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit + 1


@pytest.mark.parametrize(
    "text",
    ["x" * 2_000_000, "\u200b" * 1_000_000, "a\u0301" * 1_000_000, "\u0301" * 1_000_000, " \n" * 1_000_000],
)
def test_hostile_text_is_revealed_in_linear_time(text: str) -> None:
    started = time.process_time()
    reveal(text)
    assert time.process_time() - started < 5


def test_u13_prose_keeps_emoji_and_chinese_and_cannot_steer_a_terminal() -> None:
    kept = "👨‍👩‍👧 ❤️ 全角　空格 e\u0301\nnext"
    assert reveal_prose(kept) == kept
    assert reveal_prose("a\r\nb") == "a\nb"
    assert reveal_prose("\x1b[2J\rx\u202e\u2066\x9b") == r"\u{1b}[2J\u{d}x\u{202e}\u{2066}\u{9b}"
