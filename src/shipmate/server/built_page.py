"""Serve the built page: files read once, with lasting caches for those named by their content."""

from __future__ import annotations

import gzip
import mimetypes
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from shipmate.server.guard.error import ApiError, missing

FOLDER = Path(__file__).with_name("page")
LASTING = "public, max-age=31536000, immutable"
SMALL = 1_000


class BuiltPage:
    """The page's files; an address without a file is one of the page's own views."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, tuple[int, Response, Response]] = {}

    def answer(self, request: Request) -> Response:
        """Return a file, or the page itself for any address the page routes."""
        name = request.url.path.lstrip("/") or "index.html"
        index = self._inside("index.html")
        if index is None:
            raise ApiError(
                503, "no-page", "The page is not built.", "Run `make page`; the API works without it."
            )
        path = self._inside(name)
        if path is None and "." in name.rpartition("/")[2]:
            raise missing("such file")
        plain, packed = self._load(path or index)
        return packed if "gzip" in request.headers.get("accept-encoding", "") else plain

    def _inside(self, name: str) -> Path | None:
        path = (self._folder / name).resolve() if "\0" not in name else self._folder
        return path if path.is_file() and path.is_relative_to(self._folder.resolve()) else None

    def _load(self, path: Path) -> tuple[Response, Response]:
        stamp = path.stat().st_mtime_ns
        known = self._files.get(str(path))
        if known is None or known[0] != stamp:
            known = (stamp, *_responses(path))
            self._files[str(path)] = known
        return known[1], known[2]


def _responses(path: Path) -> tuple[Response, Response]:
    data = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {
        "cache-control": LASTING if path.parent.name == "assets" else "no-cache",
        "vary": "accept-encoding",
    }
    plain = Response(data, headers=headers, media_type=media_type)
    if len(data) < SMALL or media_type.startswith(("image/", "font/")):
        return plain, plain
    packed = Response(
        gzip.compress(data, 6, mtime=0), headers=headers | {"content-encoding": "gzip"}, media_type=media_type
    )
    return plain, packed
