"""Lesson 05, the hardware-aware prefix scheduler: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import Bad, Example, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, call

LESSON = "05_scheduler"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator
Rows = list[list[float]]

STAIRS = [0.0, *(1000.0 / (10.0 + 4.0 * math.ceil(batch / 4)) for batch in range(1, 9))]  # steps per second
CHECKS_HINT = (
    "Keep the given checks at the top of the stub, and call check_speeds for every entry of the table that you use."
)

### BEGIN HIDDEN TESTS
# --- Batches and tables, shared by the three tasks ----------------------------------------------------


def batch(rng: Rng, low: int = 1, high: int = 6, gamma: int = 7) -> Rows:
    """Some requests of uneven lengths; no two prefix survivals are near each other."""
    while True:
        sizes = rng.integers(1, gamma + 1, size=int(rng.integers(low, high + 1)))
        rows: Rows = [rng.uniform(0.3, 0.99, size=size).tolist() for size in sizes]
        if (np.diff(np.sort(survivals(rows))) > 1e-6).all():
            return rows


def survivals(rows: Rows) -> Any:
    """All prefix survivals above 0, the highest first."""
    values = np.concatenate([np.cumprod(row) for row in rows] or [np.zeros(0)])
    return -np.sort(-values[values > 0])


def smooth(rng: Rng, rows: Rows) -> list[float]:
    """A table whose step time is convex in the batch, so that Θ has a single peak; the peak lies anywhere."""
    batches = np.arange(1, size_of(rows) + 1)
    bend = rng.uniform(0.0, 0.08) * (batches / len(rows)) ** 2
    return [0.0, *(100.0 / (1.0 + rng.uniform(0.0, 0.6) * batches / len(rows) + bend)).tolist()]


def stairs(rng: Rng, rows: Rows) -> list[float]:
    """A table whose step time jumps at every tile of a few tokens: Θ has many peaks."""
    batches = np.arange(1, size_of(rows) + 1)
    tile = int(rng.integers(2, 6))
    return [0.0, *(100.0 / (1.0 + rng.uniform(0.05, 0.5) * np.ceil(batches / tile))).tolist()]


def jagged(rng: Rng, rows: Rows) -> list[float]:
    """A table of random speeds around a falling line."""
    batches = np.arange(1, size_of(rows) + 1)
    return [0.0, *(rng.uniform(0.7, 1.3, size=batches.size) * 100.0 / (1.0 + 0.15 * batches)).tolist()]


def size_of(rows: Rows) -> int:
    return len(rows) + sum(map(len, rows))


def theta(rows: Rows, table: list[float]) -> Any:
    """The throughput with 0, 1, 2, … draft tokens admitted, the highest survivals first."""
    tau = np.cumsum([len(rows), *survivals(rows)])
    return tau * np.array(table)[len(rows) : len(rows) + tau.size]


def is_clear(rows: Rows, table: list[float]) -> bool:
    """Whether no comparison of two throughputs is so close that rounding could decide it."""
    values = theta(rows, table)
    best = np.sort(values)[::-1]
    return bool((abs(np.diff(values)) > 1e-6 * values[1:]).all() and (best[0] - best[1:] > 1e-6 * best[0]).all())


def cases(rng: Rng, table_of: Any, count: int = 30, **size: int) -> Iterator[Call]:
    """Some clear cases, each a batch with a table made for it."""
    while count:
        rows = batch(rng, **size)
        table = table_of(rng, rows)
        if is_clear(rows, table):
            count -= 1
            yield call(rows, table)


def from_flat_to_steep(rng: Rng) -> Iterator[Call]:
    """The same batch under tables of every slope: what is chosen goes from everything to nothing."""
    for _ in range(4):
        rows = batch(rng, low=2, high=4)
        for slope in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0, 5.0):
            table = [0.0, *(100.0 / (1.0 + slope * np.arange(1, size_of(rows) + 1))).tolist()]
            if is_clear(rows, table):
                yield call(rows, table)


def many_tokens(rng: Rng) -> Iterator[Call]:
    """64 requests of 64 tokens under a flat table, which admits them all, and under a steeper one."""
    rows = np.ascontiguousarray(rng.uniform(0.7, 1.0, size=(64, 64)))
    for slope in (0.0, 0.002):
        yield call(rows, 1000.0 / (10.0 + slope * np.arange(64 * 65 + 1)))


### END HIDDEN TESTS

# --- Task 5.1: schedule_prefixes ---------------------------------------------------------------------

SCHEDULE = (
    Example(call([[0.5, 0.5], [0.75]], [0.0, 9.0, 8.0, 7.0, 6.0, 5.0]), [1, 1]),
    Example(call([[0.75, 0.5, 0.5]], [0.0, 8.0, 6.0, 5.0, 3.0]), [2]),
    Example(call([[0.5, 0.5], [0.75, 0.25]], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), [2, 2]),
)
SCHEDULE_BAD = (
    Bad(call([[0.5, 0.5], [0.5, 1.5]], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), "confidences", 1, "1.5 is no chance"),
    Bad(call([[0.5], [0.5], [0.5]], [0.0, 9.0, 8.0]), "steps_per_second", None, "there is no entry for a batch of 3"),
    Bad(call([[0.5, 0.5]], [0.0, 1.0, 1.0, -1.0]), "steps_per_second", 3, "a speed that was tried is negative"),
)
ROWS_BAD_HIDDEN: tuple[tuple[Any, int | None, str], ...] = ()
SCHEDULE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ROWS_BAD_HIDDEN = (
    ([[0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5, NAN]], 3, "a NaN in request 3"),
    ([[0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5, NAN]], 2, "a NaN at position 2"),
    ([[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, -0.5]], 3, "a negative number at position 3"),
    ([[0.5, 0.5, INF, 0.5]], 2, "infinity at position 2"),
    ([[0.5], [0.5], [7.5], [NAN]], 2, "7.5 in request 2 comes first"),
    ([0.5, 0.25], None, "there is one number a request, not a sequence"),
    ([[[0.5], [0.25]]], None, "the requests hold rows and not numbers"),
)
SCHEDULE_BAD_HIDDEN = (
    *(Bad(call(rows, [0.0] + [9.0] * 12), "confidences", position, what) for rows, position, what in ROWS_BAD_HIDDEN),
    Bad(call([[0.5], [0.5]], [0.0, 9.0, NAN, 8.0, 7.0]), "steps_per_second", 2, "the speed of the batch B = R is NaN"),
    Bad(call([[0.5], [0.5]], [0.0, 9.0, 0.0, 8.0, 7.0]), "steps_per_second", 2, "the speed of the batch B = R is 0"),
    Bad(call([[0.75, 0.75, 0.75]], [0.0, 9.0, 9.0, NAN, 9.0]), "steps_per_second", 3, "the speed at B = 3 is NaN"),
    Bad(call([[0.75, 0.75, 0.75]], [0.0, 9.0, 9.0, INF, 9.0]), "steps_per_second", 3, "the speed at B = 3 is infinite"),
    Bad(call([[0.75, 0.75, 0.75]], [0.0, 9.0, 9.0, 9.0, 0.0]), "steps_per_second", 4, "the speed at B = 4 is 0"),
    Bad(call([[0.5]], [0.0]), "steps_per_second", None, "there is no entry for a batch of 1"),
    Bad(call([[0.5]], []), "steps_per_second", None, "the table is empty"),
    Bad(call([[0.5]], [[0.0, 9.0], [8.0, 7.0]]), "steps_per_second", None, "the table is a matrix"),
)


def single_requests(rng: Rng) -> Iterator[Call]:
    yield from cases(rng, smooth, high=1)


def stairs_and_jags(rng: Rng) -> Iterator[Call]:
    """Θ falls and rises again: the first fall ends it."""
    yield call([[0.8, 0.9]], [0.0, 1.0, 0.5, 0.45])
    yield from cases(rng, stairs)
    yield from cases(rng, jagged)


def batches(rng: Rng) -> Iterator[Call]:
    """Several requests, among them one that starts low and stays high, which misleads an order by confidence."""
    yield from cases(rng, smooth, low=2)
    for _ in range(10):
        rows = [[0.4, 0.97, 0.98, 0.99], *batch(rng, low=1, high=3)]
        table = smooth(rng, rows)
        if is_clear(rows, table):
            yield call(rows, table)


def crowds(rng: Rng) -> Iterator[Call]:
    """Many requests with one or two tokens each: B and τ are large from the start."""
    yield from cases(rng, smooth, low=8, high=16, gamma=2)


def tied_batches(rng: Rng) -> Iterator[Call]:
    """Confidences of 0.5 and 1 and speeds that are exact: many equal survivals, and a few equal Θ."""
    for _ in range(40):
        rows = [rng.choice([0.5, 1.0], size=int(rng.integers(1, 5))).tolist() for _ in range(int(rng.integers(2, 5)))]
        stop = int(rng.integers(len(rows), size_of(rows) + 1))
        yield call(rows, [0.0, *(4.0 if size <= stop else 0.25 for size in range(1, size_of(rows) + 1))])
    yield call([[0.5, 0.5]], [0.0, 6.0, 4.0, 8.0])  # 6, 6, 14: the first token only keeps Θ
    yield call([[0.5, 1.0], [0.25]], [0.0, 1.0, 8.0, 8.0, 6.5, 16.0])  # 16, 20, 19.5: then it would rise
    yield call([[1.0, 1.0, 1.0]], [0.0, 3.0, 3.0, 2.0, 2.0])  # 3, 6, 6, 8


def tables_and_rows() -> Iterator[Call]:
    """Tables that end early, speeds that rise, survivals of 0, requests without tokens, entries nobody needs."""
    rising = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    yield call([[0.0, 0.5], [0.5, 0.0, 0.75]], rising)
    yield call([[0.0], [0.0]], rising)
    yield call([[0.75, 0.5, 0.5], [0.5, 0.5]], rising[:5])
    yield call([[0.75, 0.5, 0.5], [0.5, 0.5]], rising[:3])
    yield call([[], [0.5], []], rising)
    yield call([[], []], rising[:3])
    yield call([], rising)
    yield call([[0.5], [0.5]], [-1.0, NAN, 4.0, 3.5, 1.0, INF])
    yield call([np.array([0.5, 0.75]), np.array([0.25])], rising)


def edges(rng: Rng) -> Iterator[Call]:
    yield from tables_and_rows()
    yield call([[0.5, 0.5]], [NAN, 4.0, 1.0, NAN, -1.0])


### END HIDDEN TESTS


TASK_5_1 = Task(
    id="5.1",
    lesson=LESSON,
    module="dspark_mini.scheduling",
    function="schedule_prefixes",
    todo="admit draft tokens in descending survival, up to the first that does not raise Θ",
    hints=(
        "Three questions, one after the other. How likely is each draft token to survive, given nothing? In which "
        "order are they worth their cost? And how far down that order does each further token still raise "
        "Θ = τ · SPS(B), starting from one token a request?",
        "Put (survival, request, position) of every token with a survival above 0 into one list and sort it: survival "
        "falling, then request and position rising. Then walk along it with B, τ and the Θ so far. Stop at the end of "
        "the table, or where the new Θ is not greater. Because survivals fall along a request, counting the admitted "
        "tokens of a request is enough: they are a prefix.",
        "a[r][j] = the product of the first j confidences of request r; drop those that are 0\n"
        "order = all (r, j), highest a first; of equal ones the lower r, then the lower j\n"
        "B = R; tau = R; check_speeds(…) of entry B; theta = tau · table[B]; lengths = R zeros\n"
        "for (r, j) in order:\n"
        "    stop if the table has no entry B + 1\n"
        "    check_speeds(…) of entry B + 1, and stop unless (tau + a) · table[B + 1] > theta\n"
        "    B += 1; tau += a; theta = tau · table[B]; lengths[r] += 1",
    ),
    properties=(
        Property(
            "admits_while_theta_rises",
            "A draft token is verified as long as it raises Θ = τ · SPS(B).",
            3,
            "With ℓ tokens of one request τ = 1 + a_1 + … + a_ℓ and B = 1 + ℓ; a_j is the product c_1 · … · c_j.",
            Values(
                examples=SCHEDULE[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=single_requests,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "stops_at_first_without_rise",
            "The first token that does not raise Θ ends it, even where a later one would.",
            3,
            "Do not search on for a better Θ: to look at later confidences would change the law of the output.",
            Values(
                examples=(
                    Example(call([[0.8, 0.9]], [0.0, 1.0, 0.5, 0.45]), [0]),
                    Example(call([[0.9] * 7], STAIRS), [3]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=stairs_and_jags,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "highest_survival_first",
            "The tokens of all requests stand in one order, by their prefix survival.",
            2,
            "Sort by a, the product of the confidences up to the token, over the whole batch and not by request.",
            Values(
                examples=(Example(call([[0.5, 0.875], [0.75, 0.75]], [0.0, 9.0, 8.0, 7.0, 6.0, 4.0, 2.0]), [0, 2]),),
                ### BEGIN HIDDEN TESTS
                hidden=batches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "every_request_counts_from_the_start",
            "Without any draft token B = R and τ = R: every request verifies and yields one token of its own.",
            1,
            "Start from B = R, τ = R and Θ = R · SPS(R), where R is the number of requests.",
            Values(
                examples=(Example(call([[0.5], [0.25], [0.5]], [0.0, 9.0, 8.0, 4.0, 3.75, 3.5, 1.0]), [1, 0, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=crowds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "decision_follows_the_table",
            "Another table, another decision: where tokens cost nothing all are verified, where they cost much none.",
            1,
            "Read the speed at B + 1 from the table in every step; nothing about it is fixed.",
            Values(
                examples=(
                    Example(call([[0.75, 0.5]], [0.0, 4.0, 4.0, 4.0]), [2]),
                    Example(call([[0.75, 0.5]], [0.0, 4.0, 3.0, 2.0]), [1]),
                    Example(call([[0.75, 0.5]], [0.0, 4.0, 2.0, 1.0]), [0]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=from_flat_to_steep,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties",
            "Equal survivals: the lower request, then the lower position. An equal Θ is no rise.",
            2,
            "A stable sort keeps the order of the batch. Stop where Θ is not greater, that is at <= too.",
            Values(
                examples=(
                    Example(call([[0.5, 1.0], [0.5]], [0.0, 4.0, 4.0, 4.0, 4.0, 1.0]), [2, 0]),
                    Example(call([[0.5, 0.5]], [0.0, 6.0, 4.0, 8.0]), [0]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=tied_batches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "edges",
            "No batch beyond the table, no token with a survival of 0; empty requests and no requests are legal.",
            1,
            "Stop where the table ends, and before the first survival of 0. Entries that are not tried may be "
            "anything: check an entry when you use it, not before.",
            Values(
                examples=(
                    Example(call([[0.75, 0.5, 0.5]], [0.0, 1.0, 1.0]), [1]),
                    Example(call([[0.0, 0.5], [], [0.5]], [0.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0]), [0, 0, 1]),
                    Example(call([[0.5, 0.5]], [0.0, 8.0, 4.0, -1.0]), [0]),
                    Example(call([], [0.0, 1.0]), []),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=edges,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints in a list", SCHEDULE, SCHEDULE_BAD, SCHEDULE_BAD_HIDDEN, bad_hint=CHECKS_HINT),
        Property(
            "many_tokens_in_time",
            "64 requests of 64 tokens take well under 2 s.",
            1,
            "Sort once and keep running sums; do not compute Θ from scratch for every token.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_tokens,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 5.2: allocate_budget -----------------------------------------------------------------------

ALLOCATE = (
    Example(call([[0.5, 0.5], [0.75, 0.5]], 3), [1, 2]),
    Example(call([[0.75], [0.5, 0.75]], 1), [1, 0]),
    Example(call([[0.25, 0.5], [0.5, 0.75]], 0), [0, 0]),
)
ALLOCATE_BAD = (
    Bad(call([[0.5, 0.5], [0.5, 1.5]], 2), "confidences", 1, "1.5 is no chance"),
    Bad(call([[0.5]], -1), "budget", None, "the budget is negative"),
)
ALLOCATE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ALLOCATE_BAD_HIDDEN = (
    *(Bad(call(rows, 2), "confidences", position, what) for rows, position, what in ROWS_BAD_HIDDEN),
    Bad(call([[0.5], [0.5, 0.5, 2.5]], 0), "confidences", 2, "2.5 is no chance, even where there is no budget"),
    Bad(call([[0.5, 0.5]], -3), "budget", None, "the budget is negative"),
)


def any_budget(rng: Rng) -> Iterator[Call]:
    for _ in range(40):
        rows = batch(rng)
        yield call(rows, int(rng.integers(0, size_of(rows))))


def low_starts(rng: Rng) -> Iterator[Call]:
    """A request that starts low and goes on with certainty: its confidences are high, its survivals are not."""
    for _ in range(20):
        rows = batch(rng, low=1, high=3)
        low = [rng.uniform(0.05, 0.25), *rng.uniform(0.995, 0.999, size=4)]
        rows.insert(int(rng.integers(0, len(rows) + 1)), low)
        yield call(rows, int(rng.integers(1, 5)))


def every_budget(rng: Rng) -> Iterator[Call]:
    rows = batch(rng, low=3, high=5)
    for budget in range(size_of(rows) - len(rows) + 1):
        yield call(rows, budget)


def tied_budgets(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        rows = [rng.choice([0.5, 1.0], size=int(rng.integers(1, 5))).tolist() for _ in range(int(rng.integers(2, 6)))]
        yield call(rows, int(rng.integers(1, 8)))


def leftovers(rng: Rng) -> Iterator[Call]:
    yield call([[0.5, 0.0, 0.5], [0.0, 0.75]], 4)
    yield call([[0.0], [0.0]], 3)
    yield call([[1.0, 0.0, 1.0], [1.0, 1.0]], 5)
    yield call([[0.5], [0.25, 0.5]], 1000)
    yield call([[], [0.5, 0.5], []], 2)
    yield call([[], []], 2)
    yield call([], 0)
    yield call([], 5)
    yield call([np.array([0.5, 0.75]), np.array([0.25])], 2)


def many_allocations(rng: Rng) -> Iterator[Call]:
    rows = rng.uniform(0.7, 1.0, size=(64, 64))
    for budget in (0, 1000, 4096):
        yield call(rows, budget)


### END HIDDEN TESTS


TASK_5_2 = Task(
    id="5.2",
    lesson=LESSON,
    module="dspark_mini.scheduling",
    function="allocate_budget",
    todo="give the budget to the tokens of the highest survival in the batch",
    hints=(
        "The number is fixed, so only the order matters: who are the `budget` most likely survivors of the whole "
        "batch? Then count them by request.",
        "The survivals are cumulative products along each request. Sort all of them once, the highest first, so that "
        "equal ones keep the order of the batch; keep the first `budget` of those above 0 and count by request. "
        "np.argsort(-survival, axis=None, kind='stable') does that for a whole matrix.",
        "survival = cumulative products along each row                       → (R, γ)\n"
        "order = flat positions, highest survival first, stable\n"
        "chosen = a flat array of zeros, 1 at the first min(budget, number of survivals above 0) of order\n"
        "return the sums of its rows, as plain ints",
    ),
    properties=(
        Property(
            "highest_survivals_get_it",
            "The `budget` tokens of the highest prefix survival are verified, whichever request they belong to.",
            3,
            "Compare the tokens of all requests with each other; no request has a share of its own.",
            Values(
                examples=ALLOCATE[:2],
                ### BEGIN HIDDEN TESTS
                hidden=any_budget,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "survival_and_not_confidence",
            "A confident token behind a doubtful one is doubtful: the product decides.",
            2,
            "Multiply along the request: a_j = c_1 · … · c_j.",
            Values(
                examples=(Example(call([[0.25, 1.0, 1.0], [0.75, 0.5]], 2), [0, 2]),),
                ### BEGIN HIDDEN TESTS
                hidden=low_starts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "budget_of_the_whole_batch",
            "The budget is a number of draft tokens of all requests together; their own tokens are not in it.",
            1,
            "The verify lengths add up to budget, as long as there are enough tokens.",
            Values(
                examples=(Example(call([[0.5], [0.5], [0.75]], 1), [0, 0, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=every_budget,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties",
            "Of equal survivals the lower request goes first, then the lower position.",
            2,
            "kind='stable' keeps the order of the batch; the default of np.argsort does not.",
            Values(
                examples=(Example(call([[0.5, 1.0], [0.5, 1.0]], 3), [2, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=tied_budgets,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "leftovers",
            "Tokens with a survival of 0 get nothing, and a budget that is too large is left over.",
            1,
            "A token that cannot survive costs time and yields nothing: leave it out even where budget is left.",
            Values(
                examples=(
                    Example(call([[0.5, 0.0, 0.5], [0.25]], 4), [1, 1]),
                    Example(call([[], [0.5]], 4), [0, 1]),
                    Example(call([], 4), []),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=leftovers,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints in a list", ALLOCATE, ALLOCATE_BAD, ALLOCATE_BAD_HIDDEN),
        Property(
            "many_tokens_in_time",
            "64 requests of 64 tokens take well under 2 s.",
            1,
            "Sort once; do not look for the highest survival anew for every token of the budget.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_allocations,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 5.3: lagged_budget -------------------------------------------------------------------------

LAGGED = (
    Example(call([[0.5, 0.5]], [0.0, 8.0, 4.0, 6.0]), 2),
    Example(call([[0.5, 0.5], [0.75]], [0.0, 9.0, 8.0, 7.0, 6.0, 5.0]), 2),
    Example(call([[0.75, 0.5]], [0.0, 4.0, 2.0, 1.0]), 0),
)
LAGGED_BAD = (
    Bad(call([[0.5, 0.5], [0.5, 1.5]], [0.0] + [1.0] * 6), "old_confidences", 1, "1.5 is no chance"),
    Bad(call([[0.5], [0.5], [0.5]], [0.0, 9.0, 8.0]), "steps_per_second", None, "there is no entry for a batch of 3"),
    Bad(call([[0.5, 0.5]], [0.0, 4.0, 1.0, -1.0]), "steps_per_second", 3, "a speed that is looked at is negative"),
)
LAGGED_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
LAGGED_BAD_HIDDEN = (
    *(
        Bad(call(rows, [0.0] + [9.0] * 12), "old_confidences", position, what)
        for rows, position, what in ROWS_BAD_HIDDEN
    ),
    Bad(call([[0.5], [0.5]], [0.0, 9.0, NAN, 8.0, 7.0]), "steps_per_second", 2, "the speed of the batch B = R is NaN"),
    Bad(call([[0.5], [0.5]], [0.0, 9.0, 4.0, 1.0, NAN]), "steps_per_second", 4, "the speed at B = 4 is NaN"),
    Bad(call([[0.75, 0.75, 0.75]], [0.0, 9.0, 1.0, INF, 9.0]), "steps_per_second", 3, "the speed at B = 3 is infinite"),
    Bad(call([[0.75, 0.75, 0.75]], [0.0, 9.0, 9.0, 9.0, 0.0]), "steps_per_second", 4, "the speed at B = 4 is 0"),
    Bad(call([[0.5]], [0.0]), "steps_per_second", None, "there is no entry for a batch of 1"),
    Bad(call([[0.5]], [[0.0, 9.0], [8.0, 7.0]]), "steps_per_second", None, "the table is a matrix"),
)


def single_peaks(rng: Rng) -> Iterator[Call]:
    yield from cases(rng, smooth, high=1)


def many_peaks(rng: Rng) -> Iterator[Call]:
    yield from cases(rng, stairs)
    yield from cases(rng, jagged)


def equal_peaks(rng: Rng) -> Iterator[Call]:
    """Exact speeds under which two or three budgets share the highest Θ."""
    yield call([[0.5, 0.5]], [0.0, 8.0, 1.0, 1.0])
    yield call([[1.0, 1.0, 1.0]], [0.0, 6.0, 3.0, 2.0, 1.5])
    yield call([[1.0, 1.0, 1.0]], [0.0, 1.0, 3.0, 2.0, 1.5])
    yield call([[0.5, 1.0], [1.0]], [0.0, 1.0, 3.0, 4.0, 1.0, 3.0])
    yield call([[1.0], [1.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 4.0, 1.0, 1.0, 2.0, 1.0])


def lagged_edges(rng: Rng) -> Iterator[Call]:
    yield from tables_and_rows()
    yield call([[0.5, 0.0]], [NAN, 4.0, 3.0, NAN, -1.0])


### END HIDDEN TESTS


TASK_5_3 = Task(
    id="5.3",
    lesson=LESSON,
    module="dspark_mini.scheduling",
    function="lagged_budget",
    todo="return the number of draft tokens for which Θ is highest of all",
    hints=(
        "The same Θ as in task 5.1, the same order of the tokens, but another question: not where it stops rising "
        "first, but where it is highest. Confidences that are two rounds old know nothing of the tokens that are "
        "decided on now, so there is no need to stop early.",
        "Compute Θ for 0, 1, 2, … admitted tokens: the running sum of the survivals, starting at R, times the entries "
        "of the table from R on. Only survivals above 0, only entries that exist. np.argmax returns the first, that "
        "is the smallest, of equal maxima.",
        "a = all survivals above 0, highest first\n"
        "tau = R, R + a[0], R + a[0] + a[1], …\n"
        "speeds = the entries R, R + 1, … of the table, as many as tau has and the table holds\n"
        'check_speeds("steps_per_second", R, speeds)\n'
        "return the position of the highest tau · speed, as a plain int",
    ),
    properties=(
        Property(
            "highest_theta",
            "K is the number of draft tokens for which Θ = τ · SPS(B) is highest.",
            3,
            "With K tokens B = R + K, and τ is R plus the K highest survivals.",
            Values(
                examples=LAGGED[1:],
                ### BEGIN HIDDEN TESTS
                hidden=single_peaks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "later_peak_wins",
            "The search is global: a higher peak behind a fall is found.",
            3,
            "Compare all K, from none to all tokens; do not stop where Θ falls for the first time.",
            Values(
                examples=(LAGGED[0], Example(call([[0.9] * 7], STAIRS), 7)),
                ### BEGIN HIDDEN TESTS
                hidden=many_peaks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "highest_survivals_of_the_batch",
            "τ counts the highest survivals of the whole batch, whichever request they belong to.",
            2,
            "Sort the cumulative products of all requests together, the highest first.",
            Values(
                examples=(
                    Example(call([[0.5, 0.875], [0.75, 0.75]], [0.0, 9.0, 8.0, 7.0, 6.0, 4.0, 2.0]), 2),
                    Example(call([[0.25, 1.0, 1.0], [0.75]], [0.0, 9.0, 8.0, 6.5, 5.5, 5.0, 4.5]), 1),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=batches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "every_request_counts_from_the_start",
            "K counts draft tokens only: with K = 0 the batch is B = R and τ = R.",
            1,
            "The entry for K draft tokens is R + K, and R is in τ from the start.",
            Values(
                examples=(Example(call([[0.5], [0.25], [0.5]], [0.0, 9.0, 8.0, 4.0, 3.75, 3.5, 1.0]), 2),),
                ### BEGIN HIDDEN TESTS
                hidden=crowds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "decision_follows_the_table",
            "Another table, another budget: all tokens where they cost nothing, none where they cost much.",
            1,
            "Read the speed of every B from the table; nothing about it is fixed.",
            Values(
                examples=(
                    Example(call([[0.75, 0.5]], [0.0, 4.0, 4.0, 4.0]), 2),
                    Example(call([[0.75, 0.5]], [0.0, 4.0, 3.0, 2.0]), 1),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=from_flat_to_steep,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "smallest_of_equal_budgets",
            "Of budgets with an equal Θ the smallest is taken.",
            1,
            "np.argmax returns the first maximum; a loop must replace the best on > and not on >=.",
            Values(
                examples=(Example(call([[0.5, 0.5]], [0.0, 6.0, 4.0, 2.0]), 0),),
                ### BEGIN HIDDEN TESTS
                hidden=equal_peaks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "edges",
            "No batch beyond the table, no token with a survival of 0; without requests the budget is 0.",
            1,
            "Leave out the survivals of 0, and cut at the end of the table; entry 0 and those beyond the last token "
            "are not looked at.",
            Values(
                examples=(
                    Example(call([[0.75, 0.5, 0.5]], [0.0, 1.0, 1.0]), 1),
                    Example(call([[0.0, 0.5], [], [0.5]], [0.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0]), 1),
                    Example(call([], [0.0, 1.0]), 0),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=lagged_edges,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain int", LAGGED, LAGGED_BAD, LAGGED_BAD_HIDDEN, bad_hint=CHECKS_HINT),
        Property(
            "many_tokens_in_time",
            "64 requests of 64 tokens take well under 2 s.",
            1,
            "Keep a running sum; do not add the survivals up anew for every K.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_tokens,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_5_1, TASK_5_2, TASK_5_3)
