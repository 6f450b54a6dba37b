"""Run the measurements and print them as a table and as JSON.

`python -m bench` runs all; `python -m bench turn context` runs some. A row is {name, value, unit, bar}; a bar
such as "<= 10" is judged here, a row without one is told for comparison.
"""

from __future__ import annotations

import importlib
import json
import operator
import os
import platform
import sys
from pathlib import Path
from typing import Any

MODULES = (
    *("turn", "wire", "client", "context", "program", "crew", "kept", "priming", "rehearsal", "server"),
    *("search", "index", "hostile", "command", "keeper", "schedule", "mcp", "agentdojo", "adapter"),
    *("chatting", "moving", "recall", "soak", "house", "page", "fleet"),
)
ARTEFACT = Path("artefacts/bench.json")
COMPARE = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


def main(names: list[str]) -> int:
    """Measure; give 1 when a bar is missed."""
    rows: list[dict[str, Any]] = []
    for name in names or MODULES:
        module = importlib.import_module(f"bench.{name}")
        print(f"— {name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        for row in module.measure():
            row = {"module": name, **row, "holds": judge(row)}
            rows.append(row)
            print(line(row), flush=True)
    ARTEFACT.parent.mkdir(exist_ok=True)
    machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    ARTEFACT.write_text(
        json.dumps({"machine": machine, "load": os.getloadavg(), "rows": rows}, indent=2) + "\n"
    )
    missed = [row["name"] for row in rows if row["holds"] is False]
    print(
        f"{len(rows)} figures, {len(missed)} missed{': ' + ', '.join(missed) if missed else ''} → {ARTEFACT}"
    )
    return 1 if missed else 0


def judge(row: dict[str, Any]) -> bool | None:
    """Hold a value against its bar."""
    bar = row.get("bar")
    if not bar or not isinstance(row["value"], int | float):
        return None
    sign, limit = str(bar).split()
    return bool(COMPARE[sign](row["value"], float(limit)))


def line(row: dict[str, Any]) -> str:
    """Write one row of the table."""
    value = f"{row['value']:,.2f}" if isinstance(row["value"], float) else str(row["value"])
    verdict = {True: "holds", False: "MISSED", None: ""}[row["holds"]]
    return f"  {row['name']:<64} {value:>12} {row.get('unit', ''):<10} {row.get('bar') or '':<10} {verdict}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
