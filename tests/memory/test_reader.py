from __future__ import annotations

from datetime import date
from pathlib import Path

from shipmate.memory.reader import MemoryReader, user_key
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from tests.support.prompt import write_files

DAY = date(2026, 2, 23)


def make_reader(root: Path, member: str = "captain") -> MemoryReader:
    return MemoryReader(Layout(root), FileCache(root), Layout(root).member(member))


def test_long_term_memory_lies_in_memory_or_beside_it(tmp_path: Path) -> None:
    reader = make_reader(tmp_path)
    assert reader.long_term().is_missing
    write_files(tmp_path, MEMORY="beside")
    assert reader.long_term().text == "beside"
    write_files(tmp_path, memory__MEMORY="inside")
    assert reader.long_term().text == "inside"


def test_the_note_is_todays(tmp_path: Path) -> None:
    write_files(tmp_path, **{"memory__2026-02-22": "yesterday", "memory__daily__2026-02-23": "filed"})
    reader = make_reader(tmp_path)
    assert reader.today(DAY).text == "filed"
    write_files(tmp_path, **{"memory__2026-02-23": "today"})
    assert reader.today(DAY).text == "today"
    assert reader.today(date(2026, 2, 24)).is_missing


def test_the_tree_names_only_folders_that_exist(tmp_path: Path) -> None:
    reader = make_reader(tmp_path)
    assert reader.folders() == []
    write_files(tmp_path, memory__topics__a="x", memory__core__b="x", memory__zoo__c="x", memory__INDEX="x")
    assert reader.folders() == ["memory/core/", "memory/topics/", "memory/zoo/"]


def test_a_member_has_its_own_memory_and_shares_the_projects(tmp_path: Path) -> None:
    write_files(tmp_path, memory__INDEX="captain's", members__nina__memory__INDEX="nina's")
    write_files(tmp_path, members__nina__memory__core__x="x")
    (tmp_path / ".ship/memory").mkdir(parents=True)
    (tmp_path / ".ship/memory/project.md").write_text("shared")
    nina = make_reader(tmp_path, "nina")
    assert (nina.index().text, nina.project().text) == ("nina's", "shared")
    assert nina.folders() == ["members/nina/memory/core/"]


def test_a_person_is_known_per_platform(tmp_path: Path) -> None:
    users = tmp_path / ".ship/memory/users"
    users.mkdir(parents=True)
    (users / "lin.md").write_text("plain")
    (users / "telegram.lin.md").write_text("on telegram")
    reader = make_reader(tmp_path)
    assert reader.user("telegram", "lin").text == "on telegram"
    assert reader.user("web", "lin").text == "plain"
    assert reader.user("web", "other").is_missing
    assert reader.user("web", "../project").is_missing
    assert reader.user("", "..").is_missing
    assert user_key("telegram", "42") == "telegram.42"
    # One whose ids are joined is the same everywhere; nobody else becomes them by calling themselves so.
    assert reader.user("feishu", "person:lin").text == "plain"
    assert reader.user("feishu", "lin").is_missing
