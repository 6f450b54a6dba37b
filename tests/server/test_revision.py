"""Documents: nothing is overwritten unseen, earlier texts are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.server.guard.error import ApiError
from shipmate.server.revision import list_revisions, read_document, write_document
from shipmate.workspace.disk.earlier_text import KEPT
from shipmate.workspace.layout import Layout


def test_a_write_against_an_old_version_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    version = write_document(layout, layout.agent, "Agent.md", "one", None)
    assert write_document(layout, layout.agent, "Agent.md", "two", version) != version
    with pytest.raises(ApiError) as refused:
        write_document(layout, layout.agent, "Agent.md", "three", version)
    assert refused.value.status == 409
    assert refused.value.problem.version == read_document(layout.agent, "Agent.md").version
    with pytest.raises(ApiError):
        write_document(layout, layout.agent, "Agent.md", "three", None)
    assert layout.agent.read_text() == "two"


def test_earlier_texts_come_back_newest_first_and_old_ones_go(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    version = None
    for number in range(KEPT + 5):
        version = write_document(layout, layout.agent, "Agent.md", f"text {number}", version)
    kept = list_revisions(layout, layout.agent)
    assert [kept[0].text, len(kept)] == [f"text {KEPT + 3}", KEPT]
    assert kept[0].at.endswith("Z")
    assert kept[0].bytes == len(kept[0].text)


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.agent.write_text("one")
    layout.agent.chmod(0o640)
    version = read_document(layout.agent, "Agent.md").version
    write_document(layout, layout.agent, "Agent.md", "two", version)
    assert layout.agent.stat().st_mode & 0o777 == 0o640
