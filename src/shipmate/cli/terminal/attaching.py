"""Attach files to what is said in a terminal."""

from __future__ import annotations

import mimetypes
import os
import re
import stat
from pathlib import Path

from shipmate.errors import MediaError
from shipmate.values.event import Attachment
from shipmate.workspace.secret.secret import holds_secrets
from shipmate.workspace.upload import UPLOAD_LIMIT, Upload, Uploads, keep_upload, media_type_of

# A file named in words: behind an @, quoted if its name has spaces.
NAMED = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]+)"|(\S+))')
# Piped text up to here is part of the message; more of it is a file beside it.
TEXT_LIMIT = 200_000
HANDED = (Path("/dev/fd"), Path("/proc/self/fd"))


def attach_file(uploads: Uploads, path: Path) -> Attachment:
    """Keep a copy of a file, and return what names it in a message."""
    try:
        data = read_given(path, UPLOAD_LIMIT + 1)
    except OSError as error:
        raise MediaError(f"cannot read {path}: {error.strerror}. Choose another file.") from error
    return _attach(uploads, data, path.name)


def read_given(path: Path, limit: int) -> bytes:
    """Read a file that a person named; raise OSError for a device, or a pipe that may never be written to."""
    # Without O_NONBLOCK, opening such a pipe would wait for ever.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle).st_mode
        # A shell hands `<(command)` over as a pipe it writes to.
        if not stat.S_ISREG(mode) and not (stat.S_ISFIFO(mode) and path.parent in HANDED):
            raise OSError(0, "not a regular file")
        os.set_blocking(handle, True)
        return file.read(limit)


def attach_named(uploads: Uploads, root: Path, text: str) -> tuple[Attachment, ...]:
    """Attach the workspace's files that a text names behind an `@`; what is no such file stays mere words."""
    names = dict.fromkeys(found[1] or found[2] for found in NAMED.finditer(text))
    paths = [root / name for name in names]
    return tuple(attach_file(uploads, path) for path in paths if path.is_file() and _is_open(root, path))


def _is_open(root: Path, path: Path) -> bool:
    """Return whether a name in mere words, pasted ones perhaps, is enough to send a file to a model."""
    home, place = root.resolve(), path.resolve()
    return place.is_relative_to(home) and not holds_secrets(place.relative_to(home).parts)


def attach_piped(uploads: Uploads, data: bytes) -> Attachment | None:
    """Attach what was piped in, if it is no text or a long one; None when it can be said as words."""
    kind = media_type_of(data)
    if not data or (kind == "text/plain" and len(data) <= TEXT_LIMIT):
        return None
    return _attach(uploads, data, f"stdin{mimetypes.guess_extension(kind) or '.bin'}")


def _attach(uploads: Uploads, data: bytes, name: str) -> Attachment:
    try:
        kept: Upload = keep_upload(uploads, data, name)
    except MediaError as error:
        raise MediaError(f"{name}: {error}") from error
    return Attachment(url=kept.url, media_type=kept.media_type, filename=kept.filename)
