"""Keep standard output usable: closed, cut off by its reader, or in an encoding without Chinese."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path

# What the machine refuses, and no mistake of ours: full disks, folders that may not be written.
REFUSALS = (errno.EACCES, errno.EDQUOT, errno.EIO, errno.ENOSPC, errno.ENOTDIR, errno.EPERM, errno.EROFS)


def mend_outlets() -> None:
    """Put something in place of outputs that are closed, and let a character no encoding has become a `?`."""
    for name in ("stdout", "stderr"):
        outlet = getattr(sys, name)
        if outlet is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (it is used until the end)
        elif isinstance(outlet, io.TextIOWrapper):
            outlet.reconfigure(errors="replace" if name == "stdout" else "backslashreplace")


def abandon() -> None:
    """Write nothing more: whoever read our output left, and Python would complain of that at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for outlet in (sys.stdout, sys.stderr):
        os.dup2(nowhere, outlet.fileno())
    os.close(nowhere)


def describe_refusal(error: OSError) -> str | None:
    """Say in a line what the machine refused; None when it may be a bug of ours."""
    if error.errno not in REFUSALS:
        return None
    place = f"{error.filename}: " if error.filename else "the output cannot be written: "
    return f"{place}{error.strerror}. Mend this and try again."
