"""Lesson 07, end to end: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from grader.check.judges import Bad, Example, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, call

LESSON = "07_end_to_end"
MODULE = "dspark_mini.rounds"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator

# --- Task 7.1: rollback_rows -------------------------------------------------------------------------

ROLLBACK = (Example(call(5, 3), 1), Example(call(5, 4), 0), Example(call(8, 0), 7))
ROLLBACK_BAD = (
    Bad(call(5, 5), "accepted", None, "five rows verify four drafts only"),
    Bad(call(0, 0), "verified_rows", None, "the anchor's row is always there"),
)
ROLLBACK_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ROLLBACK_BAD_HIDDEN = (
    Bad(call(5, -1), "accepted", None, "a negative number of drafts"),
    Bad(call(-2, 0), "verified_rows", None, "a negative number of rows"),
    Bad(call(1, 1), "accepted", None, "one row verifies no draft"),
    Bad(call(4.5, 1), "verified_rows", None, "half a row"),
)


def all_rounds(rng: Rng) -> Iterator[Call]:
    for rows in range(2, 20):
        for accepted in range(rows - 1):
            yield call(rows, accepted)


def full_blocks(rng: Rng) -> Iterator[Call]:
    for rows in range(1, 65):
        yield call(rows, rows - 1)


### END HIDDEN TESTS

TASK_7_1 = Task(
    id="7.1",
    lesson=LESSON,
    module=MODULE,
    function="rollback_rows",
    todo="count the rows of the drafts that were refused",
    hints=(
        "After the round the cache must hold exactly the committed tokens but the last one, which becomes the anchor.",
        "The forward wrote the rows of the anchor and of ℓ drafts. The anchor's row and those of the accepted drafts "
        "belong to committed tokens. All others go.",
        "kept = 1 + accepted\nreturn verified_rows − kept",
    ),
    properties=(
        Property(
            "refused_rows_go",
            "The rows of the refused drafts are dropped, no more and no fewer.",
            3,
            "Of verified_rows, 1 + accepted stay: the anchor's and those of the accepted drafts.",
            Values(
                examples=ROLLBACK[:1] + ROLLBACK[2:],
                ### BEGIN HIDDEN TESTS
                hidden=all_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "full_block_drops_nothing",
            "Where all drafts are accepted, nothing is dropped: the bonus token has no row yet.",
            1,
            "The last emitted token, correction or bonus, was never fed to the target. It owns no row.",
            Values(
                examples=ROLLBACK[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=full_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "one plain int",
            ROLLBACK,
            ROLLBACK_BAD,
            ROLLBACK_BAD_HIDDEN,
            twins=(Example(call(6, 3), 2), Example(call(5, 2), 2)),
        ),
    ),
)

# --- Task 7.2: decode_round --------------------------------------------------------------------------


def told(rows: int, accepted: int, tokens: list[int]) -> dict[str, object]:
    return {"verified_rows": rows, "accepted": accepted, "tokens": tokens, "dropped_rows": rows - 1 - accepted}


ROUND = (
    Example(call([5, 7, 2], [0.9, 0.8, 0.3], [5, 6, 1, 4], 0.5), told(3, 1, [5, 6])),
    Example(call([5, 7, 2], [0.9, 0.8, 0.3], [5, 7, 1, 4], 0.5), told(3, 2, [5, 7, 1])),
    Example(call([5, 7], [0.25, 0.75], [3, 7, 1], 0.5), told(1, 0, [3])),
    Example(call([5, 7], [0.5, 0.75], [3, 7, 1], 0.5), told(3, 0, [3])),
    Example(call([5, 7], [0.75, 0.75], [5, 7, 1], 0.5), told(3, 2, [5, 7, 1])),
    Example(call([5, 7], [0.75, 0.75], [3, 7, 1], 0.5), told(3, 0, [3])),
)
UNSEEN = Example(call([4, 4, 4], [0.75, 0.25, 0.75], [4, 9, -1, -1], 0.5), told(2, 1, [4, 9]))
ROUND_BAD = (
    Bad(call([5, 7], [0.5, 1.5], [5, 7, 1], 0.5), "confidences", 1, "1.5 is no chance"),
    Bad(call([5, 7], [0.5, 0.5], [5, 7], 0.5), "target_tokens", None, "two drafts have three target tokens"),
    Bad(call([5, 7], [0.5], [5, 7, 1], 0.5), "confidences", None, "there are fewer confidences than drafts"),
    Bad(call([5, 7], [0.5, 0.5], [5, -7, 1], 0.5), "target_tokens", 1, "a token that is used is negative"),
)
ROUND_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ROUND_BAD_HIDDEN = (
    Bad(call([5, -7], [0.5, 0.5], [5, 7, 1], 0.5), "draft_tokens", 1, "−7 is no token"),
    Bad(call([5, 7], [NAN, 0.5], [5, 7, 1], 0.5), "confidences", 0, "a confidence is NaN"),
    Bad(call([5, 7, 2], [0.1, 0.5, -0.5], [5, 7, 1, 1], 0.5), "confidences", 2, "−0.5 is no chance, behind the stop"),
    Bad(call([5, 7], [0.5, 0.5], [5, 7, 1], 1.25), "threshold", None, "1.25 is no chance"),
    Bad(call([5, 7], [0.5, 0.5], [5, 7, 1], NAN), "threshold", None, "the threshold is NaN"),
    Bad(call([5, 7], [0.5, 0.5], [-5, 7, 1], 0.5), "target_tokens", 0, "a token that is used is negative"),
    Bad(call([5, 7], [0.5, 0.5], [5, 7, 1, 2], 0.5), "target_tokens", None, "two drafts have three target tokens"),
)


def chance_round(rng: Rng, sure: float, right: float, vocabulary: int = 4) -> Call:
    size = int(rng.integers(1, 9))
    drafts = rng.integers(0, vocabulary, size=size)
    other = (drafts + rng.integers(1, vocabulary, size=size)) % vocabulary
    targets = np.append(np.where(rng.random(size) < right, drafts, other), rng.integers(0, vocabulary))
    low, high = rng.uniform(0.0, 0.45, size=size), rng.uniform(0.55, 1.0, size=size)
    return call(drafts, np.where(rng.random(size) < sure, high, low), targets, 0.5)


def sure_rounds(rng: Rng) -> Iterator[Call]:
    """Nothing is trimmed; the target decides."""
    for _ in range(40):
        yield chance_round(rng, 1.0, 0.75)


def trimmed_rounds(rng: Rng) -> Iterator[Call]:
    for _ in range(60):
        yield chance_round(rng, 0.7, 0.9)
    yield call([1, 2, 3], [0.75, 0.75, 0.75], [1, 2, 3, 0], 0.75)
    yield call([1, 2, 3], [1.0, 1.0, 0.5], [1, 2, 3, 0], 1.0)


def plain_rounds(rng: Rng) -> Iterator[Call]:
    yield call([], [], [6], 0.5)
    for _ in range(10):
        made = chance_round(rng, 0.9, 0.9)
        drafts, confidences, targets, _ = made.args
        yield call(drafts, np.append(0.25, confidences[1:]), targets, 0.5)


def uncomputed_rows(rng: Rng) -> Iterator[Call]:
    """Rows behind the trimmed block hold no tokens at all."""
    for _ in range(30):
        size = int(rng.integers(2, 9))
        length = int(rng.integers(0, size))
        drafts = rng.integers(0, 4, size=size)
        targets = np.append(drafts, 0)
        targets[length + 1 :] = -1
        confidences = rng.uniform(0.55, 1.0, size=size)
        confidences[length] = 0.25
        yield call(drafts, confidences, targets, 0.5)


def long_round(rng: Rng) -> Iterator[Call]:
    drafts = rng.integers(0, 2000, size=64)
    yield call(drafts, np.ones(64), np.append(drafts, 7), 0.5)


### END HIDDEN TESTS

TASK_7_2 = Task(
    id="7.2",
    lesson=LESSON,
    module=MODULE,
    function="decode_round",
    todo="trim the block, compare what is left with the target, and count the rows",
    hints=(
        "Three decisions in this order: how many drafts go into the forward, how many of those the target confirms, "
        "and what the round emits and drops.",
        "ℓ is found from the confidences alone. The target's rows 0..ℓ exist then, and no other. Walk along them: row "
        "k emits target_tokens[k], and the walk goes on only if there is a draft k < ℓ that equals it.",
        "length = number of confidences before the first one < threshold\n"
        "for k = 0 … length: append target_tokens[k]; stop if k is length or draft k differs from it\n"
        "accepted = number of tokens − 1\n"
        "verified_rows = 1 + length, dropped_rows = length − accepted",
    ),
    properties=(
        Property(
            "target_decides",
            "Drafts are accepted while they equal the target's choice; the target's next token follows.",
            3,
            "Emit the accepted drafts, then target_tokens[accepted]: a correction, or the bonus behind the last draft.",
            Values(
                examples=(*ROUND[:1], *ROUND[4:]),
                ### BEGIN HIDDEN TESTS
                hidden=sure_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "trimmed_before_the_forward",
            "The first confidence below the threshold ends the block before the forward; an equal one passes.",
            3,
            "verified_rows is 1 + ℓ, not 1 + γ, and a draft behind ℓ cannot be accepted, however right it is.",
            Values(
                examples=(*ROUND[1:2], *ROUND[3:4]),
                ### BEGIN HIDDEN TESTS
                hidden=trimmed_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "nothing_verified_is_plain",
            "With ℓ = 0, or without drafts, the round is a step of plain decoding: one row, one token.",
            1,
            "Do not force a draft through: here ℓ may be 0. The anchor's row is still computed.",
            Values(
                examples=ROUND[2:3],
                ### BEGIN HIDDEN TESTS
                hidden=plain_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "uncomputed_rows_unseen",
            "Target tokens of rows that the trimmed forward does not compute are never looked at.",
            2,
            "Only rows 0..ℓ exist. If your function reads further, it trims after the forward, and that saves nothing.",
            Values(
                examples=(UNSEEN,),
                ### BEGIN HIDDEN TESTS
                hidden=uncomputed_rows,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain ints in a dict and in its list",
            ROUND,
            ROUND_BAD,
            ROUND_BAD_HIDDEN,
            twins=(Example(call([5, 7, 2], [0.9, 0.8, 0.3], [5, 6, 1, 4], 0.25), told(4, 1, [5, 6])),),
            bad_hint="Keep the checks at the top of the stub, and pass each target token that you use through "
            'whole_number(f"target_tokens[{k}]", targets[k], low=0); the stub leaves that to you.',
        ),
        Property(
            "long_block_in_time",
            "64 drafts take well under 2 s.",
            1,
            "One walk along the block is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=long_round,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 7.3: best_block_size -----------------------------------------------------------------------

SIZE = (
    Example(call([1, 2], [2, 2], [4.0, 5.0, 6.0]), 2),
    Example(call([0, 0, 1], [4, 4, 4], [4.0, 6.0, 8.0, 10.0, 12.0]), 0),
    Example(call([4, 4], [4, 4], [4.0, 5.0, 6.0, 7.0, 8.0]), 4),
    Example(call([1, 1], [1, 2], [1.0, 2.0, 4.0]), 0),
    Example(call([3, 0], [12, 12], [4.0, 5.0, 6.0, 7.0, 8.0]), 2),
)
SIZE_BAD = (
    Bad(call([1, 3], [2, 2], [4.0, 5.0]), "accepted_counts", 1, "three of two drafts were accepted"),
    Bad(call([1, 2], [2, 2], [4.0, 0.0]), "round_times", 1, "a round takes time"),
    Bad(call([0, 0], [0, 0], [4.0, 5.0]), "verified_counts", None, "no draft was ever tested"),
)
SIZE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
SIZE_BAD_HIDDEN = (
    Bad(call([1, -1], [2, 2], [4.0, 5.0]), "accepted_counts", 1, "a negative number of drafts"),
    Bad(call([1, 1], [2, -2], [4.0, 5.0]), "verified_counts", 1, "a negative number of drafts"),
    Bad(call([1], [2, 2], [4.0, 5.0]), ("accepted_counts", "verified_counts"), None, "one of them is shorter"),
    Bad(call([1, 2], [2, 2], [4.0, NAN, 6.0]), "round_times", 1, "a time is NaN"),
    Bad(call([1, 2], [2, 2], [4.0, 5.0, INF]), "round_times", 2, "a time is infinite"),
    Bad(call([1, 2], [2, 2], [-4.0, 5.0]), "round_times", 0, "a negative time"),
    Bad(call([], [], [4.0, 5.0]), "verified_counts", None, "there are no rounds to learn from"),
    Bad(call([1, 2], [2, 2], []), "round_times", None, "there is no time at all"),
)


def is_clear(made: Call) -> bool:
    """Tell whether the best block size is the best by more than rounding, for α and for its likely mistakes."""
    accepted, verified, times = (np.asarray(arg, dtype=float) for arg in made.args)
    alpha = accepted.sum() / np.minimum(accepted + 1, verified).sum()
    speeds = np.sort(np.cumsum(alpha ** np.arange(times.size)) / times)
    return bool(times.size < 2 or speeds[-1] - speeds[-2] > 1e-6 * speeds[-1])


def some_rounds(rng: Rng, alpha: float, size: int, step: float, most: int = 12) -> Call:
    rounds = int(rng.integers(3, 30))
    accepted = np.cumprod(rng.random((rounds, size)) < alpha, axis=1).sum(axis=1)
    return call(accepted, np.full(rounds, size), 1.0 + step * np.arange(most + 1) + rng.uniform(0, 0.01, most + 1))


def clear(calls: Iterator[Call]) -> Iterator[Call]:
    return (made for made in calls if is_clear(made))


def rejected_rounds(rng: Rng) -> Iterator[Call]:
    """Long blocks, in which nearly every round ends with a rejection: what was never tested must not count."""
    alphas, steps = rng.uniform(0.4, 0.8, size=60), rng.uniform(0.05, 0.3, size=60)
    yield from clear(some_rounds(rng, alpha, 12, step) for alpha, step in zip(alphas, steps))


def full_rounds(rng: Rng) -> Iterator[Call]:
    """Short blocks, which are often accepted whole: such a round has no rejection to count."""
    alphas, steps = rng.uniform(0.6, 0.95, size=60), rng.uniform(0.05, 0.3, size=60)
    yield from clear(some_rounds(rng, alpha, 2, step) for alpha, step in zip(alphas, steps))
    yield call([2, 2, 2], [2, 2, 2], [1.0, 1.25, 1.5, 1.75, 2.0])


def mixed_rounds(rng: Rng) -> Iterator[Call]:
    """Trimmed blocks of many lengths, plain rounds among them."""

    def made() -> Iterator[Call]:
        for _ in range(60):
            verified = rng.integers(0, 8, size=int(rng.integers(4, 30)))
            verified[0] = 4
            accepted = (verified * rng.random(verified.size) ** 0.5).round().astype(int)
            yield call(accepted, verified, 1.0 + rng.uniform(0.02, 0.3) * np.arange(9) ** rng.uniform(0.6, 1.4))

    yield from clear(made())


def exact_ties(rng: Rng) -> Iterator[Call]:
    """Equal speeds in exact binary fractions."""
    yield call([1, 1], [2, 2], [1.0, 1.5, 1.75])
    yield call([1, 1], [2, 2], [1.0, 1.5, 3.5, 3.75])
    yield call([1, 1], [2, 2], [2.0, 1.5, 1.75, 1.875])
    yield call([2], [2], [1.0, 2.0, 3.0, 4.0])


def no_hope(rng: Rng) -> Iterator[Call]:
    yield call([0, 0], [3, 3], [1.0, 1.0, 1.0])
    yield call([0, 0], [3, 3], [2.0, 1.0, 1.5])
    yield call([3], [4], [1.0])


def long_history(rng: Rng) -> Iterator[Call]:
    verified = np.full(2000, 7)
    yield call(rng.integers(0, 8, size=2000), verified, 1.0 + 0.05 * np.arange(65))


### END HIDDEN TESTS

TASK_7_3 = Task(
    id="7.3",
    lesson=LESSON,
    module=MODULE,
    function="best_block_size",
    todo="estimate α from the drafts that were tested, and take the γ of the most tokens per time",
    hints=(
        "Two steps: what is the chance α that a tested draft is accepted, and which block size makes the most tokens "
        "per time at that chance?",
        "A round with a rejection tested accepted + 1 drafts, one without tested all that were verified: "
        "min(accepted + 1, verified). A block of γ drafts yields 1 + α + … + α^γ tokens in round_times[γ].",
        "alpha = sum(accepted) / sum(min(a + 1, v))\n"
        "tokens = cumulative sum of alpha ** 0, alpha ** 1, …\n"
        "return argmax of tokens / round_times",
    ),
    properties=(
        Property(
            "only_tested_drafts_count",
            "α is accepted over tested drafts; what lies behind a rejection was never tested.",
            3,
            "A round that verified 12 drafts and accepted 3 tested four. accepted / verified makes α too small.",
            Values(
                examples=(*SIZE[:2], *SIZE[4:]),
                ### BEGIN HIDDEN TESTS
                hidden=rejected_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "full_blocks_reject_nothing",
            "A round that accepted all its drafts tested just those, and rejected none.",
            2,
            "min(accepted + 1, verified): do not count one rejection a round.",
            Values(
                examples=SIZE[2:3],
                ### BEGIN HIDDEN TESTS
                hidden=full_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "most_tokens_per_time",
            "Over rounds of all lengths, plain ones among them, the γ of the most tokens per time is chosen.",
            3,
            "Divide 1 + α + … + α^γ by round_times[γ] for every γ, 0 included, and take the highest.",
            Values(
                examples=SIZE[3:4],
                ### BEGIN HIDDEN TESTS
                hidden=mixed_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "equal_speeds_take_the_smaller",
            "Of equally fast block sizes the smallest is chosen.",
            1,
            "np.argmax returns the first maximum. A loop must replace the best on > only.",
            Values(
                examples=(Example(call([1, 1], [2, 2], [1.0, 1.5, 2.0]), 0),),
                ### BEGIN HIDDEN TESTS
                hidden=exact_ties,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "nothing_accepted_nothing_hoped",
            "Where no draft was accepted, every block yields one token; the fastest round wins.",
            1,
            "α = 0 is a rate like any other: the sum starts at α ** 0, 0 ** 0 is 1, and the block yields 1 + 0 + 0 ….",
            Values(
                examples=(Example(call([0, 0], [2, 2], [5.0, 4.0, 6.0]), 1),),
                ### BEGIN HIDDEN TESTS
                hidden=no_hope,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain int", SIZE, SIZE_BAD, SIZE_BAD_HIDDEN),
        Property(
            "long_history_in_time",
            "2,000 rounds and 64 drafts take well under 2 s.",
            1,
            "One pass over the rounds and one over the block sizes are enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=long_history,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 7.4: keep_drafting -------------------------------------------------------------------------

KEEP = (
    Example(call([4, 4, 4], [3, 1, 1], 1.5, 2, 8), False),
    Example(call([4, 4, 4], [1, 1, 3], 1.5, 2, 8), True),
    Example(call([4, 4], [1, 1], 1.5, 3, 8), True),
    Example(call([4, 4, 0, 0], [1, 1, 1, 1], 1.5, 2, 3), False),
    Example(call([4, 4, 0, 0, 0], [1, 1, 1, 1, 1], 1.5, 2, 3), True),
    Example(call([4, 4, 0, 0, 4], [1, 1, 1, 1, 1], 1.5, 2, 2), True),
    Example(call([4, 4, 0, 0, 4, 4], [1, 1, 1, 1, 1, 1], 1.5, 2, 2), False),
)
KEEP_BAD = (
    Bad(call([4, 4], [3, 6], 1.5, 2, 8), "emitted", 1, "four drafts yield five tokens at most"),
    Bad(call([4, 4], [3, 1], 1.5, 0, 8), "patience", None, "no round would be looked at"),
    Bad(call([4, 4], [3], 1.5, 2, 8), ("drafted", "emitted"), None, "one of them is shorter"),
)
KEEP_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
KEEP_BAD_HIDDEN = (
    Bad(call([4, -4], [3, 1], 1.5, 2, 8), "drafted", 1, "a negative number of drafts"),
    Bad(call([4, 4], [0, 1], 1.5, 2, 8), "emitted", 0, "a round yields at least one token"),
    Bad(call([4, 0, 4], [3, 2, 1], 1.5, 2, 8), "emitted", 1, "a plain round yields one token"),
    Bad(call([4, 4], [3, 1], NAN, 2, 8), "break_even", None, "the break-even is NaN"),
    Bad(call([4, 4], [3, 1], INF, 2, 8), "break_even", None, "the break-even is infinite"),
    Bad(call([4, 4], [3, 1], 1.5, 2, 0), "retry_after", None, "a pause of no rounds"),
    Bad(call([], [], 1.5, -1, 4), "patience", None, "a negative number of rounds"),
)


def history(rng: Rng, size: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    drafted = rng.integers(1, 8, size=size)
    return drafted, np.minimum(rng.integers(low, high + 1, size=size), drafted + 1)


def drafting(rng: Rng) -> Iterator[Call]:
    """Every round drafted, and there are enough of them; patience is a power of two, so that means are exact."""
    for _ in range(60):
        patience = int(rng.choice([1, 2, 4]))
        drafted, emitted = history(rng, patience + int(rng.integers(0, 6)), 1, 4)
        yield call(
            drafted, emitted, float(rng.choice([1.0, 1.5, 2.0, 2.25, 2.5, 3.0])), patience, int(rng.integers(1, 9))
        )


def old_rounds(rng: Rng) -> Iterator[Call]:
    """Long good times before bad ones, and the other way round."""
    for first, then, size in ((4, 1, 4), (1, 4, 4), (3, 1, 2), (1, 3, 2)):
        drafted = np.full(20 + size, 5)
        yield call(drafted, np.repeat([first, then], [20, size]), 2.0, size, 8)


def young_requests(rng: Rng) -> Iterator[Call]:
    yield call([], [], 1.5, 1, 1)
    for patience in range(2, 8):
        drafted, emitted = history(rng, patience - 1, 1, 1)
        yield call(drafted, emitted, 2.0, patience, 4)


def pauses(rng: Rng) -> Iterator[Call]:
    for retry_after in range(1, 7):
        for pause in range(1, 9):
            drafted, emitted = history(rng, 4, 1, int(rng.integers(1, 4)))
            zeros = np.zeros(pause, dtype=int)
            yield call(np.append(drafted, zeros), np.append(emitted, zeros + 1), 2.0, 2, retry_after)
    yield call([0, 0], [1, 1], 2.0, 2, 2)
    yield call([0], [1], 2.0, 2, 2)


def second_tries(rng: Rng) -> Iterator[Call]:
    """Behind a pause, the rounds before it do not count any more."""
    for patience in (1, 2, 4):
        for tries in range(1, 6):
            for level in (1, 3):
                before, low = history(rng, 5, 1, 1)
                drafted = np.concatenate([before, [0, 0, 0], np.full(tries, 4)])
                emitted = np.concatenate([low, [1, 1, 1], np.full(tries, level)])
                yield call(drafted, emitted, 2.0, patience, 3)


def long_past(rng: Rng) -> Iterator[Call]:
    drafted, emitted = history(rng, 2000, 1, 4)
    yield call(drafted, emitted, 2.0, 64, 64)


### END HIDDEN TESTS

TASK_7_4 = Task(
    id="7.4",
    lesson=LESSON,
    module=MODULE,
    function="keep_drafting",
    todo="look at the last rounds: pause when they did not pay, and try again after the pause",
    hints=(
        "There are two situations, told apart by the last round: it was plain, or it drafted (or there was none).",
        "In a pause, count how many of the last retry_after rounds were plain. While drafting, look at the last "
        "patience rounds: if one of them was plain, or if there are not that many, it is too early to judge.",
        "if the last round was plain: return whether the last retry_after rounds exist and are all plain\n"
        "if fewer than patience rounds, or one of the last patience was plain: return True\n"
        "return mean of the last patience emitted ≥ break_even",
    ),
    properties=(
        Property(
            "low_yield_gives_up",
            "It gives up when the last rounds emitted fewer than break_even tokens on average; an equal mean goes on.",
            3,
            "Compare the mean of the last patience entries of emitted with break_even, and go on at >=.",
            Values(
                examples=(*KEEP[:1], Example(call([4, 4], [1, 2], 1.5, 2, 8), True)),
                ### BEGIN HIDDEN TESTS
                hidden=drafting,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "only_recent_rounds_count",
            "Rounds before the last `patience` ones change nothing.",
            2,
            "emitted[-patience:] are the rounds that count. A mean over all rounds reacts too late.",
            Values(
                examples=KEEP[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=old_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "too_early_to_judge",
            "With fewer than `patience` rounds it goes on drafting; without any it begins.",
            1,
            "One bad round proves nothing. Return True until there are patience rounds, and before the first one, too.",
            Values(
                examples=(*KEEP[2:3], Example(call([], [], 1.5, 2, 8), True)),
                ### BEGIN HIDDEN TESTS
                hidden=young_requests,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "pause_lasts_and_ends",
            "A pause lasts `retry_after` plain rounds, then drafting is tried again.",
            2,
            "Count the plain rounds at the end. Without a way back, one hard sentence turns speculation off for ever.",
            Values(
                examples=KEEP[3:5],
                ### BEGIN HIDDEN TESTS
                hidden=pauses,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "second_try_is_fair",
            "After a pause it is judged anew, by `patience` rounds of its own.",
            2,
            "If one of the last patience rounds was plain, it is too early to judge: go on.",
            Values(
                examples=KEEP[5:],
                ### BEGIN HIDDEN TESTS
                hidden=second_tries,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain bool", KEEP, KEEP_BAD, KEEP_BAD_HIDDEN),
        Property(
            "long_history_in_time",
            "2,000 rounds take well under 2 s.",
            1,
            "Only the last few rounds have to be looked at.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=long_past,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 7.5: round_totals --------------------------------------------------------------------------


def sums(*counts: int) -> dict[str, object]:
    names = ("rounds", "drafted", "trimmed", "rejected", "accepted", "emitted", "cut")
    found = dict(zip(names, counts, strict=True))
    return {**found, "tau": found["emitted"] / found["rounds"] if found["rounds"] else NAN}


TOTALS = (
    Example(call([4, 4], [3, 4], [2, 4], [3, 2]), sums(2, 8, 1, 1, 6, 5, 3)),
    Example(call([4, 0, 2], [4, 0, 1], [0, 0, 1], [1, 1, 2]), sums(3, 6, 1, 4, 1, 4, 0)),
    Example(call([3], [2], [2], [3]), sums(1, 3, 1, 0, 2, 3, 0)),
)
TOTALS_BAD = (
    Bad(call([4, 4], [3, 5], [2, 4], [3, 5]), "verified", 1, "five of four drafts were verified"),
    Bad(call([4, 4], [3, 4], [2, 3], [2, 4]), "emitted", 0, "only the last round may be cut"),
    Bad(call([4, 4], [3, 4], [2], [3, 5]), "accepted", None, "there are fewer entries than rounds"),
)
TOTALS_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TOTALS_BAD_HIDDEN = (
    Bad(call([4, 4], [3, 4], [4, 4], [5, 5]), "accepted", 0, "four of three drafts were accepted"),
    Bad(call([4, 4], [3, 4], [2, 3], [3, 5]), "emitted", 1, "three accepted drafts emit four tokens"),
    Bad(call([4, 4], [3, 4], [2, 3], [3, 0]), "emitted", 1, "a round emits at least one token"),
    Bad(call([4, -4], [3, 0], [2, 0], [3, 1]), "drafted", 1, "a negative number of drafts"),
    Bad(call([4, 4], [-3, 4], [2, 3], [3, 4]), "verified", 0, "a negative number of drafts"),
    Bad(call([4, 4, 4], [4, 4, 4], [2, 3, -1], [3, 4, 1]), "accepted", 2, "a negative number of drafts"),
    Bad(call([4, 4], [3, 4], [2, 3], [3, 4, 1]), "emitted", None, "there are more entries than rounds"),
)


def whole_rounds(rng: Rng) -> Iterator[Call]:
    """Nothing is cut, and nothing trimmed."""
    for _ in range(30):
        drafted = rng.integers(0, 9, size=int(rng.integers(1, 20)))
        accepted = rng.integers(0, drafted + 1)
        yield call(drafted, drafted, accepted, accepted + 1)


def trimmed_blocks(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        drafted = rng.integers(1, 9, size=int(rng.integers(1, 20)))
        verified = rng.integers(0, drafted + 1)
        accepted = rng.integers(0, verified + 1)
        yield call(drafted, verified, accepted, accepted + 1)


def cut_rounds(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        drafted = rng.integers(2, 9, size=int(rng.integers(1, 12)))
        accepted = rng.integers(1, drafted + 1)
        emitted = accepted + 1
        emitted[-1] = rng.integers(1, accepted[-1] + 1)
        yield call(drafted, drafted, accepted, emitted)


def no_rounds(rng: Rng) -> Iterator[Call]:
    yield call([], [], [], [])


def many_rounds(rng: Rng) -> Iterator[Call]:
    drafted = np.full(2000, 7)
    accepted = rng.integers(0, 8, size=2000)
    yield call(drafted, drafted, accepted, accepted + 1)


### END HIDDEN TESTS

TASK_7_5 = Task(
    id="7.5",
    lesson=LESSON,
    module=MODULE,
    function="round_totals",
    todo="sum the rounds up so that every token is counted once",
    hints=(
        "Follow one draft: it is trimmed, or rejected, or accepted. Follow one emitted token: it is an accepted draft, "
        "or the one of the target that every round adds.",
        "trimmed is what was drafted and not verified, rejected what was verified and not accepted. The rounds could "
        "have emitted accepted + rounds tokens; what is missing was cut.",
        "trimmed = Σ drafted − Σ verified\nrejected = Σ verified − Σ accepted\n"
        "cut = Σ accepted + rounds − Σ emitted\ntau = Σ emitted / rounds, nan without rounds",
    ),
    properties=(
        Property(
            "sums_of_whole_rounds",
            "Rounds, drafts, accepted and rejected drafts, and emitted tokens are counted.",
            2,
            "rejected is verified minus accepted, not one a round. A round makes its accepted drafts and one more.",
            Values(
                examples=(Example(call([3, 2], [3, 2], [2, 0], [3, 1]), sums(2, 5, 0, 3, 2, 4, 0)),),
                ### BEGIN HIDDEN TESTS
                hidden=whole_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "trimmed_is_not_rejected",
            "What was trimmed before the forward is counted apart from what the forward rejected.",
            2,
            "trimmed = drafted − verified; rejected = verified − accepted; with accepted they sum to drafted.",
            Values(
                examples=TOTALS[1:],
                ### BEGIN HIDDEN TESTS
                hidden=trimmed_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "cut_tokens_are_not_emitted",
            "τ counts what reached the output; tokens behind its end are cut, and reported as such.",
            2,
            "τ = Σ emitted / rounds. accepted + rounds is what could have been emitted; the rest of it is cut.",
            Values(
                examples=TOTALS[:1],
                ### BEGIN HIDDEN TESTS
                hidden=cut_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "no_rounds_no_rate",
            "Before the first round all counts are 0, and τ is nan.",
            1,
            "Return math.nan for tau if there are no rounds; nothing may be divided by 0.",
            Values(
                examples=(Example(call([], [], [], []), sums(0, 0, 0, 0, 0, 0, 0)),),
                ### BEGIN HIDDEN TESTS
                hidden=no_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain ints and one float in a dict",
            TOTALS,
            TOTALS_BAD,
            TOTALS_BAD_HIDDEN,
            twins=(Example(call([4, 4], [3, 4], [2, 4], [3, 5]), sums(2, 8, 1, 1, 6, 8, 0)),),
        ),
        Property(
            "many_rounds_in_time",
            "2,000 rounds take well under 2 s.",
            1,
            "Sum each list once.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_rounds,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_7_1, TASK_7_2, TASK_7_3, TASK_7_4, TASK_7_5)
