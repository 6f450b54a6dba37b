from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ConfigError, WorkspaceError
from shipmate.workspace.layout import Layout
from shipmate.workspace.setting_file.config_file import put_key, read_object, write_key

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["llm", "name", "x", "{", '"', "a,b"]), VALUES, max_size=5)


@given(OBJECTS, VALUES.filter(lambda value: value is not None), st.sampled_from([None, 2, 4, "\t"]))
def test_one_key_changes_and_nothing_else(before: dict[str, Any], value: Any, indent: Any) -> None:
    text = json.dumps(before, indent=indent, ensure_ascii=False) + "\n"
    changed = put_key(text, "llm", value)
    assert json.loads(changed) == {**before, "llm": value}
    if "llm" not in before and before:
        # What was there is there, byte for byte.
        assert changed.startswith(text.rstrip().removesuffix("}").rstrip())


@given(OBJECTS, st.sampled_from([None, 2, "\t"]))
def test_a_key_is_taken_out(before: dict[str, Any], indent: Any) -> None:
    text = json.dumps(before, indent=indent) + "\n"
    left = json.loads(put_key(text, "llm", None))
    assert left == {key: value for key, value in before.items() if key != "llm"}


def test_what_stood_there_is_kept_as_a_revision(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    text = '{\n    "name":   "Ada",\n    "llm": {"provider": "openai"}\n}\n'
    layout.config.write_text(text)
    assert write_key(layout, layout.config, "llm", {"provider": "google"})
    said = layout.config.read_text()
    assert '"name":   "Ada"' in said
    assert read_object(layout.config)["llm"] == {"provider": "google"}
    (kept,) = layout.revisions("ship.json").iterdir()
    assert kept.read_text() == text
    assert layout.config.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_there_or_empty_is_made(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert not write_key(layout, layout.config, "llm", None)
    assert write_key(layout, layout.config, "llm", {"a": 1})
    assert layout.config.read_text() == '{\n  "llm": {\n    "a": 1\n  }\n}\n'
    assert write_key(layout, layout.config, "llm", None)
    assert json.loads(layout.config.read_text()) == {}
    assert write_key(layout, layout.config, "llm", 1)


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.config.write_text('{"llm": ')
    with pytest.raises(ConfigError):
        write_key(layout, layout.config, "llm", {})
    assert layout.config.read_text() == '{"llm": '


def test_a_link_is_followed_within_the_workspace_and_no_further(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "w")
    (layout.root / "conf").mkdir(parents=True)
    layout.config.symlink_to("conf/ship.json")
    assert write_key(layout, layout.config, "llm", 1)
    assert read_object(layout.root / "conf/ship.json") == {"llm": 1}
    layout.config.unlink()
    (tmp_path / "theirs.json").write_text("{}")
    layout.config.symlink_to(tmp_path / "theirs.json")
    with pytest.raises(WorkspaceError, match=r"ship\.json is a link that leads out of the workspace"):
        write_key(layout, layout.config, "llm", 2)
    assert (tmp_path / "theirs.json").read_text() == "{}"
