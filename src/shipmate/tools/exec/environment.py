"""Make the environment a command sees: little of the host's, none of its secrets."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from shipmate.tools.exec.sandbox.system import search_path
from shipmate.tools.tool import ToolContext

# The only variables a command gets from the host.
PASSED_ON = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "COLUMNS", "LINES")


def make_environment(
    context: ToolContext, private: Mapping[str, str], host: Mapping[str, str]
) -> dict[str, str]:
    """Give the variables of one command; `private` is the member's own from ship.json."""
    scratch = context.layout.scratch
    return {
        **{name: host[name] for name in PASSED_ON if name in host},
        "PATH": os.pathsep.join(map(str, _programs())),
        "HOME": str(scratch / "home"),
        "TMPDIR": str(scratch / "tmp"),
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        **private,
        "SHIPMATE_WORKSPACE": str(context.folder),
        "SHIPMATE_THREAD": context.thread_id,
        "SHIPMATE_RUN": context.run_id,
        "SHIPMATE_MEMBER": context.member,
    }


def _programs() -> list[Path]:
    # Version managers put scripts on PATH that look for a home folder; the real interpreter goes before them.
    return list(dict.fromkeys([Path(sys.base_prefix) / "bin", *search_path()]))
