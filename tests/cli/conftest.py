from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.terminal import make_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "ship")
