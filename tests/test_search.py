"""`make test` tries the same examples each time (H5); a search tries as many as it is told, always others."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DRAWN = """
from tests.support.search import examples, load_profile
load_profile()
from hypothesis import given, settings, strategies as st

@settings(max_examples=examples(20))
@given(st.integers())
def draw(number):
    print(number)

draw()
"""


def draw(**environment: str) -> list[str]:
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", DRAWN]
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.split()


def test_h5_properties_try_the_same_examples_each_time() -> None:
    first = draw()
    assert len(first) == 20
    assert draw() == first


def test_h5_a_search_tries_as_many_as_asked_for_and_others_each_time() -> None:
    first = draw(SHIPMATE_EXAMPLES="200")
    assert len(first) == 200
    assert draw(SHIPMATE_EXAMPLES="200") != first


def test_every_property_looks_as_far_as_a_search_asks_for() -> None:
    tests = Path(__file__).parent
    fixed = [
        path.relative_to(tests).as_posix()
        for path in tests.rglob("test_*.py")
        if "node_modules" not in path.parts and re.search(r"max_examples=\d", path.read_text("utf-8"))
    ]
    assert fixed == [], "write max_examples=examples(…) of tests/support/search.py"
