"""Put the pieces of two answers side by side, so that as few as possible have no counterpart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")
Pairs: TypeAlias = list[tuple[Item | None, Item | None]]
# What it costs to leave an item alone.
Gap: TypeAlias = Callable[[Item], float]
# What it costs to pair two items; None when they may not be paired.
Pairing: TypeAlias = Callable[[Item, Item], float | None]
# Beyond so many possible pairs the items are paired as they stand.
PAIR_LIMIT = 100_000


def align(left: Sequence[Item], right: Sequence[Item], gap: Gap[Item], pairing: Pairing[Item]) -> Pairs[Item]:
    """Return the cheapest pairing of two lists in their order; None stands for a missing counterpart."""

    def is_sure(at: int) -> bool:
        # What may be left alone for nothing might find a better counterpart.
        return gap(left[at]) > 0 and gap(right[at]) > 0 and pairing(left[at], right[at]) == 0

    shorter = min(len(left), len(right))
    start = end = 0
    while start < shorter and is_sure(start):
        start += 1
    while end < shorter - start and is_sure(-1 - end):
        end += 1
    mine, theirs = left[start : len(left) - end], right[start : len(right) - end]
    find = _pair_off if len(mine) * len(theirs) > PAIR_LIMIT else _pair_best
    head = zip(left[:start], right[:start], strict=True)
    tail = zip(left[len(left) - end :], right[len(right) - end :], strict=True)
    return [*head, *find(mine, theirs, gap, pairing), *tail]


def _pair_off(
    left: Sequence[Item], right: Sequence[Item], gap: Gap[Item], pairing: Pairing[Item]
) -> Pairs[Item]:
    """Pair what stands at the same place; what may not be paired stands alone."""
    pairs: Pairs[Item] = []
    for mine, theirs in zip(left, right, strict=False):
        may_pair = pairing(mine, theirs) is not None
        pairs += [(mine, theirs)] if may_pair else [(mine, None), (None, theirs)]
    shorter = min(len(left), len(right))
    pairs += [(mine, None) for mine in left[shorter:]]
    return pairs + [(None, theirs) for theirs in right[shorter:]]


def _pair_best(
    left: Sequence[Item], right: Sequence[Item], gap: Gap[Item], pairing: Pairing[Item]
) -> Pairs[Item]:
    """Find the cheapest way from the end: `costs[r][c]` is what the rest costs from there on."""
    paired = [[pairing(mine, theirs) for theirs in right] for mine in left]
    costs = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for column in range(len(right) - 1, -1, -1):
        costs[-1][column] = costs[-1][column + 1] + gap(right[column])
    for row in range(len(left) - 1, -1, -1):
        below, here = costs[row + 1], costs[row]
        here[-1] = below[-1] + gap(left[row])
        for column in range(len(right) - 1, -1, -1):
            ways = [below[column] + gap(left[row]), here[column + 1] + gap(right[column])]
            cost = paired[row][column]
            here[column] = min(ways if cost is None else [*ways, below[column + 1] + cost])
    return _walk_back(left, right, costs, paired, gap)


def _walk_back(
    left: Sequence[Item],
    right: Sequence[Item],
    costs: list[list[float]],
    paired: list[list[float | None]],
    gap: Gap[Item],
) -> Pairs[Item]:
    row = column = 0
    pairs: Pairs[Item] = []
    while row < len(left) and column < len(right):
        here, cost = costs[row][column], paired[row][column]
        if cost is not None and here == costs[row + 1][column + 1] + cost:
            pairs.append((left[row], right[column]))
            row, column = row + 1, column + 1
        elif here == costs[row + 1][column] + gap(left[row]):
            pairs.append((left[row], None))
            row += 1
        else:
            pairs.append((None, right[column]))
            column += 1
    pairs += [(mine, None) for mine in left[row:]]
    return pairs + [(None, theirs) for theirs in right[column:]]
