from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import shipmate
from shipmate.cli import COMMANDS
from shipmate.cli.talk.slash import COMMANDS as SLASH
from shipmate.cli.talk.slash import KEYS
from shipmate.values.saying import PLACE, Saying, load_sayings
from shipmate.values.translation import translate


def test_u9_a_sentence_is_said_in_chinese_with_its_values() -> None:
    assert translate("another call has the id x already") == "已有另一个调用使用 id x"
    assert translate("Write what was said.") == "请写上说了什么。"


def test_u9_several_sentences_are_said_one_by_one_and_a_name_before_them_stays() -> None:
    said = translate("tea.md: another message has the msgId `a: b` already. Put it in quotes.")
    assert said == "tea.md：已有另一条消息使用 msgId `a: b`。请加上引号。"


def test_u9_what_nobody_translated_stays_as_it_was_told() -> None:
    assert translate("The tide comes in at four.") == "The tide comes in at four."
    assert translate("x" * 5_000) == "x" * 5_000


def read_templates(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from [*read_templates(node.body), *read_templates(node.orelse)]


def sentences() -> Iterator[str]:
    """Return what the terminal says of its own: whatever is handed to one of the functions that translate."""
    yield from (*COMMANDS.values(), *(does for _, does in SLASH.values()), *(does for _, does in KEYS))
    for path in sorted(Path(shipmate.__file__).parent.joinpath("cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if (
                    name in ("complain", "say", "UserError", "NotFoundError")
                    or ast.unparse(node.func) == "echo"
                ):
                    yield from read_templates(node.args[0])


def test_u9_everything_the_terminal_says_of_its_own_is_said_in_chinese() -> None:
    said = {each.strip() for each in sentences() if re.search("[a-z]{2,} ", each)}
    assert {each for each in said if translate(each) == each} == set(), (
        "add them to values/words/reason.zh.json"
    )


def test_u9_what_is_said_in_a_thread_is_read_in_the_readers_language() -> None:
    """A run and an answer are told in the language of the process that works them, and read in another."""
    rooms = {
        "orchestrator": ".*",
        # What only a model reads is in one language.
        "crew": "(?!draft|studio)",
        "approvals": "already-|granted-|not-granted|nothing-waits|understood|revived",
    }
    for room, told in rooms.items():
        words = Path(shipmate.__file__).parent / room / "words"
        for key in load_sayings(words, "en"):
            if re.match(told, key):
                places = PLACE.findall(load_sayings(words, "en")[key])
                saying = Saying(words, key, {place: f"<{place}>" for place in places})
                assert translate(saying) == saying.tell("zh"), key
