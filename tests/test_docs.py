"""The documentation shows code that runs, and links that lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_to_files_that_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


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
