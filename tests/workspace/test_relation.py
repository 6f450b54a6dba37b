from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.workspace.relation import Relation, read_relations, write_relations
from tests.support.search import examples

THREE = """
| 成员 | 关系类型 | 对象 |
|------|----------|------|
| 引引 | 上级     | 小流 |
| 小流 | 上级     | 阿木 |
"""
FIVE = """
| ID | 名称 | 关系 | 程度 | 说明 |
|---|:--|--:|:-:|---|
| yinyin | 引引 | 上级 | 核心 | a \\| b |
"""
SIX = """
| ID | 名称 | 类型 | 关系 | 程度 | 说明 |
|---|---|---|---|---|---|
| lin | Lin | contact | 其他 | 常用 | |
"""
cells = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12).map(
    lambda text: " ".join(text.split())
)


def test_three_columns_are_read_from_the_owners_side() -> None:
    superior, inferior = read_relations(THREE, owner=["小流", "xiaoliu"])
    assert (superior.target_id, superior.relation, superior.subject) == ("引引", "上级", "")
    assert (inferior.target_id, inferior.relation, inferior.subject) == ("阿木", "下级", "")


def test_a_row_about_two_others_keeps_its_subject() -> None:
    first, _ = read_relations(THREE)
    assert (first.subject, first.relation, first.target_id) == ("引引", "上级", "小流")


def test_five_and_six_columns_are_read() -> None:
    assert read_relations(FIVE) == [
        Relation(target_id="yinyin", target_name="引引", relation="上级", strength="核心", note="a | b")
    ]
    assert read_relations(SIX) == [
        Relation(target_id="lin", target_name="Lin", kind="contact", relation="其他", strength="常用")
    ]


def test_prose_headers_and_odd_rows_are_passed_over() -> None:
    text = f"# Team\n\nSome | prose.\n{FIVE}| too | few |\n\n| no | rule |\n| a | b |\n"
    assert [relation.target_id for relation in read_relations(text)] == ["yinyin"]


@settings(max_examples=examples(150))
@given(
    st.lists(
        st.builds(
            Relation,
            target_id=cells.filter(lambda text: bool(text) and not set(text) <= set(":-")),
            target_name=cells,
            kind=cells,
            relation=cells,
            strength=cells,
            note=cells,
        ),
        max_size=5,
    )
)
def test_what_is_written_is_read_back(relations: list[Relation]) -> None:
    assert read_relations(write_relations(relations)) == relations
