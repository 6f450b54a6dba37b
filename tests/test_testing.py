"""The fixture that makes scripts tests, in projects of users."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import PrimingError
from shipmate.priming.script.writer import write_script
from shipmate.testing import DeviationError, Rehearse
from tests.support.cassette import STEP, approved, called, make_script, make_workspace, words

TEST = """
import pytest

from shipmate.testing import Rehearse


def test_as_recorded(rehearse: Rehearse) -> None:
    assert rehearse("team_shared/log").verdict == "same"


async def test_as_recorded_within_a_loop(rehearse: Rehearse) -> None:
    assert rehearse("team_shared/log", tools="sandbox").turns[0].said == "keep a log"


def test_that_fails(rehearse: Rehearse) -> None:
    rehearse("team_shared/log", tools="live")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    layout = make_workspace(tmp_path)
    call = approved(called("write", output="Created log.md: 1 line.", path="log.md", content="x\n"))
    layout.shared_priming.mkdir(parents=True)
    text = write_script(make_script(("keep a log", [STEP, call, STEP, words("Written.")])))
    (layout.shared_priming / "log.md").write_text(text)
    return tmp_path


def test_a_project_uses_the_fixture_as_a_plugin(root: Path) -> None:
    tests = root / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text('pytest_plugins = ["shipmate.testing"]\n')
    (tests / "test_log.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(tests)], cwd=root, capture_output=True, text=True, check=False, timeout=120
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    assert "team_shared/log: differs: turn 1" in done.stdout
    assert "recorded: result write Created log.md: 1 line." in done.stdout
    assert not (root / "log.md").exists()


def test_what_differs_is_raised_with_its_report(root: Path) -> None:
    rehearse = Rehearse(root)
    with pytest.raises(DeviationError, match="no file authorises") as raised:
        rehearse("team_shared/log", tools="live")
    assert raised.value.report.verdict == "differs"
    assert rehearse("team_shared/log", ignore=["results"], tools="live").verdict == "same"


def test_a_script_is_rehearsed_with_the_member_it_is_for(root: Path) -> None:
    layout = Rehearse(root).layout
    for member in ("ux", "ops"):
        (root / "members" / member).mkdir(parents=True)
        (root / "members" / member / "Agent.md").write_text(f"# {member}\n")
    text = (layout.shared_priming / "log.md").read_text()
    layout.member_priming("ux").mkdir(parents=True)
    (layout.member_priming("ux") / "log.md").write_text(text)
    (layout.shared_priming / "listed.md").write_text(f"---\napplicableMemberIds: [ops]\n---\n\n{text}")
    rehearse = Rehearse(root)
    refs = ("team_shared/log", "team_shared/listed", "individual/ux/log")
    assert [rehearse(ref).member for ref in refs] == ["captain", "ops", "ux"]


@pytest.mark.parametrize(
    "given", [{"tools": "sanbox"}, {"tools": ""}, {"ignore": ["word"]}, {"ignore": "words"}, {"ignore": ""}]
)
def test_a_word_that_is_none_of_ours_never_passes(root: Path, given: dict[str, Any]) -> None:
    with pytest.raises(PrimingError, match="Write"):
        Rehearse(root)("team_shared/log", **given)
