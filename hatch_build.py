"""Name the project's links in the package by the forge that builds it; a build at home has none."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = {
    "Source": "",
    "Documentation": "/blob/HEAD/README.md",
    "Changelog": "/blob/HEAD/CHANGELOG.md",
    "Issues": "/issues",
}


class LinkHook(MetadataHookInterface):
    """Links from the two variables that every run of a workflow has."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the links."""
        server, repository = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
        home = f"{server}/{repository}" if server and repository else None
        metadata["urls"] = {name: f"{home}{path}" for name, path in PAGES.items()} if home else {}
