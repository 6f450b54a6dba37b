from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.cli.group import run
from shipmate.cli.priming.rehearse import ASPECTS as OFFERED
from shipmate.priming.rehearsal.compare import ASPECTS
from shipmate.priming.rehearsal.recorded import check_expects
from shipmate.priming.rehearsal.report.suite import EXIT_CODES
from shipmate.priming.script.parse import check_script, parse_script
from tests.support.terminal import shipmate

PAGE = (Path(__file__).parents[3] / "docs" / "rehearsal.md").read_text("utf-8")


def test_every_aspect_can_be_ignored() -> None:
    assert tuple(ASPECTS) == OFFERED


def test_the_page_shows_the_help_as_it_is(tmp_path: Path) -> None:
    (text,) = re.findall(r"\$ shipmate priming rehearse --help\n(.*?)```", PAGE, re.DOTALL)
    assert shipmate(tmp_path, "priming", "rehearse", "--help").stdout.strip() == text.strip()


def test_the_page_names_every_exit_code() -> None:
    codes = [int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)]
    assert codes == sorted({*EXIT_CODES.values(), 2})


def test_the_script_of_the_page_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = re.findall(r"^~~~markdown\n(.*?)^~~~$", PAGE, re.MULTILINE | re.DOTALL)
    assert check_script(text) == []
    assert check_expects(parse_script(text)) == []
    (tmp_path / "Agent.md").write_text("# Mate\n", encoding="utf-8")
    path = tmp_path / ".minds/priming/team_shared/harbour/log.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    command = ["-C", str(tmp_path), "priming", "rehearse", "team_shared/harbour/log", "--model", "script"]
    assert run(command) == 0
    assert run([*command, "--tools", "sandbox"]) == 1
    assert "08:00 left harbour" in capsys.readouterr().out


@pytest.mark.parametrize("bound", ["nan", "inf", "-1"])
@pytest.mark.parametrize("option", ["--max-ms", "--max-cost"])
def test_a_bound_that_nothing_exceeds_is_refused(tmp_path: Path, option: str, bound: str) -> None:
    (tmp_path / "Agent.md").write_text("# Mate\n", encoding="utf-8")
    assert run(["-C", str(tmp_path), "priming", "rehearse", "team_shared/x", option, bound]) == 2


def test_help_loads_no_rehearsal() -> None:
    statement = (
        "import sys\nfrom shipmate.cli.group import run\nrun(['priming', 'rehearse', '--help'])\n"
        "print([name for name in sys.modules if name.startswith('shipmate.rehearsal') or name == 'regex'])"
    )
    result = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
