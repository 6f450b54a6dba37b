"""The house stays as drawn: imports point one way, light commands stay light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shipmate
from bench import house

PACKAGE = Path(shipmate.__file__).parent
# A module imports only from rooms above it.
ROOMS = (
    ("errors",),
    ("telemetry",),
    ("values",),
    ("decoding",),
    ("documents",),
    ("workspace",),
    ("thread",),
    ("store",),
    ("recall",),
    ("memory", "skills"),
    ("schedule",),
    ("priming",),
    ("context",),
    ("models",),
    ("speech",),
    ("tools",),
    ("approvals",),
    ("team",),
    ("orchestrator",),
    ("crew",),
    ("delivery",),
    ("adapters",),
    ("residence",),
    ("fleet",),
    ("moving",),
    ("app",),
    ("rehearsal",),
    ("testing",),
    ("server",),
    ("cli",),
)
ROW = {room: row for row, rooms in enumerate(ROOMS) for room in rooms}
HEAVY = (
    "pydantic_ai",
    "pydantic",
    "fastapi",
    "uvicorn",
    "openai",
    "anthropic",
    "PIL",
    "trafilatura",
    "tree_sitter",
    "mcp",
    "opentelemetry",
)


def modules() -> list[Path]:
    return sorted(
        path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py"
    )


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.append(node.module)
        found |= {name.split(".")[1] for name in names if name.startswith("shipmate.")}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_above_it(path: Path) -> None:
    room = room_of(path)
    assert room in ROW, f"the room {room!r} has no place in the house"
    wrong = {other for other in imported_rooms(path) if ROW[other] > ROW[room]}
    assert wrong == set(), f"{room} may not import from {wrong}"


def test_only_one_room_imports_pydantic_ai_and_none_an_sdk() -> None:
    users = {
        path.parent.relative_to(Path(shipmate.__file__).parent).as_posix()
        for path in modules()
        if re.search(r"^\s*(from|import) pydantic_ai", path.read_text("utf-8"), re.MULTILINE)
    }
    assert users == {"models/provider"}
    sdk = re.compile(r"^\s*(from|import) (openai|anthropic|google|genai_prices)\b", re.MULTILINE)
    assert [path for path in modules() if sdk.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "statement",
    [
        "from shipmate.cli import main; main(['--version'])",
        "from shipmate.cli.group import run; run(['--help'])",
        "from shipmate.cli.group import run; run(['ask', '--help'])",
        "import shipmate.app",
    ],
)
def test_light_things_import_nothing_heavy(statement: str) -> None:
    script = f"import sys\n{statement}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_no_source_file_has_grown_out_of_hand() -> None:
    long = {
        str(path): count for path in modules() if (count := len(path.read_text("utf-8").splitlines())) > 400
    }
    assert long == {}


def test_h1_the_page_on_architecture_tells_how_big_the_house_is() -> None:
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    for figure in house.count_files():
        told = re.search(rf"^\| {re.escape(figure['name'])} \| .* \| ([\d,]+) \|$", page, re.MULTILINE)
        assert told is not None, f"docs/architecture.md has no row {figure['name']!r}"
        # Not every change has to touch the page, but none may leave it far behind.
        said = int(told[1].replace(",", ""))
        assert abs(said - figure["value"]) <= max(2, figure["value"] / 20), (
            f"{figure['name']}: {figure['value']} by now, docs/architecture.md says {said}"
        )
