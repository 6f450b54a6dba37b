from __future__ import annotations

import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.file.protection import (
    FORMING_FILES,
    FORMING_FOLDERS,
    HOOK_FILES,
    HOOK_FOLDERS,
    SECRET_NAMES,
    fold,
    forms_member,
    is_locked,
    is_placed,
    refuse_reading,
)

SPECIAL = {*FORMING_FILES, *FORMING_FOLDERS, *HOOK_FILES, *HOOK_FOLDERS, *SECRET_NAMES, ".ship", "meta.json"}
ORDINARY = ("docs", "src", "a", "Großes", "agent.md.d", "project")


def test_in_a_folder_like_any_other_a_name_alone_decides() -> None:
    for depth in (1, 2):
        for parts in product(ORDINARY, repeat=depth):
            assert not is_placed(parts)
            for name in (*SPECIAL, *ORDINARY):
                elsewhere = ("_", "_", "_", name)
                assert is_locked((*parts, name)) == is_locked(elsewhere)
                assert (refuse_reading((*parts, name)) is None) == (refuse_reading(elsewhere) is None)


def test_where_the_folder_matters_it_is_said() -> None:
    for top in (*FORMING_FOLDERS, "projects", "Members", "SKILLS"):
        assert is_placed((top, "x"))
    assert is_placed(())


@given(st.text(max_size=12))
def test_plain_letters_fold_like_all_others(name: str) -> None:
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    assert fold(name) == unicodedata.normalize("NFKC", visible).casefold()


@pytest.mark.parametrize(
    "path",
    [
        *(".mcp.json", "sub/.mcp.json", ".claude/settings.json", "a/.Claude/Settings.local.json"),
        *(".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json", "openclaw.json", "aipanel.json"),
        "agents/x/config.json",
    ],
)
def test_m1_settings_in_which_other_agents_keep_keys_are_read_by_no_tool(path: str) -> None:
    assert "may hold keys" in str(refuse_reading(path.split("/")))


@pytest.mark.parametrize(
    "path", ["config.json", "src/settings.json", "agents/x/notes.md", ".claude/skills/x/SKILL.md"]
)
def test_what_only_resembles_them_can_be_read(path: str) -> None:
    assert refuse_reading(path.split("/")) is None


@pytest.mark.parametrize(
    ("path", "forms"),
    [
        ("agents/x/workspace/SOUL.md", True),
        ("agents/x/workspace/memory/INDEX.md", True),
        ("agents/x/config.json", True),
        ("agents/x/workspace/notes/a.md", False),
        ("agents/x.py", False),
        ("agents/SOUL.md", False),
    ],
)
def test_m1_the_files_of_a_member_of_zyhive_form_it(path: str, forms: bool) -> None:
    assert forms_member(path.split("/")) is forms
