"""The documentation shows code that runs, and links that lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from scripts.check_commands import find_mistakes
from scripts.make_site import build
from tests.support.terminal import shipmate

REPOSITORY = Path(__file__).parents[1]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```", (REPOSITORY / "docs" / "python.md").read_text("utf-8"), re.M | re.S
)


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"example-{number}" for number in range(1, len(EXAMPLES) + 1)]
)
def test_examples_run(example: str, tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "OLLAMA_HOST": "127.0.0.1:9"}
    result = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_the_site_is_built_with_links_anchors_and_commands_that_exist(tmp_path: Path) -> None:
    assert build(tmp_path / "site") == []
    made = {path.relative_to(tmp_path / "site") for path in tmp_path.rglob("*.html")}
    assert {Path("index.html"), Path("index.zh-CN.html"), Path("docs/terminal.html")} <= made
    for page in tmp_path.rglob("*.html"):
        # Whoever reads asks nobody else for anything.
        assert not re.search(
            r"<(script|style|iframe)|(src|rel=\"stylesheet\" href)=\"https?:", page.read_text()
        )


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("`shipmate ask --thread tea 'what --is this'`", None),
        ("`shipmate -C crew threads pins tea`", None),
        ("    $ git diff | shipmate ask --jsn 'why?' > x", "there is no option --jsn"),
        ("`shipmate threads pinz tea`", "there is no command pinz"),
        ("    shipmate init crew && shipmate srve", "there is no command srve"),
        ("    shipmate approvals list [--al]     what waits", "there is no option --al"),
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str, mistake: str | None) -> None:
    found = find_mistakes(MarkdownIt("commonmark").parse(text))
    assert [each.split("`: ")[1] for each in found] == ([mistake] if mistake else [])


HELP = re.findall(
    r"```console\n\$ shipmate ([\w ]+) --help\n(.*?)```",
    # Those of the page on the terminal are held beside the commands.
    "".join(page.read_text("utf-8") for page in PAGES if page.name != "terminal.md"),
    re.S,
)


@pytest.mark.parametrize(("command", "text"), HELP, ids=[command for command, _ in HELP])
def test_pages_show_the_help_as_it_is(tmp_path: Path, command: str, text: str) -> None:
    assert shipmate(tmp_path, *command.split(), "--help").stdout.strip() == text.strip()


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_what_the_readme_shows_first_runs_as_it_stands(tmp_path: Path, name: str) -> None:
    """The commands that need neither a person nor a browser, in a workspace they make."""
    text = (REPOSITORY / name).read_text("utf-8")
    lines = re.findall(r"^    (shipmate (?:init|ask) .*?)(?:  +#.*)?$", text, re.M)
    assert [line.split()[1] for line in lines] == ["init", "ask"]
    script = "\n".join(["set -e", f"PATH={Path(sys.executable).parent}:/usr/bin:/bin", *lines])
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "OLLAMA_HOST": "127.0.0.1:9", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Agent.md" in done.stdout


def test_the_page_on_architecture_names_files_that_exist() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
    missing: set[str] = set()
    # In a row, the paths after the first may be told from its folder.
    for row in re.findall(r"[\w/]+\.py(?:, [\w/]+\.py)*", page):
        first, *others = row.split(", ")
        package = REPOSITORY / "src" / "shipmate"
        places = (package, REPOSITORY, (package / first).parent)
        missing |= {
            each for each in (first, *others) if not any((place / each).is_file() for place in places)
        }
    assert missing == set()
