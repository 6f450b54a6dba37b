from __future__ import annotations

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
