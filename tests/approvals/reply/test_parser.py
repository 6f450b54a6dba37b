"""Hold the grammar to its table: every row has its meaning, and nothing else is consent."""

from __future__ import annotations

import random
import re
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.approvals.reply.parser import parse
from shipmate.approvals.reply.table import fold
from tests.support.reply import NAMES, every_row, read_lines, write_reading

FOLDER = Path(__file__).parent
REPLIES = FOLDER / "replies.txt"
HOSTILE = FOLDER / "hostile.txt"


def read_table() -> list[tuple[str, str]]:
    """Give each reply with the reading its heading names."""
    rows: list[tuple[str, str]] = []
    expected = ""
    for line in read_lines(REPLIES):
        if line.startswith("== "):
            expected = line.removeprefix("== ")
        else:
            rows.append((line, expected))
    return rows


def approves(text: str) -> bool:
    reply = parse(text, NAMES)
    return reply is not None and reply.approves


@pytest.mark.parametrize(("text", "expected"), read_table())
def test_replies_are_read_as_the_table_says(text: str, expected: str) -> None:
    assert write_reading(parse(text, NAMES)) == expected


def test_the_replies_are_many_and_in_both_languages() -> None:
    replies = [text for text, _ in read_table()]
    chinese = [text for text in replies if re.search(r"[\u3400-\u9fff]", text)]
    assert len(set(replies)) == len(replies) > 500
    assert 200 < len(chinese) < len(replies) - 200


@cache
def rows() -> tuple[tuple[str, str], ...]:
    return tuple(every_row())


def test_every_row_of_the_table_has_its_meaning() -> None:
    wrong = [
        (text, expected, found)
        for text, expected in rows()
        if (found := write_reading(parse(text, NAMES))) != expected
    ]
    assert wrong == []
    assert len(rows()) > 5_000


@pytest.mark.parametrize("text", read_lines(HOSTILE))
def test_c3_what_only_looks_like_consent_is_none(text: str) -> None:
    assert not approves(text)


# What turns an answer into something else, wherever it stands.
WORDS = (
    *("not", "never", "no", "don't", "cannot", "if", "when", "once", "after", "before", "unless", "until"),
    *(
        "as long as",
        "provided",
        "because",
        "since",
        "but",
        "maybe",
        "perhaps",
        "why",
        "what",
        "who",
        "he said",
    ),
    *(
        "she says",
        "they",
        "later",
        "soon",
        "tomorrow",
        "almost",
        "hardly",
        "please",
        "and then",
        "or",
        "then",
    ),
    *("should I", "would you", "the", "my", "lunch", "rm -rf /", "CI is green", "dry run", "I guess", "?"),
    *("...", '"', "'", "`", ">", "/", "不", "没", "没有", "别", "未", "非", "如果", "要是", "只要", "除非"),
    *("等", "先", "再", "以后", "之后", "之前", "但是", "可是", "不过", "然后", "吗", "么", "呢", "吧", "嘛"),
    *("是", "请", "麻烦", "他说", "谁", "为什么", "也许", "好像", "差不多", "明天", "下次", "的话", "再说"),
    *("了吗", "是不是", "能不能", "“", "”", "「", "？", "…"),
)
JOINTS = (" ", ", ", "，", "", ". ", "。", "\n", "; ", " and ", " but ", "但", " / ", " - ")
LOOKALIKES = str.maketrans("aceiopxyksABCEHIKMOPTX", "асеіорхуkѕАВСЕНІКМОРТХ")
HIDDEN = ("\u200b", "\u200d", "\u00ad", "\u2060", "\u202e", "\ufeff", "\u0336")


def mutants(chance: random.Random, text: str, other: str) -> list[str]:
    """Make messages from a row that no longer are that row."""
    words = re.findall(r"[a-z0-9'`./#-]+|[\u3400-\u9fff]|\S", text, re.IGNORECASE)
    joint = " " if text.isascii() else ""
    place = chance.randrange(len(words) + 1)
    word = chance.choice(WORDS)
    inner = chance.randrange(len(text) + 1)
    return [
        f"{word} {text}",
        f"{text} {word}",
        f"{word}{text}",
        f"{text}{word}",
        f"{text}, {word}",
        f"{word}, {text}",
        joint.join([*words[:place], word, *words[place:]]),
        f"{text}{chance.choice(JOINTS)}{other}",
        f"{text}{chance.choice(JOINTS)}{chance.choice(WORDS)} {other}",
        f"{text}?",
        f"{text}吗",
        f'"{text}"',
        f"“{text}”",
        f"> {text}",
        f"he said {text}",
        f"{text} he said",
        f"{text} as long as {other}",
        f"如果{text}",
        text[:inner] + chance.choice(HIDDEN) + text[inner:],
        text.translate(LOOKALIKES),
        text[:inner] + chance.choice(WORDS) + text[inner:],
    ]


