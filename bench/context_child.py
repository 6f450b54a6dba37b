"""Time prompt builds in this process, and print the milliseconds; started by `bench.context`."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path


def prepare(who: str, root: Path) -> Callable[[], object]:
    """Import a builder, and give what makes and uses it once."""
    if who == "nanobot":
        from nanobot.agent.context import ContextBuilder as Theirs  # pyright: ignore[reportMissingImports]

        return Theirs(root).build_system_prompt
    from shipmate.context.builder import ContextBuilder
    from shipmate.context.request import ContextRequest

    builder = ContextBuilder(root)
    request = ContextRequest(last_text="please handle topic 17 and commit", platform="cli", user_id="lin")
    return lambda: builder.build(request)


def main(who: str, root: Path, builds: int) -> None:
    """Time the first build, then the median of the others."""
    build = prepare(who, root)
    spent: list[float] = []
    for _ in range(builds + 1):
        began = time.perf_counter()
        build()
        spent.append((time.perf_counter() - began) * 1000)
    print(json.dumps({"cold": spent[0], "warm": statistics.median(spent[1:])}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
