"""Relations are read from three shapes of tables, written in one, and kept in step on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.crew.roster import Roster
from shipmate.errors import NotFoundError, UserError
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.relation import Relation, read_relations, with_relation, without_relation


def make_crew(root: Path, *names: str) -> Crew:
    (root / "Agent.md").write_text("# Captain\n")
    for name in names:
        (root / "members" / name).mkdir(parents=True)
        (root / "members" / name / "Agent.md").write_text(f"# {name.title()}\n")
    layout = Layout(root)
    return Crew(layout, load_config(layout, {}))


def stands(roster: Roster, crew: Crew, member: str) -> list[tuple[str, str]]:
    return [(each.target_id, each.relation) for each in roster.relations(crew.find(member))]


def test_a_relation_is_written_on_both_sides_and_taken_back_on_both(tmp_path: Path) -> None:
    crew = make_crew(tmp_path, "nina", "bob")
    (tmp_path / "members/nina/RELATIONS.md").write_text(
        "# Mine\n\n| 成员 | 关系类型 | 对象 |\n|---|---|---|\n| bob | 平级 | nina |\n\nBye.\n"
    )
    roster = Roster(crew)
    roster.relate("nina", "captain", "上级", note="a|b")
    assert stands(roster, crew, "nina") == [("bob", "平级"), ("captain", "上级")]
    assert stands(roster, crew, "captain") == [("nina", "下级")]
    text = (tmp_path / "members/nina/RELATIONS.md").read_text()
    assert text.startswith("# Mine\n\n| 成员ID |")
    assert text.endswith("a\\|b |\n\nBye.\n")
    # Bob's side does not know yet, and nobody may be asked who is not there.
    assert [each.subject for each in roster.findings()] == ["member bob"]
    assert roster.mend() == ["bob → nina: 平级"]
    assert roster.findings() == []
    roster.relate("nina", "captain", "superior")
    assert stands(roster, crew, "captain") == [("nina", "subordinate")]
    roster.part("captain", "nina")
    assert stands(roster, crew, "captain") == []
    assert [each.id for each in roster.colleagues(crew.find("nina"))] == ["bob"]
    with pytest.raises(NotFoundError):
        roster.part("captain", "nina")
    with pytest.raises(UserError):
        roster.relate("nina", "nina", "peer")


def test_a_file_too_large_or_outside_relates_nobody_and_is_not_written(tmp_path: Path) -> None:
    root = tmp_path / "ship"
    root.mkdir()
    crew = make_crew(root, "nina", "bob")
    table = "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n"
    large, link = root / "RELATIONS.md", root / "members/bob/RELATIONS.md"
    large.write_text(table + "| nina | Nina | agent | peer | | |\n" * 40_000)
    outside = tmp_path / "outside.md"
    outside.write_text(f"{table}| nina | Nina | agent | peer | | |\n")
    link.symlink_to(outside)
    roster = Roster(crew)
    assert roster.colleagues(crew.find("captain")) == roster.colleagues(crew.find("bob")) == []
    told = [each.message for each in roster.findings()]
    assert told[0] == "RELATIONS.md: more than 64 KB; shorten it"
    assert told[1].startswith("members/bob/RELATIONS.md: a link to ")
    before = large.read_bytes()
    for other in ("captain", "bob"):
        with pytest.raises(UserError, match=r"Nothing was written\.$"):
            roster.relate("nina", other, "peer")
    assert large.read_bytes() == before
    assert link.is_symlink()
    assert not (root / "members/nina/RELATIONS.md").exists()


def test_the_workspaces_table_counts_for_those_it_names_and_contacts_are_no_colleagues(
    tmp_path: Path,
) -> None:
    crew = make_crew(tmp_path, "nina", "bob")
    (tmp_path / "RELATIONS.md").write_text(
        "| 成员 | 关系 | 对象 |\n|-|-|-|\n| nina | 平级 | bob |\n| nobody | 平级 | captain |\n"
    )
    (tmp_path / "members/bob/RELATIONS.md").write_text(
        "| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n| nina | Nina | contact | x | | |\n"
    )
    roster = Roster(crew)
    assert [each.id for each in roster.colleagues(crew.find("nina"))] == ["bob"]
    assert roster.colleagues(crew.find("bob")) == []
    assert "there is no such member" in roster.findings()[0].message


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=12)


@given(st.lists(st.tuples(st.sampled_from("abcde"), words, words), max_size=6), words)
def test_rows_that_are_written_are_read_and_other_words_stay(
    rows: list[tuple[str, str, str]], prose: str
) -> None:
    text = before = prose.replace("|", "/") and f"Words: {prose.replace('|', '/')}\n"
    told: dict[str, Relation] = {}
    for target, relation, note in rows:
        clean = [" ".join(each.split()) for each in (relation, note)]
        told.pop(target, None)
        told[target] = Relation(target_id=target, relation=clean[0], note=clean[1])
        text = with_relation(text, Relation(target_id=target, relation=relation, note=note), ["me"])
    assert read_relations(text, ["me"]) == list(told.values())
    assert text.startswith(before)
    for target in told:
        text = without_relation(text, [target], ["me"])
    assert read_relations(text, ["me"]) == []
    assert text.startswith(before)
