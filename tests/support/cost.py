"""Measure what a call costs, in a process of its own: seconds of work and peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import NamedTuple

_PROGRAM = """
import json, resource, sys
from importlib import import_module
module, _, name = sys.argv[1].partition(":")
call = getattr(import_module(module), name)
more = [eval(each, {}) for each in sys.argv[3:]]
costs = []
for expression in json.loads(sys.argv[2]):
    first = eval(expression, {})
    before = resource.getrusage(resource.RUSAGE_SELF)
    size, error = 0, ""
    try:
        made = call(first, *more)
        size = len(made) if hasattr(made, "__len__") else 0
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"[:300]
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    costs.append([spent, (after.ru_maxrss - before.ru_maxrss) / 1024, size, error])
print(json.dumps(costs))
"""
# A call that needs more than this is ended: the test fails, the machine does not.
SECONDS_LIMIT = 60
MEMORY_LIMIT = 2_000_000_000
# What else the machine does can make one measurement longer, never shorter. A cost counts as too high only
# when it is so each time.
ATTEMPTS = 5


class Cost(NamedTuple):
    """What one call took: processor time, MB of memory above the start, the size and error it gave."""

    seconds: float
    megabytes: float
    size: int
    error: str


def measure(function: str, expression: str, *more: str) -> Cost:
    """Call `module:function` on Python expressions, in a process whose time and memory are limited."""
    return _measure(function, [expression], more)[0]


def assert_linear(function: str, expression: str, size: int, *more: str) -> Cost:
    """Assert that ten times the input takes at most twenty times as long; SIZE stands for its size."""
    return assert_all_linear(function, [expression], size, *more)[0]


def assert_all_linear(function: str, expressions: list[str], size: int, *more: str) -> list[Cost]:
    """Assert the same of several inputs, in one process; the costs of the large ones are returned.

    A fifth of a second is allowed for what every call costs, so that small figures decide nothing.
    """
    sized = [each.replace("SIZE", str(much)) for each in expressions for much in (size // 10, size)]
    costs = _measure(function, sized, more)
    for _ in range(ATTEMPTS - 1):
        if not _too_slow(expressions, costs):
            break
        again = _measure(function, sized, more)
        costs = [min(pair) for pair in zip(costs, again, strict=True)]
    assert not _too_slow(expressions, costs), _too_slow(expressions, costs)
    return costs[1::2]


def _too_slow(expressions: list[str], costs: list[Cost]) -> list[str]:
    return [
        f"{expression}: {small.seconds:.2f} s became {large.seconds:.2f} s"
        for expression, small, large in zip(expressions, costs[::2], costs[1::2], strict=True)
        if large.seconds > 20 * small.seconds + 0.2
    ]


def _measure(function: str, expressions: list[str], more: tuple[str, ...]) -> list[Cost]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, function, json.dumps(expressions), *more],
        capture_output=True,
        text=True,
        preexec_fn=_limit,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-500:]}"
    return [Cost(*each) for each in json.loads(done.stdout)]


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_LIMIT, SECONDS_LIMIT))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
