"""Ask the origin of the script format, by its own reader, what it makes of scripts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.support.node import FOLDER, install_packages


def read_by_origin(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each text its title and records, or the error it is refused with."""
    node = install_packages(FOLDER / "origin")
    given = json.dumps(list(texts)).encode()
    done = subprocess.run(
        [node, str(FOLDER / "origin.mjs")], input=given, capture_output=True, timeout=60, check=True
    )
    return json.loads(done.stdout)
