from __future__ import annotations

import subprocess
import sys

from shipmate.cli.priming.rehearse import ASPECTS as OFFERED
from shipmate.priming.rehearsal.compare import ASPECTS


def test_every_aspect_can_be_ignored() -> None:
    assert tuple(ASPECTS) == OFFERED


def test_help_loads_no_rehearsal() -> None:
    statement = (
        "import sys\nfrom shipmate.cli.group import run\nrun(['priming', 'rehearse', '--help'])\n"
        "print([name for name in sys.modules if 'rehearsal' in name or name == 'regex'])"
    )
    result = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
