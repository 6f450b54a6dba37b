"""Build the web page into the wheel."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class PageHook(BuildHookInterface[Any]):
    """Make the page before its files are packed; an editable install leaves that to `make page`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        is_packed = version == "standard" and self.target_name == "wheel"
        if is_packed and not (ROOT / "src/shipmate/server/page/index.html").exists():
            subprocess.run([str(ROOT / "scripts/build-page")], check=True)
