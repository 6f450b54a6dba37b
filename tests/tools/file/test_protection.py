from __future__ import annotations

import unicodedata
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.file.protection import (
    FORMING_FILES,
    FORMING_FOLDERS,
    HOOK_FILES,
    HOOK_FOLDERS,
    SECRET_NAMES,
    fold,
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
