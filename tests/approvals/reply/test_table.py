"""The table of replies and the documentation made from it."""

from __future__ import annotations

import re
from pathlib import Path

from shipmate.approvals.reply.table import expand, make_table, read_table

DOCS = Path(__file__).parents[3] / "docs" / "approvals.md"
NEGATIONS = re.compile(
    r"[不没别勿未否禁]|拒绝|反对|\b(?:no|not|never|don't|deny|reject|refuse|cancel|stop)\b"
)


def test_the_documentation_holds_the_table_the_parser_reads() -> None:
    text = DOCS.read_text(encoding="utf-8")
    found = re.search(r"<!-- replies -->\n(.*?)<!-- /replies -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == make_table()


def test_no_row_has_two_meanings() -> None:
    seen: dict[str, tuple[str, ...]] = {}
    for meaning in read_table().meanings:
        for messages in meaning.messages.values():
            for message in messages:
                for text in expand(message):
                    effect = tuple(part for part in meaning.effect if part != "@once")
                    assert seen.setdefault(text, effect) == effect, text


def test_no_row_of_pure_consent_holds_a_negation() -> None:
    for meaning in read_table().meanings:
        if any(part[0] == "-" for part in meaning.effect):
            continue
        texts = [text for listed in meaning.messages.values() for each in listed for text in expand(each)]
        assert [text for text in texts if NEGATIONS.search(text)] == []


def test_every_word_list_is_used() -> None:
    table = read_table()
    used = {
        word
        for meaning in table.meanings
        for messages in meaning.messages.values()
        for message in messages
        for word in re.findall(r"\{([^}]+)\}", message)
    }
    assert used == set(table.words)
