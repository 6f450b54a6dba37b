"""The page in the package is, byte for byte, what its sources give."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.node import install_packages
from tests.support.page import BUILT, ROOT, first_scripts

pytestmark = pytest.mark.node


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_u10_the_page_in_the_package_equals_a_fresh_build(tmp_path: Path) -> None:
    install_packages(ROOT / "webui")
    subprocess.run([ROOT / "scripts/build-page", tmp_path / "page"], check=True, capture_output=True)
    fresh, kept = files(tmp_path / "page"), files(BUILT.parent)
    assert sorted(fresh) == sorted(kept), "run `make page` and commit what it changed"
    assert fresh == kept


def test_u10_a_page_that_is_up_to_date_is_not_built_again(tmp_path: Path) -> None:
    # Nothing but what hashing takes: neither node nor npm is looked for.
    for name in ("find", "sort", "xargs", "sha256sum", "cmp", "dirname", "env"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    before = BUILT.stat().st_mtime_ns
    subprocess.run(["/bin/sh", ROOT / "scripts/build-page"], check=True, env={"PATH": str(tmp_path)})
    assert BUILT.stat().st_mtime_ns == before


def test_u7_the_first_scripts_stay_small() -> None:
    assert first_scripts() <= 180_000, "load later what the first view does not need"