def key(text: str) -> str:
    """Give what two messages share that differ in nothing that counts."""
    plain = fold(text.strip()).plain
    plain = re.sub(r"[.!~]+$", "", plain)
    return re.sub(r"[ ,]", "", re.sub(r"[, ]?(?:thanks|thank you|谢谢)$", "", plain))


@cache
def row_keys() -> frozenset[str]:
    return frozenset(key(text) for text, _ in rows())


def test_no_generated_message_outside_the_table_is_consent() -> None:
    """C3 as a class: thousands of messages made from the table's rows, none of them a row."""
    chance = random.Random(6)
    inside = row_keys()
    sample = chance.sample(rows(), 600)
    texts = {
        mutant
        for text, _ in sample
        for mutant in mutants(chance, text, chance.choice(sample)[0])
        if key(mutant) not in inside
    }
    assert len(texts) > 8_000
    assert [text for text in sorted(texts) if approves(text)] == []


@given(st.text(max_size=400) | st.text(alphabet="同意可以好行是批准不没yesnokal 1,.，", max_size=12))
def test_any_text_is_read_without_error_and_only_rows_are_consent(text: str) -> None:
    if approves(text):
        # Rows with numbers have more fillings than the samples; without digits the samples are all there is.
        assert any(character.isdigit() for character in text) or key(text) in row_keys()


@pytest.mark.parametrize(
    "unit",
    [
        *("yes ", "1 ", "1,", ", ", "no, ", "同意", "不", "全部", "yes to ", "a ", "- ", "because ", "1-1 "),
        *("approve git status ", "no because ", "除了1", "'", "第一", "同意git status,", "the first and "),
    ],
)
def test_long_messages_are_read_in_little_time(unit: str) -> None:
    names = [*NAMES, "git status " * 3_000, "a" * 30_000]
    parse("yes", names)
    began = time.process_time()
    parse((unit * 300)[:300], names)
    parse((unit * 300)[:299] + "\x7f", names)
    parse(f"no, {unit * 300}"[:300], names)
    assert time.process_time() - began < 1


def test_a_long_message_is_ordinary() -> None:
    assert parse("no, " + "x" * 400, NAMES) is None
    assert parse("yes " * 100, NAMES) is None


def test_a_name_counts_only_while_it_waits() -> None:
    assert parse("allow git status for 10 minutes", ["ls"]) is None
    assert parse("allow git status for 10 minutes", ["git status"]) is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("approve no", "no"),
        ("approve not git push", "not git push"),
        ("approve as long as tests pass", "as long as tests pass"),
        ("approve later", "notes/later"),
        ("approve when CI is green", "when CI is green"),
        ("approve eventually", "docs/eventually"),
        ("同意如果测试通过", "x/如果测试通过"),
        ("同意再说", "再说"),
        ("yes to nothing", "nothing"),
        ("only if you must", "if you must"),
    ],
)
def test_a_call_cannot_be_named_so_that_it_swallows_words(text: str, name: str) -> None:
    assert parse(text, [name]) is None


def test_a_name_of_ordinary_words_counts_in_quotes() -> None:
    assert write_reading(parse("approve `make all`", ["make all"])) == "+`make all`"
    assert write_reading(parse("同意「文档/计划.md」", ["文档/计划.md"])) == "+`文档/计划.md`"
    assert parse("approve make all", ["make all"]) is None


def test_the_half_of_a_compound_command_does_not_name_it() -> None:
    for whole in (
        "git status && rm -rf x",
        "git status; id",
        "git status | sh",
        "git status\nrm x",
        "git status $(id)",
    ):
        assert parse("approve git status", [whole]) is None
    assert parse("approve git push", ["git push origin main"]) is not None


def test_the_width_the_script_and_the_case_make_no_difference() -> None:
    assert not approves("o\u212a")
    for text in (
        "ＹＥＳ",
        "Yes!",
        " yes ",
        "YES.",
        "同 意",
        "全部 同意",
        "允許",
        "批準",
        "1、3 可以",
        "同意　1",
    ):
        assert approves(text), text


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\u2066", "\ue000", "\x00", "\u2028"])
def test_c3_a_message_with_hidden_characters_is_no_answer(hidden: str) -> None:
    """Not even where the call itself is named so."""
    name = f"git{hidden}push"
    for text in (f'approve "{name}"', f"yes{hidden}", f"{hidden}yes", f"no, {hidden}not that"):
        assert parse(text, [name]) is None, ascii(text)


def test_c3_two_stops_are_not_taken_for_the_end_of_a_name() -> None:
    assert parse("approve cat ./a.", ["cat ./a."]) is not None
    assert parse("approve cat ./a..", ["cat ./a."]) is None
