from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from shipmate.cli.workspace.init import EXAMPLES, NAMES
from shipmate.workspace.frontmatter import read_frontmatter
from tests.support.terminal import shipmate


@pytest.mark.parametrize("example", list(NAMES))
def test_init_writes_an_agent_and_says_what_comes_next(tmp_path: Path, example: str) -> None:
    done = shipmate(tmp_path, "init", "--example", example, "--name", "Ada", "home/ada")
    text = (tmp_path / "home/ada/Agent.md").read_text()
    assert done.returncode == 0
    found = read_frontmatter(text)
    assert found.body.startswith("\n# Ada\n\nYou are Ada, ")
    assert "{name}" not in text
    assert set(found.data["approvals"]) == {"tone", "ask", "deny"}
    assert "approvals:" not in shipmate(tmp_path / "home/ada", "context", "--full").stdout
    assert "Next: cd home/ada && shipmate chat" in done.stdout


def test_init_here_uses_the_examples_own_name(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "init")
    assert "\n# Captain\n" in (tmp_path / "Agent.md").read_text()
    assert done.stdout.endswith("Next: shipmate chat\n")


def test_init_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("mine")
    done = shipmate(tmp_path, "init")
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "Agent.md").read_text() == "mine"


def test_init_in_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = shipmate(tmp_path, "init", "file/below")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("shipmate: cannot write ")


def test_init_refuses_an_empty_name(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "init", "--name", "  ")
    assert done.returncode == 2
    assert not (tmp_path / "Agent.md").exists()


def test_there_is_a_file_for_every_example() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.md")} == set(NAMES)


def test_init_with_config_writes_a_ship_json_that_its_schema_accepts(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "init", "--config")
    config = json.loads((tmp_path / "ship.json").read_text())
    schema = json.loads((tmp_path / config["$schema"]).read_text())
    jsonschema.validate(config, schema)
    assert (tmp_path / "ship.json").stat().st_mode & 0o077 == 0
    assert done.returncode == 0
    assert shipmate(tmp_path, "doctor").returncode == 0
    again = shipmate(tmp_path, "init", "--config")
    assert (again.returncode, "ship.json exists already" in again.stderr) == (2, True)
