"""How alike submissions are, and how many pairs of a class would be so alike by chance.

A task's likeness is the share of two functions' fingerprints that both have, each weighed by its rarity in the class;
what the reference or the handed-out notebook holds has no weight. Its chance is a rank: of the others, how many are at
least as like either of the two? The tasks' surprises −log₂(chance) are added, and the sum is compared with what the
submission would reach if every task had been taken from another member of the class, drawn at random (a convolution).

Whoever writes loops here writes them there, too, so tasks do not agree independently. All chances are weakened by one
power, until the most alike 5% of the pairs (in small classes: as many pairs as members) are as alike as expected, which
is genomic control (Devlin and Roeder 1999).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
LEAST = 10  # submissions; with fewer, chance is not estimated
ALIKE = 0.8  # of the fingerprints: shown where chance cannot be estimated
EXPECTED = 0.1  # pairs in a class: a pair that chance would give less often is shown
MATCHING = 0.5  # likeness of the tasks that are said to be alike
REFERENCE = 0.1  # of a class may come to the reference alone
STEP = 0.25  # bits
BULK = 0.05


Prints = Mapping[str, AbstractSet[int]]


@dataclass(frozen=True)
class Pair:
    """Two submissions, by number.

    Attributes:
        expected: How many such pairs chance would give in a class of this size; None where that is unknown.
        tasks: For each task that is alike, its likeness and how many others are as like one of the two.
    """

    first: int
    second: int
    likeness: float
    expected: float | None
    tasks: dict[str, tuple[float, int]]


def alike_pairs(
    prints: Sequence[Prints], given: AbstractSet[int], reference: Prints
) -> tuple[list[Pair], float | None]:
    """Find the pairs that are more alike than chance explains, the least explicable first.

    Args:
        prints: the fingerprints of each submission of a lesson, by task.
        given: fingerprints that stand in the handed-out notebook and have no weight.
        reference: the fingerprints of the reference, by task.

    Returns:
        The pairs, and how many as alike as the most alike one chance would give; None where that is unknown.
    """
    count, tasks = len(prints), sorted({task for one in prints for task in one})
    if count < 2 or not tasks:
        return [], None
    stand_ins = [reference] * math.ceil(count * REFERENCE)
    likeness = {task: likenesses([one.get(task, set()) - given for one in [*prints, *stand_ins]]) for task in tasks}
    steps = [surprises(likeness[task], as_like(likeness[task]))[:count, :count] for task in tasks]
    likeness = {task: table[:count, :count] for task, table in likeness.items()}
    others = {task: as_like(table) for task, table in likeness.items()}
    both = sum(np.outer(np.diag(table) > 0, np.diag(table) > 0).astype(int) for table in likeness.values())
    mean = sum(likeness.values()) / np.maximum(both, 1)
    expected, known = expected_pairs(steps), count >= LEAST
    pairs = []
    for a, b in np.argwhere(np.triu(expected < EXPECTED if known else mean >= ALIKE, 1)).tolist():
        found = {task: (float(likeness[task][a, b]), int(others[task][a, b])) for task in tasks}
        matching = {task: one for task, one in found.items() if one[0] >= MATCHING}
        pairs.append(Pair(a, b, float(mean[a, b]), float(expected[a, b]) if known else None, matching))
    pairs.sort(key=lambda pair: (pair.expected or 0.0, -pair.likeness))
    return pairs, float(expected[np.triu_indices(count, 1)].min()) if known else None


def likenesses(prints: Sequence[AbstractSet[int]]) -> Array:
    """Return the likeness of every two functions, (n, n): 0 for those without a fingerprint."""
    count = Counter(one for found in prints for one in found)
    columns = {one: at for at, one in enumerate(one for one, times in count.items() if times > 1)}
    weights = np.array([math.log2((len(prints) + 1) / count[one]) for one in columns])
    table = np.zeros((len(prints), len(columns)))
    for row, found in enumerate(prints):
        table[row, [columns[one] for one in found if one in columns]] = 1.0
    total = np.array([sum(math.log2((len(prints) + 1) / count[one]) for one in found) for found in prints])
    shared = (table * weights) @ table.T
    whole = total[:, None] + total - shared
    return np.where(whole > 0, shared / np.where(whole > 0, whole, 1.0), 0.0).round(9)


def as_like(likeness: Array) -> Array:
    """Return, for every two, how many others are at least as like one of them, (n, n)."""
    ordered = np.sort(likeness - np.eye(len(likeness)) * 9, axis=1)  # nobody is compared with themselves
    fewer = np.array([np.searchsorted(row, values) for row, values in zip(ordered, likeness)])
    count = len(likeness) - fewer - 1
    larger: Array = np.maximum(count, count.T).clip(0)
    return larger


def surprises(likeness: Array, others: Array) -> Array:
    """Return −log₂ of the chance that two functions are so alike, in steps; 0 where they share nothing."""
    bits = np.log2((len(likeness) - 1) / (others + 1).clip(None, len(likeness) - 1))
    return np.where(likeness > 0, bits, 0.0) // STEP


def expected_pairs(steps: Sequence[Array]) -> Array:
    """Return how many pairs so alike chance would give, for every two submissions, (n, n).

    Args:
        steps: by task, the surprise of every two.
    """
    count = len(steps[0])
    sums = np.sum(steps, axis=0).astype(int)
    chance = np.zeros((count, count))
    for row in range(count):
        law = np.ones(1)
        for task in steps:
            law = np.convolve(law, np.bincount(np.delete(task[row], row).astype(int)) / (count - 1))
        chance[row] = np.append(law[::-1].cumsum()[::-1], 0.0)[sums[row].clip(None, len(law))]
    chance = np.maximum(chance, chance.T).clip(1e-300, 1.0)
    each = np.sort(chance[np.triu_indices(count, 1)])
    share = max(BULK, count / len(each)) if count > 3 else 1.0
    at_share = float(each[int(share * len(each)) - 1])
    power = min(1.0, math.log(share) / math.log(at_share)) if at_share < 1 else 1.0
    return chance**power * len(each)


def clusters(pairs: Sequence[Pair]) -> list[list[int]]:
    """Group the submissions that pairs connect, directly or through others; the largest group first."""
    groups: list[set[int]] = []
    for pair in pairs:
        ends = {pair.first, pair.second}
        joined = ends.union(*(group for group in groups if group & ends))
        groups = [*(group for group in groups if not group & ends), joined]
    return sorted(map(sorted, groups), key=lambda group: (-len(group), group))
