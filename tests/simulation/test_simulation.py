"""Seeds of the simulation; `make simulate` runs many more, `make mutants` checks that it notices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
# Those of the long proof begin behind these.
SEEDS = int(os.environ.get("SHIPMATE_SEEDS") or 500)
HALVES = 2


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1800)


@pytest.mark.crash
@pytest.mark.parametrize("half", range(HALVES))
def test_every_seed_comes_to_a_good_end(half: int, capsys: pytest.CaptureFixture[str]) -> None:
    count = SEEDS // HALVES
    ran = simulate("--first", str(1 + half * count), "--seeds", str(count), "--jobs", "1")
    with capsys.disabled():
        print(f"\n{ran.stdout.splitlines()[-1] if ran.stdout else ''}", end=" ")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.crash
def test_a_seed_replays_exactly() -> None:
    first, second = (simulate("7", "23", "--quiet") for _ in range(2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout == second.stdout
