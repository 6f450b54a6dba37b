"""What `pip` makes of a bare clone: a wheel with the page in it, on a machine without Node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.page import ROOT, reserve_port
from tests.support.terminal import environment, make_workspace

PIP = (sys.executable, "-m", "pip")
OFFLINE = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index")
# What git does not keep, and what packaging does not read.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "tests", "bench", "docs", "artefacts", "__pycache__"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of a copy of the sources, with no program at hand but Python."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT, folder / "shipmate", ignore=LEFT_OUT)
    (folder / "bin").mkdir()
    subprocess.run(
        [*PIP, "wheel", *OFFLINE, "--wheel-dir", str(folder), str(folder / "shipmate")],
        env={"PATH": str(folder / "bin"), "HOME": str(folder)},
        check=True,
        timeout=120,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """Unpack the wheel, as installing does."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    return tmp_path / "site"


@pytest.fixture
def address(installed: Path, tmp_path: Path) -> Iterator[str]:
    """Serve a workspace from what was installed, and nothing of the checkout."""
    workspace = make_workspace(tmp_path / "crew")
    with reserve_port() as held:
        port = held.getsockname()[1]
        start = f"import sys; sys.path.insert(0, {str(installed)!r}); from shipmate.cli import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", start, "serve", "--no-open", "--port", str(port)],
            cwd=workspace,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            assert any("http://" in line for line in process.stdout)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()


def test_u10_a_wheel_built_without_node_serves_the_page(address: str, installed: Path) -> None:
    page = httpx2.get(address)
    assert page.status_code == 200
    names = re.findall(r"""(?:src|href)="/?(assets/[^"]+)""", page.text)
    assert names
    for name in names:
        asset = httpx2.get(f"{address}/{name}")
        assert asset.content == (installed / "shipmate/server/page" / name).read_bytes()


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src/shipmate"
    wanted = {
        f"shipmate/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        assert wanted <= set(archive.namelist())


@pytest.mark.parametrize(
    ("forge", "source"),
    [
        ({}, None),
        (
            {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "crew/ship"},
            "https://forge.example/crew/ship",
        ),
    ],
)
def test_the_links_of_a_package_are_those_of_the_forge_that_builds_it(
    forge: dict[str, str], source: str | None
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT,
        env={"PATH": "", **forge},
        capture_output=True,
        check=True,
    )
    links = json.loads(done.stdout).get("urls", {})
    assert links.get("Source") == source
    assert all(link.startswith("https://forge.example/crew/ship") for link in links.values())


def test_the_pythons_of_the_package_are_those_the_workflow_runs() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    named = [line.rpartition(" :: ")[2] for line in described if re.search(r"Python :: 3\.\d+$", line)]
    workflow = (ROOT / ".github/workflows/test.yml").read_text("utf-8")
    run = re.search(r"python: \[(.*)\]", workflow)
    assert run is not None
    assert re.findall(r"3\.\d+", run[1]) == named
