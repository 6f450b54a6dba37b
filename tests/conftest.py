from __future__ import annotations

import math
from collections.abc import Generator

import pytest

from tests.support.search import load_profile

# Before any test module is imported: decorators take over what holds then.
load_profile()


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Generator[None]:
    """Wait for the disk in place, however busy the machine; what a slow disk changes has tests of its own."""
    from shipmate.workspace.disk import pace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace, "SLOW", math.inf)
        yield
