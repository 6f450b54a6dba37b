"""Serve a scripted workspace to each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.support.script import TalkingModel
from tests.support.server import Served, make_site, make_workspace, opener_for, serving


@pytest.fixture
def model() -> TalkingModel:
    return TalkingModel()


@pytest.fixture
async def served(tmp_path: Path, model: TalkingModel) -> AsyncGenerator[Served]:
    """Serve a workspace with the scripted model."""
    site = make_site(make_workspace(tmp_path), opener_for(model))
    async with serving(site) as running:
        yield running
