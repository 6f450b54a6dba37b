from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import UserError
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import read_env
from shipmate.workspace.setting_file.env_file import set_variable

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60).filter(
    lambda key: not ("'" in key and '"' in key)
)
LINES = st.lists(
    st.sampled_from(
        ["# a comment", "", "OTHER=1", "export KEY=old # why", "KEY='older'", "KEY", " KEY = x ", "X=KEY=1"]
    ),
    max_size=6,
)


@given(KEYS, LINES, st.booleans())
def test_whatever_the_key_it_is_read_back_and_other_lines_stay(
    tmp_path_factory: pytest.TempPathFactory, key: str, lines: list[str], ends: bool
) -> None:
    layout = Layout(tmp_path_factory.mktemp("w"))
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    layout.env.write_text(text)
    before = read_env(layout)
    set_variable(layout, "KEY", key)
    assert read_env(layout) == {**before, "KEY": key}
    after = layout.env.read_text().splitlines()
    kept = [line for line in text.splitlines() if "KEY" not in line or line in ("KEY", "X=KEY=1")]
    assert [line for line in after if line in kept] == kept
    assert stat.S_IMODE(layout.env.stat().st_mode) == 0o600


def test_a_file_others_could_read_is_closed(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.env.write_text("A=1\n")
    layout.env.chmod(0o644)
    set_variable(layout, "KEY", "sk-1")
    assert stat.S_IMODE(layout.env.stat().st_mode) == 0o600
    assert layout.env.read_text() == "A=1\nKEY=sk-1\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "real").write_text("A=1\n")
    layout = Layout(tmp_path / "w")
    layout.env.symlink_to(tmp_path / "real")
    set_variable(layout, "KEY", "sk-1")
    assert layout.env.is_symlink()
    assert "KEY=sk-1" in (tmp_path / "real").read_text()


def test_a_variable_is_taken_out(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.env.write_text("# mine\nKEY=1\nexport KEY=2\nB=3\n")
    assert set_variable(layout, "KEY", None)
    assert layout.env.read_text() == "# mine\nB=3\n"
    assert not set_variable(layout, "KEY", None)


@pytest.mark.parametrize("value", ["", "  ", "two words", "line\nbreak", "sk-ключ", "\x1b[31m"])
def test_what_no_line_can_hold_is_refused_and_not_repeated(tmp_path: Path, value: str) -> None:
    layout = Layout(tmp_path)
    with pytest.raises(UserError) as caught:
        set_variable(layout, "KEY", value)
    assert not value.strip() or value not in str(caught.value)
    assert not layout.env.exists()
