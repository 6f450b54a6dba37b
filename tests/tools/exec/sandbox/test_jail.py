"""The launcher as a script of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.tools.exec.sandbox import jail
from shipmate.tools.exec.sandbox.landlock import FIRST_VERSION

SYSTEM = ("/usr", "/bin", "/lib", "/lib64")


@pytest.mark.skipif(
    sys.platform != "linux" or jail.landlock_version() < FIRST_VERSION, reason="needs Landlock"
)
@pytest.mark.parametrize("way", ["real", "link", "through"])
def test_c2_a_place_that_has_become_a_link_gets_no_right_to_write(tmp_path: Path, way: str) -> None:
    """Between the look at the workspace and the start of a command another one may put a link there."""
    for name in ("real/inner", "outside/inner"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("outside/inner")
    (tmp_path / "parent").symlink_to("outside")
    given = {"real": "real/inner", "link": "link", "through": "parent/inner"}[way]
    rights = [word for place in SYSTEM for word in ("--read", place)]
    launcher = [sys.executable, "-I", "-S", jail.__file__, str(os.getpid()), "--lock", *rights]
    script = f"echo x >{tmp_path}/real/inner/new; echo x >{tmp_path}/outside/inner/new"
    command = [*launcher, "--write", str(tmp_path / given), "--", "/bin/sh", "-c", script]
    subprocess.run(command, capture_output=True, timeout=20, check=False)
    assert (tmp_path / "real/inner/new").exists() == (way == "real")
    assert not (tmp_path / "outside/inner/new").exists()
