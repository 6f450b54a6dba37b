"""Run the simulation: `python -m tests.simulation 17` replays a seed, `--seeds 20000` runs many."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds.txt"
STRETCH = 50
REPORT = 1000


def main() -> int:
    """Run what was asked for; return 1 when a seed failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", nargs="*", type=int, help="seeds to replay, each with its story")
    parser.add_argument("--seeds", type=int, default=0, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quiet", action="store_true", help="replay without the story")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of words must be the same each time.
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]], _fixed())
    if given.seed:
        return replay(given.seed, tells=not given.quiet)
    kept = [int(line.split()[0]) for line in SEEDS.read_text().splitlines() if line[:1].isdigit()]
    return run_many([*kept, *range(given.first, given.first + given.seeds)], given.jobs)


def _fixed() -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": "0"}


def replay(seeds: list[int], *, tells: bool) -> int:
    """Run seeds and show what happened in them."""
    from tests.simulation.run import Runner, silence

    silence()
    runner, failed = Runner(), 0
    for seed in seeds:
        result = runner.run(seed, tells=tells)
        print("\n".join(result.told))
        print(f"seed {seed}: {result.calls} disk calls, {result.steps} steps, {result.digest}")
        for trouble in result.troubles:
            print(f"  {trouble}")
        failed += bool(result.troubles)
    runner.close()
    return bool(failed)


def run_stretch(seeds: list[int]) -> list[tuple[int, list[str]]]:
    """Run a stretch of seeds; return those that failed."""
    from tests.simulation.run import Runner, silence

    silence()
    runner = Runner()
    try:
        return [(seed, result.troubles) for seed in seeds if (result := runner.run(seed)).troubles]
    finally:
        runner.close()


def run_many(seeds: list[int], jobs: int) -> int:
    """Run seeds on all cores; print those that failed, and how fast it went."""
    began, done, failed = time.perf_counter(), 0, 0
    stretches = [seeds[place : place + STRETCH] for place in range(0, len(seeds), STRETCH)]
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(run_stretch, stretch): stretch for stretch in stretches}
        for each in as_completed(running):
            done += len(running[each])
            if done % REPORT == 0:
                rate = done / (time.perf_counter() - began)
                print(f"{done} of {len(seeds)} seeds, {rate:.1f} a second", flush=True)
            for seed, troubles in each.result():
                failed += 1
                print(f"seed {seed} failed; replay: python -m tests.simulation {seed}")
                for trouble in troubles:
                    print(f"  {trouble}")
                sys.stdout.flush()
    spent = time.perf_counter() - began
    print(f"{done} seeds, {failed} failed, {done / spent:.1f} seeds a second on {jobs} cores")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
