"""Lesson 08, the bug clinic: what the repaired functions must satisfy.

Every task has five points: three or four for what its bug breaks, so that the bug as it was handed out earns one at
most, and one for manners.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.check.judges import (
    Bad,
    EitherForm,
    Evidence,
    Example,
    Judge,
    Law,
    LawCase,
    PlainTypes,
    Raises,
    Repeatable,
    SameSeed,
    Session,
    Unchanged,
    Values,
)
from grader.lessons.tasks import Property, Task
from grader.run.child.calling import Call, Seed, call

LESSON, MODULE = "08_bug_clinic", "dspark_mini.clinic"
DRAWS = 1000  # enough, because the wrong rules deviate by ten standard deviations and more in one of the cases
NAN, INF = math.nan, math.inf
Rng = np.random.Generator


@dataclass(frozen=True)
class Every:
    """Several judges that count as one; the first evidence is what is shown."""

    judges: tuple[Judge, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Ask one after the other."""
        found = (judge(session) for judge in self.judges)
        return next((evidence for evidence in found if evidence is not None), None)


def good_manners(
    result: str, examples: tuple[Example, ...], bad: tuple[Bad, ...], hidden_bad: tuple[Bad, ...], *more: Judge
) -> Property:
    """Return what every graded function must do besides its values, as one property for one point."""
    return Property(
        "good_manners",
        f"Lists and arrays both work, the result is made of {result}, nothing is changed or remembered, and bad input "
        "raises a ValueError that names the argument and the position.",
        1,
        "Keep the given checks at the top, make plain numbers with int(x) or .tolist(), and build every list anew.",
        Every(
            (
                EitherForm(examples),
                PlainTypes(examples),
                Repeatable(examples),
                Unchanged(examples),
                *more,
                Raises(bad, hidden_bad, sentences=True),
            )
        ),
        after_values=True,
    )


def rows(rng: Rng, count: int, vocabulary: int) -> np.ndarray[Any, Any]:
    """Return count probability rows without a zero."""
    return np.array(rng.dirichlet(np.ones(vocabulary), size=count) * 0.9 + 0.1 / vocabulary)


# --- Task 8.1: visible_features ----------------------------------------------------------------------


def mask(*lines: str) -> np.ndarray[Any, Any]:
    """Write a boolean mask as lines of 0 and 1."""
    return np.array([[cell == "1" for cell in line] for line in lines])


FEATURES = (
    Example(call([0, 1], 2), mask("0000", "1000")),
    Example(call([0, 2], 3), mask("000000", "110000")),
)
FEATURES_APART = (Example(call([0, 2], 2), mask("0000", "1100")), Example(call([1, 5], 2), mask("0000", "1100")))
FEATURES_BAD = (
    Bad(call([1, -2], 2), "anchor_positions", 1, "an anchor is negative"),
    Bad(call([], 2), "anchor_positions", None, "there is no anchor"),
)
FEATURES_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
FEATURES_BAD_HIDDEN = (
    Bad(call([1, 2], 0), "block_length", None, "the block has no positions"),
    Bad(call([0.5, 2], 2), "anchor_positions", 0, "an anchor is no whole number"),
)


def overlapping_blocks(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        gamma = int(rng.integers(2, 7))
        steps = rng.integers(0, gamma, size=int(rng.integers(2, 7)))
        yield call(steps.cumsum(), gamma)
    yield call(np.sort(rng.integers(0, 256, size=32)), 16)


def blocks_in_any_order(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(rng.integers(0, 12, size=int(rng.integers(2, 7))), int(rng.integers(1, 5)))


def blocks_apart(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        gamma = int(rng.integers(1, 5))
        steps = rng.integers(gamma, gamma + 4, size=int(rng.integers(1, 6)))
        yield call(steps.cumsum(), gamma)


### END HIDDEN TESTS


TASK_8_1 = Task(
    id="8.1",
    lesson=LESSON,
    module=MODULE,
    function="visible_features",
    todo="let positions decide, not numbers of blocks",
    hints=(
        "An earlier block may reach past the anchor of a later one. What it brings from there is the future of the "
        "later block. So whether a feature may be seen is a question about two positions.",
        "Give every feature the position where it was read: its block's anchor plus 0, 1, …, γ − 1. Then compare it "
        "with the anchor of the block that wants to look.",
        "positions = anchors as a column + 0 … γ − 1, laid out flat        → (A·γ,)\n"
        "return positions < anchors as a column                            → (A, A·γ)",
    ),
    properties=(
        Property(
            "nothing_at_or_after_anchor",
            "Where blocks overlap, a block sees no feature at or after its own anchor.",
            2,
            "Compare where a feature was read with the anchor of the block that looks.",
            Values(
                examples=FEATURES,
                ### BEGIN HIDDEN TESTS
                hidden=overlapping_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "blocks_in_any_order",
            "Anchors may come in any order and may repeat; a block given later may bring earlier positions.",
            1,
            "The number of a block says nothing about its position.",
            Values(
                examples=(Example(call([3, 0], 2), mask("0011", "0000")),),
                ### BEGIN HIDDEN TESTS
                hidden=blocks_in_any_order,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "blocks_apart",
            "Rising blocks that do not overlap see all of the blocks before them, and no other.",
            1,
            "This worked before the repair, and must go on to work: strictly before, on every position.",
            Values(
                examples=FEATURES_APART,
                ### BEGIN HIDDEN TESTS
                hidden=blocks_apart,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("booleans in an array", FEATURES + FEATURES_APART, FEATURES_BAD, FEATURES_BAD_HIDDEN),
    ),
)

# --- Task 8.2: tapped_features -----------------------------------------------------------------------

STATES = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
TAPPED = (
    Example(call(STATES, [1]), np.array([4.0, 5.0])),
    Example(call(STATES, [0]), np.array([2.0, 3.0])),
)
TAPPED_ORDER = (Example(call(STATES, [1, 0, 1]), np.array([4.0, 5.0, 2.0, 3.0, 4.0, 5.0])),)
TAPPED_BAD = (
    Bad(call(STATES, [0, 2]), "layer_ids", 1, "the target has two layers, 0 and 1"),
    Bad(call(STATES, []), "layer_ids", None, "there is no layer"),
)
TAPPED_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TAPPED_BAD_HIDDEN = (
    Bad(call(STATES, [-1]), "layer_ids", 0, "a layer is negative"),
    Bad(call([[0.0, 1.0], [2.0, 3.0], [4.0, NAN]], [0]), "hidden_states", 2, "a state holds a NaN"),
)


def single_taps(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        layers = int(rng.integers(1, 9))
        yield call(rng.normal(size=(layers + 1, int(rng.integers(1, 6)))), [int(rng.integers(layers))])
    yield call(rng.normal(size=(65, 2000)), [63])


def several_taps(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        layers = int(rng.integers(2, 9))
        yield call(rng.normal(size=(layers + 1, 3)), rng.integers(layers, size=int(rng.integers(2, 6))))


### END HIDDEN TESTS


TASK_8_2 = Task(
    id="8.2",
    lesson=LESSON,
    module=MODULE,
    function="tapped_features",
    todo="take what comes out of a layer, not what goes into it",
    hints=(
        "hidden_states has one entry more than the target has layers. Which entry is too many, and where is it?",
        "The first entry is the embedding, the input of layer 0. The output of layer 0 is therefore the second one, "
        "and so on.",
        "for each layer in layers, in this order:\n    take states[layer + 1]\njoin what you took",
    ),
    properties=(
        Property(
            "output_of_the_layer",
            "Layer i gives what comes out of it: hidden_states[i + 1].",
            3,
            "hidden_states[0] is the embedding, so every layer's output stands one place further on.",
            Values(
                examples=TAPPED,
                ### BEGIN HIDDEN TESTS
                hidden=single_taps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "layers_in_given_order",
            "Several layers are joined in the order in which they are named, repeats included.",
            1,
            "Walk over layer_ids as they are: do not sort them and do not drop any.",
            Values(
                examples=TAPPED_ORDER,
                ### BEGIN HIDDEN TESTS
                hidden=several_taps,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("floats in an array", TAPPED, TAPPED_BAD, TAPPED_BAD_HIDDEN),
    ),
)

# --- Task 8.3: block_input_positions -----------------------------------------------------------------

POSITIONS = (
    Example(call([0, 1, 2], 3), [3, 4, 5]),
    Example(call([0], 2), [1, 2]),
)
POSITIONS_BAD = (
    Bad(call([0, 1], 0), "block_size", None, "the block has no inputs"),
    Bad(call([0, -3], 2), "cached_positions", 1, "a position is negative"),
)
POSITIONS_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
POSITIONS_BAD_HIDDEN = (Bad(call([0, 1, -1], 2), "cached_positions", 2, "a position is negative"),)


def whole_caches(rng: Rng) -> Iterator[Call]:
    for size in (1, 2, 5, 40, 256):
        yield call(np.arange(size), int(rng.integers(1, 9)))


def windowed_caches(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        start, size = int(rng.integers(1, 100)), int(rng.integers(1, 12))
        yield call(np.arange(start, start + size), int(rng.integers(1, 9)))


def empty_caches(rng: Rng) -> Iterator[Call]:
    for size in range(1, 9):
        yield call([], size)


### END HIDDEN TESTS


TASK_8_3 = Task(
    id="8.3",
    lesson=LESSON,
    module=MODULE,
    function="block_input_positions",
    todo="seed the block at the anchor's own position",
    hints=(
        "Which token stands in the newest row of the drafter's cache, and which token is the first input of the block?",
        "The newest row belongs to the committed token before the anchor. The anchor stands one position further on, "
        "and the masks follow it.",
        "anchor = position of the newest row + 1, or 0 where there is no row\n"
        "return anchor, anchor + 1, …: block_size of them",
    ),
    properties=(
        Property(
            "behind_the_newest_row",
            "The anchor stands one position behind the newest row of the cache, the masks behind the anchor.",
            2,
            "A position that two inputs share is a sign: the newest row has one already.",
            Values(
                examples=POSITIONS,
                ### BEGIN HIDDEN TESTS
                hidden=whole_caches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "window_keeps_positions",
            "Where a window has dropped the oldest rows, the positions go on as if they were there.",
            1,
            "The number of rows is no position; look at the newest row.",
            Values(
                examples=(Example(call([7, 8, 9], 2), [10, 11]),),
                ### BEGIN HIDDEN TESTS
                hidden=windowed_caches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "empty_cache",
            "With an empty cache the anchor is the first token of all and stands at 0.",
            1,
            "There is no newest row to look at; that case worked before the repair.",
            Values(
                examples=(Example(call([], 3), [0, 1, 2]),),
                ### BEGIN HIDDEN TESTS
                hidden=empty_caches,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("plain ints in a list", POSITIONS, POSITIONS_BAD, POSITIONS_BAD_HIDDEN),
    ),
)

# --- Task 8.4: read_predictions ----------------------------------------------------------------------

OUTPUTS = [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.25, 0.5, 1.0]]
ANCHOR_FIRST = (
    Example(call(OUTPUTS, "dspark"), [1, 0, 2]),
    Example(call([[-INF, 0.5]], "dspark"), [1]),
)
ANCHOR_KNOWN = (Example(call(OUTPUTS, "dflash"), [0, 2]),)
OUTPUTS_BAD = (
    Bad(call(OUTPUTS, "eagle"), "layout", None, "'eagle' is no layout"),
    Bad(call([[0.5, 0.25], [0.5, NAN]], "dspark"), "block_logits", 1, "row 1 holds a NaN"),
)
OUTPUTS_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
OUTPUTS_BAD_HIDDEN = (
    Bad(call([], "dspark"), "block_logits", None, "there is no row at all"),
    Bad(call([[0.5, 0.25], [0.5, 0.25], [INF, 0.5]], "dflash"), "block_logits", 2, "row 2 holds +inf"),
)


def outputs(rng: Rng, layout: str) -> Iterator[Call]:
    for _ in range(20):
        yield call(rng.normal(size=(rng.integers(2, 9), rng.integers(2, 9))), layout)
        yield call(rng.integers(0, 3, size=(4, 5)) / 4.0, layout)


def anchor_first(rng: Rng) -> Iterator[Call]:
    yield from outputs(rng, "dspark")
    yield call(rng.normal(size=(64, 2000)), "dspark")


def anchor_known(rng: Rng) -> Iterator[Call]:
    yield from outputs(rng, "dflash")


### END HIDDEN TESTS


TASK_8_4 = Task(
    id="8.4",
    lesson=LESSON,
    module=MODULE,
    function="read_predictions",
    todo="let the layout say whether the anchor's row predicts",
    hints=(
        "How many rows come out in each layout, and how many of them are predictions?",
        "'dflash' feeds γ masks behind the anchor, and the anchor's own row is of no use. 'dspark' feeds γ − 1 masks: "
        "the anchor's row is the prediction of x_1.",
        "first = 1 for 'dflash', 0 for 'dspark'\nread the rows from `first` on, as before",
    ),
    properties=(
        Property(
            "every_row_in_dspark",
            "In the layout 'dspark' every row predicts, the anchor's too: γ rows, γ tokens.",
            3,
            "Only the layout 'dflash' has a row that predicts nothing.",
            Values(
                examples=ANCHOR_FIRST,
                ### BEGIN HIDDEN TESTS
                hidden=anchor_first,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "masks_only_in_dflash",
            "In the layout 'dflash' the anchor's row is skipped: γ + 1 rows, γ tokens.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=ANCHOR_KNOWN,
                ### BEGIN HIDDEN TESTS
                hidden=anchor_known,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("plain ints in a list", ANCHOR_FIRST + ANCHOR_KNOWN, OUTPUTS_BAD, OUTPUTS_BAD_HIDDEN),
    ),
)

# --- Task 8.5: draft_in_target_ids -------------------------------------------------------------------

MAPPED = (
    Example(call(1, [0.75, 0.25], [0, 2], 4), {"token": 3, "row": np.array([0.75, 0.0, 0.0, 0.25])}),
    Example(call(0, [0.5, 0.5], [1, 1], 3), {"token": 1, "row": np.array([0.0, 0.5, 0.5])}),
)
UNMAPPED = (Example(call(1, [0.25, 0.75], [0, 0], 3), {"token": 1, "row": np.array([0.25, 0.75, 0.0])}),)
MAPPED_BAD = (
    Bad(call(0, [0.5, 0.5], [0, 3], 4), "d2t", 1, "offset 3 leads from 1 to 4, and the vocabulary ends at 3"),
    Bad(call(2, [0.5, 0.5], [0, 1], 4), "token", None, "the drafter has no token 2"),
)
MAPPED_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
MAPPED_BAD_HIDDEN = (
    Bad(call(0, [0.5, 0.5], [0], 4), ("d2t", "draft_probs"), None, "an offset is missing"),
    Bad(call(0, [0.5, 0.75], [0, 1], 4), "draft_probs", None, "the probabilities do not sum to 1"),
    Bad(call(1, [0.5, 0.5], [-1, 1], 4), "d2t", 0, "an offset is negative"),
)


def draft_rows(rng: Rng, vocabulary: int, size: int) -> Call:
    """A drafter whose size tokens are some of the target's, in rising order."""
    ids = np.sort(rng.choice(vocabulary, size=size, replace=False))
    return call(int(rng.integers(size)), rows(rng, 1, size)[0], ids - np.arange(size), vocabulary)


def small_vocabularies(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        vocabulary = int(rng.integers(3, 12))
        yield draft_rows(rng, vocabulary, int(rng.integers(1, vocabulary)))
    yield draft_rows(rng, 2000, 600)


def whole_vocabularies(rng: Rng) -> Iterator[Call]:
    for size in range(1, 9):
        yield call(int(rng.integers(size)), rows(rng, 1, size)[0], [0] * size, size + int(rng.integers(3)))


### END HIDDEN TESTS


TASK_8_5 = Task(
    id="8.5",
    lesson=LESSON,
    module=MODULE,
    function="draft_in_target_ids",
    todo="carry the probabilities over by the same table as the token",
    hints=(
        "After the call, which entry of the row belongs to the token? The acceptance ratio will look it up there.",
        "target_ids[i] is the target's id of the drafter's token i. The token is carried over by it; each probability "
        "must go the same way.",
        "row = zeros, one a token of the target\nfor every draft token i: row[target_ids[i]] = probs[i]",
    ),
    properties=(
        Property(
            "row_in_target_ids",
            "row[t] is the probability with which the drafter drafts the target's token t, 0 where it cannot.",
            3,
            "row[result's token] must be draft_probs[token]: that is the q of the acceptance ratio.",
            Values(
                examples=MAPPED,
                ### BEGIN HIDDEN TESTS
                hidden=small_vocabularies,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "table_without_offsets",
            "With offsets of 0 the ids are the same, and the row is filled up with zeros.",
            1,
            "d2t holds offsets, not ids: a 0 means that the id stays.",
            Values(
                examples=UNMAPPED,
                ### BEGIN HIDDEN TESTS
                hidden=whole_vocabularies,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("a plain int and an array in a dict", MAPPED + UNMAPPED, MAPPED_BAD, MAPPED_BAD_HIDDEN),
    ),
)

# --- Task 8.6: greedy_proposal -----------------------------------------------------------------------

GREEDY = (
    Example(call([[0.75, 0.25]]), {"tokens": [0], "rows": np.array([[1.0, 0.0]])}),
    Example(
        call([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]), {"tokens": [2, 0], "rows": np.array([[0, 0, 1.0], [1.0, 0, 0]])}
    ),
)
GREEDY_TIES = (Example(call([[0.25, 0.375, 0.375]]), {"tokens": [1], "rows": np.array([[0.0, 1.0, 0.0]])}),)
CERTAIN = (Example(call([[0.0, 1.0], [1.0, 0.0]]), {"tokens": [1, 0], "rows": np.array([[0.0, 1.0], [1.0, 0.0]])}),)
GREEDY_BAD = (Bad(call([[0.5, 0.5], [0.5, 0.75]]), "draft_probs", 1, "row 1 does not sum to 1"),)
GREEDY_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
GREEDY_BAD_HIDDEN = (
    Bad(call([[1.5, -0.5], [0.5, 0.5]]), "draft_probs", 0, "row 0 holds a negative probability"),
    Bad(call([[0.5, 0.5], [0.5, 0.5], [NAN, 0.5]]), "draft_probs", 2, "row 2 holds a NaN"),
)


def soft_rows(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(rows(rng, int(rng.integers(1, 6)), int(rng.integers(2, 7))))
    yield call(rows(rng, 64, 2000))


def tied_rows(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        yield call([rng.permutation([0.25, 0.25, 0.25, 0.125, 0.125]) for _ in range(3)])


def certain_rows(rng: Rng) -> Iterator[Call]:
    for _ in range(5):
        yield call(np.eye(6)[rng.integers(6, size=4)])


### END HIDDEN TESTS


TASK_8_6 = Task(
    id="8.6",
    lesson=LESSON,
    module=MODULE,
    function="greedy_proposal",
    todo="hand over the rows that the tokens were really drawn from",
    hints=(
        "q(x) answers one question: how probable was it that this drafter, drafting in this way, would draft x?",
        "An argmax is no draw from the softmax: the best token comes with probability 1, and no other one ever comes.",
        "tokens = argmax of each row\nrows = zeros, with a 1 at the token of each row",
    ),
    properties=(
        Property(
            "rows_are_certain",
            "A greedy draft has q = 1 at its token and 0 everywhere else.",
            2,
            "np.eye(V)[tokens] is one such row for each token.",
            Values(
                examples=GREEDY,
                ### BEGIN HIDDEN TESTS
                hidden=soft_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties_go_to_lowest_id",
            "Of equal probabilities the lowest id is drafted, and it alone has q = 1.",
            1,
            "Make the row from the token, not from a comparison with the maximum.",
            Values(
                examples=GREEDY_TIES,
                ### BEGIN HIDDEN TESTS
                hidden=tied_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "certain_rows_stay",
            "A drafter that was certain before hands over the same rows as before.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=CERTAIN,
                ### BEGIN HIDDEN TESTS
                hidden=certain_rows,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("plain ints in a list, and an array", GREEDY + CERTAIN, GREEDY_BAD, GREEDY_BAD_HIDDEN),
    ),
)

# --- Task 8.7: top_k_proposal ------------------------------------------------------------------------


def with_row(result: Any) -> tuple[int, tuple[float, ...]]:
    """Turn a proposal into an outcome: the token together with the row that is said to be its law."""
    row = np.asarray(result["row"], dtype=np.float64)
    if row.ndim != 1:
        raise ValueError("no row")
    return int(result["token"]), tuple(np.round(row, 9).tolist())


TOP_ROW, WHOLE_ROW = (0.625, 0.375, 0.0), (0.125, 0.625, 0.25)
TOP_TWO = LawCase(call([0.5, 0.3, 0.2], 2, Seed(0)), {(token, TOP_ROW): TOP_ROW[token] for token in (0, 1)})
ALL_KEPT_ROW = LawCase(call(list(WHOLE_ROW), 7, Seed(0)), {(token, WHOLE_ROW): WHOLE_ROW[token] for token in range(3)})
ONLY_THE_BEST = (
    Example(call([0.25, 0.5, 0.25], 1, Seed(0)), {"token": 1, "row": np.array([0.0, 1.0, 0.0])}),
    Example(call([0.375, 0.25, 0.375], 1, Seed(0)), {"token": 0, "row": np.array([1.0, 0.0, 0.0])}),
)
TOP_K_BAD = (
    Bad(call([0.5, 0.5], 0, Seed(0)), "top_k", None, "no token would be kept"),
    Bad(call([0.5, 0.75], 1, Seed(0)), "draft_probs", None, "the probabilities do not sum to 1"),
)
TOP_K_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TOP_K_BAD_HIDDEN = (Bad(call([0.5, NAN], 1, Seed(0)), "draft_probs", 1, "a probability is NaN"),)


def proposal_case(probs: list[float], top_k: int) -> LawCase:
    """The exact law of top_k_proposal."""
    kept = sorted(range(len(probs)), key=lambda token: (-probs[token], token))[:top_k]
    total = sum(probs[token] for token in kept)
    row = tuple(round(p / total, 9) if token in kept else 0.0 for token, p in enumerate(probs))
    return LawCase(call(probs, top_k, Seed(0)), {(token, row): row[token] for token in kept if row[token] > 0})


def top_k_cases(rng: Rng) -> Iterator[LawCase]:
    yield proposal_case(rng.permutation([0.05, 0.1, 0.15, 0.3, 0.4]).tolist(), 3)


### END HIDDEN TESTS


TASK_8_7 = Task(
    id="8.7",
    lesson=LESSON,
    module=MODULE,
    function="top_k_proposal",
    todo="hand over the row that the token was drawn from",
    hints=(
        "The row is no decoration: it is the q of p(x)/q(x). How probable is a token that top-k has thrown away, and "
        "how probable has every other one become?",
        "The weights that the token is drawn with are that row already, only short of the tokens that were thrown "
        "away. Put them back where they belong, with zeros elsewhere.",
        "row = zeros, one a token\nrow[kept] = the kept probabilities, divided by their sum\n"
        "draw the token from row, and hand over row",
    ),
    properties=(
        Property(
            "row_is_what_was_drawn_from",
            "The token is drawn from the top-k tokens, and row holds just the probabilities it was drawn with.",
            3,
            "Divide the kept probabilities by their sum, set all others to 0, and draw from that very row.",
            Law(
                examples=(TOP_TWO,),
                outcome_of=with_row,
                samples=DRAWS,
                ### BEGIN HIDDEN TESTS
                hidden=top_k_cases,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "all_tokens_kept",
            "A top_k of V or more keeps the row as it is.",
            1,
            "This worked before the repair, and must go on to work.",
            Law(
                examples=(ALL_KEPT_ROW,),
                outcome_of=with_row,
                samples=DRAWS,
            ),
        ),
        good_manners(
            "a plain int and an array in a dict",
            ONLY_THE_BEST,
            TOP_K_BAD,
            TOP_K_BAD_HIDDEN,
            SameSeed((call([0.5, 0.25, 0.25], 2, Seed(0)),)),
        ),
    ),
)

# --- Task 8.8: accepted_by_uniforms ------------------------------------------------------------------

EVEN = [0.5, 0.25, 0.25]
RATIO = (
    Example(call([0], [[0.25, 0.5, 0.25]], [[0.25, 0.25, 0.5]], [0.75]), 1),
    Example(call([1, 0], [[0.125, 0.125, 0.75]] * 2, [[0.125, 0.25, 0.625]] * 2, [0.9, 0.9]), 2),
)
SURE_DRAFT = (
    Example(call([0], [[0.75, 0.125, 0.125]], [[0.375, 0.375, 0.25]], [0.75]), 0),
    Example(call([0], [EVEN], [[0.0, 0.5, 0.5]], [0.0]), 0),
)
FIRST_FAILURE = (
    Example(call([0, 1, 0], [EVEN, [0.25, 0.5, 0.25], EVEN], [EVEN, EVEN, EVEN], [0.9, 0.75, 0.25]), 1),
    Example(call([0, 0], [EVEN] * 2, [EVEN] * 2, [0.25, 0.9]), 2),
)
UNIFORMS_BAD = (
    Bad(call([0, 1], [[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5]] * 2, [0.5, 0.5]), "draft_probs", 1, "token 1 has q = 0"),
    Bad(call([0, 1], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2, [0.5]), ("uniforms", "draft_tokens"), None, "one is missing"),
)
UNIFORMS_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
UNIFORMS_BAD_HIDDEN = (
    Bad(call([0, 2], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2, [0.5, 0.5]), "draft_tokens", 1, "there is no token 2"),
    Bad(call([0, 1], [[0.5, 0.5]] * 2, [[0.5, 0.5], [0.5, 0.25]], [0.5, 0.5]), "target_probs", 1, "it sums to .75"),
    Bad(call([0, 1], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2, [0.5, NAN]), "uniforms", 1, "it is NaN"),
)


def near_no_edge(tokens: Any, q: Any, p: Any, uniforms: Any) -> bool:
    """Whether every uniform is clear of its ratio, so that rounding decides nothing."""
    steps = np.arange(len(tokens))
    return bool((np.abs(uniforms - p[steps, tokens] / q[steps, tokens]) > 1e-6).all())


def uniform_calls(rng: Rng, vocabulary: int, count: int) -> Iterator[Call]:
    for _ in range(count):
        gamma = int(rng.integers(1, 7))
        tokens, uniforms = rng.integers(vocabulary, size=gamma), rng.random(gamma) * 0.99
        q, p = rows(rng, gamma, vocabulary), rows(rng, gamma, vocabulary)
        if near_no_edge(tokens, q, p, uniforms):
            yield call(tokens, q, p, uniforms)


def ratios(rng: Rng) -> Iterator[Call]:
    yield from uniform_calls(rng, 4, 60)
    yield from uniform_calls(rng, 2000, 1)


def sure_drafts(rng: Rng) -> Iterator[Call]:
    """The drafter is surer of its token than the target is of any."""
    for token in range(4):
        q = np.full(4, 0.0625)
        q[token] = 0.8125
        yield call([token], [q], [[0.25] * 4], [float(rng.uniform(0.4, 0.9))])
        yield call([token], [q], [[0.25] * 4], [float(rng.uniform(0.0, 0.25))])


def equal_rows(rng: Rng) -> Iterator[Call]:
    """The drafted token is the target's best, with the same probability in both rows; then one is not."""
    for _ in range(20):
        gamma = int(rng.integers(2, 7))
        p = rows(rng, gamma, 5)
        tokens = p.argmax(axis=1)
        q, stop = p.copy(), int(rng.integers(gamma))
        tokens[stop] = p[stop].argmin()
        q[stop] = np.roll(p[stop], tokens[stop] - p[stop].argmax())  # q of the token is p's maximum
        yield call(tokens, q, p, np.full(gamma, 0.97))


### END HIDDEN TESTS


TASK_8_8 = Task(
    id="8.8",
    lesson=LESSON,
    module=MODULE,
    function="accepted_by_uniforms",
    todo="divide the target's probability of the draft by the drafter's",
    hints=(
        "The acceptance ratio compares two models on one token. Which of the two does the code never ask?",
        "p(x) / max p compares the target with itself. The divisor is how probable the draft was under the row that it "
        "was drawn from, q_k(x_k).",
        "for each draft k with its token x:\n    stop, unless uniforms[k] < p[k, x] / q[k, x]\n    count it",
    ),
    properties=(
        Property(
            "ratio_of_target_to_draft",
            "Draft k passes if uniforms[k] is below p_k(x_k) / q_k(x_k).",
            2,
            "A token that the target likes better than the drafter does always passes, be it the target's best or not.",
            Values(
                examples=RATIO,
                ### BEGIN HIDDEN TESTS
                hidden=ratios,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "sure_drafter_pays",
            "A drafter that is surer of its token than the target is rejected in proportion.",
            1,
            "Here q(x) lies above every p, so the divisor is larger than the target's maximum. No uniform is below "
            "a ratio of 0: compare with <.",
            Values(
                examples=SURE_DRAFT,
                ### BEGIN HIDDEN TESTS
                hidden=sure_drafts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "first_failure_ends",
            "The first draft that fails ends the count; later ones are not looked at.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=FIRST_FAILURE,
                ### BEGIN HIDDEN TESTS
                hidden=equal_rows,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("a plain int", RATIO + FIRST_FAILURE, UNIFORMS_BAD, UNIFORMS_BAD_HIDDEN),
    ),
)

# --- Task 8.9: emit_one_token ------------------------------------------------------------------------


REPLACED = LawCase(call(0, [0.25, 0.375, 0.375], [0.5, 0.25, 0.25], Seed(0)), {0: 0.5, 1: 0.25, 2: 0.25})
SURE = (
    Example(call(1, [0.25, 0.75], [0.5, 0.5], Seed(0)), 1),
    Example(call(0, [0.0, 1.0], [0.5, 0.5], Seed(0)), 1),
    Example(call(2, [0.5, 0.5, 0.0], [0.0, 0.5, 0.5], Seed(0)), 0),
)
EMIT_BAD = (
    Bad(call(1, [0.5, 0.5], [1.0, 0.0], Seed(0)), "q", 1, "the draft has q = 0"),
    Bad(call(0, [0.5, 0.25, 0.25], [0.5, 0.5], Seed(0)), ("q", "p"), None, "the rows have different lengths"),
)
EMIT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
EMIT_BAD_HIDDEN = (
    Bad(call(2, [0.5, 0.5], [0.5, 0.5], Seed(0)), "token", None, "there is no token 2"),
    Bad(call(0, [0.5, 0.75], [0.5, 0.5], Seed(0)), "p", None, "p does not sum to 1"),
)


def emission_case(token: int, p: list[float], q: list[float]) -> LawCase:
    """The exact law of the token that is emitted for one draft."""
    accepted = min(1.0, p[token] / q[token])
    residual = np.maximum(np.array(p) - q, 0.0)
    law = (1.0 - accepted) * residual / residual.sum()
    law[token] += accepted
    return LawCase(call(token, p, q, Seed(0)), {t: float(share) for t, share in enumerate(law) if share > 0})


def emission_cases(rng: Rng) -> Iterator[LawCase]:
    """One draft that is often rejected, and several tokens to replace it by."""
    order = rng.permutation(4)
    p, q = np.empty(4), np.empty(4)
    p[order], q[order] = [0.3, 0.3, 0.2, 0.2], [0.1, 0.1, 0.1, 0.7]
    yield emission_case(int(order[3]), p.tolist(), q.tolist())
    yield emission_case(0, [0.4, 0.3, 0.2, 0.1], [0.8, 0.1, 0.05, 0.05])


### END HIDDEN TESTS


TASK_8_9 = Task(
    id="8.9",
    lesson=LESSON,
    module=MODULE,
    function="emit_one_token",
    todo="draw anew for the token that replaces a rejected draft",
    hints=(
        "What does a rejection say about the uniform that caused it? Which values can it no longer have?",
        "After a rejection the uniform lies above the ratio, so it never reaches the first tokens of the residual. The "
        "replacement needs chance of its own: a second draw.",
        "with probability target[token] / draft[token]: return token\n"
        "residual = max(target − draft, 0), divided by its sum\n"
        "return a token drawn from residual, with a fresh call of rng",
    ),
    properties=(
        Property(
            "two_independent_decisions",
            "The draft is kept with probability min(1, p/q); else the residual is drawn from, independently of that.",
            4,
            "Ask rng twice: once to accept, and once more for the token of the residual.",
            Law(
                examples=(REPLACED,),
                outcome_of=int,
                samples=DRAWS,
                ### BEGIN HIDDEN TESTS
                hidden=emission_cases,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners(
            "a plain int",
            SURE,
            EMIT_BAD,
            EMIT_BAD_HIDDEN,
            SameSeed((call(2, [0.5, 0.3, 0.2], [0.2, 0.2, 0.6], Seed(0)),)),
        ),
    ),
)

# --- Task 8.10: commit_until_stop --------------------------------------------------------------------

MID_STOP = (
    Example(call([7], [5, 2, 8], [2]), {"output": [7, 5, 2], "finished": True}),
    Example(call([], [2, 2, 4], [3, 2]), {"output": [2], "finished": True}),
)
NO_MID_STOP = (
    Example(call([7], [5, 8], [2]), {"output": [7, 5, 8], "finished": False}),
    Example(call([7], [5, 2], [2]), {"output": [7, 5, 2], "finished": True}),
    Example(call([1, 2], [3], []), {"output": [1, 2, 3], "finished": False}),
)
COMMIT_BAD = (Bad(call([7], [5, -2, 8], [2]), "round_tokens", 1, "a token is negative"),)
COMMIT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
COMMIT_BAD_HIDDEN = (
    Bad(call([7, -1], [5], [2]), "output", 1, "a token is negative"),
    Bad(call([7], [5], [-3]), "stop_tokens", 0, "a stop token is negative"),
)


def stops_within(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        tokens = rng.integers(4, 12, size=int(rng.integers(2, 9)))
        tokens[int(rng.integers(tokens.size - 1))] = rng.choice([1, 2])
        yield call(rng.integers(4, 12, size=3), tokens, [1, 2])
    yield call(list(range(3, 250)), [5] * 60 + [1] + [5] * 3, [1])


def stops_at_end(rng: Rng) -> Iterator[Call]:
    for last in (5, 1):
        for _ in range(8):
            yield call(rng.integers(4, 12, size=2), [*rng.integers(4, 12, size=3).tolist(), last], [1, 2])


### END HIDDEN TESTS


TASK_8_10 = Task(
    id="8.10",
    lesson=LESSON,
    module=MODULE,
    function="commit_until_stop",
    todo="look for a stop token in the whole round",
    hints=(
        "Plain decoding looks for a stop token after every token. A round commits several: after which of them does "
        "the code look?",
        "Commit the tokens of the round one by one, and look at each; the first stop token is the last one committed.",
        "for each token of the round:\n    append it\n    if it is a stop token: return, finished\n"
        "return, not finished",
    ),
    properties=(
        Property(
            "first_stop_ends",
            "The first stop token of the round is the last token of the output, wherever in the round it stands.",
            3,
            "An accepted draft can be a stop token too, not only the target's own token at the end.",
            Values(
                examples=MID_STOP,
                ### BEGIN HIDDEN TESTS
                hidden=stops_within,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "rounds_without_early_stop",
            "Without a stop token all of the round is kept; one at the end finishes as well.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=NO_MID_STOP,
                ### BEGIN HIDDEN TESTS
                hidden=stops_at_end,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("plain ints and a bool", MID_STOP + NO_MID_STOP, COMMIT_BAD, COMMIT_BAD_HIDDEN),
    ),
)

# --- Task 8.11: finish_request -----------------------------------------------------------------------

STOP_FIRST = (
    Example(call([10, 11, 2, 20, 21, 22], [2], 5), {"tokens": [10, 11, 2], "reason": "stop"}),
    Example(call([2, 9, 9], [2], 2), {"tokens": [2], "reason": "stop"}),
)
STOP_LAST = (Example(call([10, 11, 2, 20], [2], 3), {"tokens": [10, 11, 2], "reason": "stop"}),)
CAP_FIRST = (
    Example(call([10, 11, 12, 2], [2], 3), {"tokens": [10, 11, 12], "reason": "length"}),
    Example(call([10, 11], [2], 3), {"tokens": [10, 11], "reason": "running"}),
    Example(call([10, 11], [2], 2), {"tokens": [10, 11], "reason": "length"}),
    Example(call([10, 2, 11], [2], 4), {"tokens": [10, 2], "reason": "stop"}),
)
FINISH_BAD = (Bad(call([1, 2], [2], -1), "max_new_tokens", None, "the cap is negative"),)
FINISH_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
FINISH_BAD_HIDDEN = (
    Bad(call([1, -2], [2], 3), "tokens", 1, "a token is negative"),
    Bad(call([1, 2], [2, -4], 3), "stop_tokens", 1, "a stop token is negative"),
)


def stop_and_cap(rng: Rng, low: int, high: int) -> Iterator[Call]:
    """A stop token that many places before the cap, and tokens beyond the cap."""
    for _ in range(20):
        cap = int(rng.integers(6, 12))
        tokens = rng.integers(4, 12, size=cap + int(rng.integers(1, 6)))
        tokens[cap - int(rng.integers(low, high))] = rng.choice([1, 2])
        yield call(tokens, [1, 2], cap)


def stops_before_cap(rng: Rng) -> Iterator[Call]:
    yield from stop_and_cap(rng, 2, 7)
    yield call([5] * 1000 + [1] + [5] * 900, [1], 1500)


def stops_at_cap(rng: Rng) -> Iterator[Call]:
    yield from stop_and_cap(rng, 1, 2)


def caps_before_stop(rng: Rng) -> Iterator[Call]:
    yield from stop_and_cap(rng, 0, 1)
    for size in range(4):
        yield call([4] * size, [1], 3)
        yield call([1] * size, [1], 5)
    yield call([4, 1], [1], 0)


### END HIDDEN TESTS


TASK_8_11 = Task(
    id="8.11",
    lesson=LESSON,
    module=MODULE,
    function="finish_request",
    todo="look for the stop token within the cap before the cap ends the request",
    hints=(
        "Both ends are places in the list of tokens. Which of the two comes first is a question of places, not of "
        "which test stands first in the code.",
        "Only the tokens within the cap can be emitted, so look for a stop token among those. If there is none, the "
        "length decides.",
        "for each of the first cap tokens: if it is a stop token, return up to and with it, 'stop'\n"
        "return the first cap tokens: 'length' if there are cap of them or more, else 'running'",
    ),
    properties=(
        Property(
            "stop_before_cap",
            "A stop token before the cap ends the request, even if the same round crosses the cap.",
            2,
            "Look for the stop token first, among the tokens that the cap allows.",
            Values(
                examples=STOP_FIRST,
                ### BEGIN HIDDEN TESTS
                hidden=stops_before_cap,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "stop_as_last_allowed",
            "A stop token that is the last one allowed counts as a stop, not as a cut.",
            1,
            "The tokens are the same either way; the reason is not.",
            Values(
                examples=STOP_LAST,
                ### BEGIN HIDDEN TESTS
                hidden=stops_at_cap,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "cap_before_stop",
            "A stop token behind the cap is never reached; at the cap the request ends, below it runs on.",
            1,
            "This worked before the repair, and must go on to work: no more than cap tokens, ever.",
            Values(
                examples=CAP_FIRST,
                ### BEGIN HIDDEN TESTS
                hidden=caps_before_stop,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("plain ints in a list, and a string", STOP_FIRST + CAP_FIRST, FINISH_BAD, FINISH_BAD_HIDDEN),
    ),
)

# --- Task 8.12: mean_emitted_length ------------------------------------------------------------------

EMITTED = (
    Example(call([[4, 5, 6], [7, 2, 8, 9]], [2]), 2.5),
    Example(call([[2, 4, 4, 4]], [2, 3]), 1.0),
    Example(call([[7, 2, 8, 9], [4, 5]], [2]), 2.0),
)
ALL_EMITTED = (
    Example(call([[4, 5, 6], [7]], [2]), 2.0),
    Example(call([[4, 5, 2]], [2]), 3.0),
)
EMITTED_BAD = (
    Bad(call([], [2]), "rounds", None, "there is no round"),
    Bad(call([[4, 5], [4, -5]], [2]), "rounds", 1, "round 1 holds a negative token"),
)
EMITTED_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
EMITTED_BAD_HIDDEN = (Bad(call([[4, 5]], [2, -1]), "stop_tokens", 1, "a stop token is negative"),)


def some_rounds(rng: Rng, with_stops: bool) -> list[list[int]]:
    tokens = [rng.integers(4, 12, size=int(rng.integers(1, 8))).tolist() for _ in range(int(rng.integers(1, 9)))]
    for block in tokens:
        place = int(rng.integers(len(block)))
        if with_stops and rng.random() < 0.6:
            block[place] = int(rng.choice([1, 2]))
    return tokens


def rounds_with_stops(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(some_rounds(rng, with_stops=True), [1, 2])
    yield call([[5, 1, 5, 5]] * 2000, [1])


def rounds_without_stops(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        yield call(some_rounds(rng, with_stops=False), [1, 2])


### END HIDDEN TESTS


TASK_8_12 = Task(
    id="8.12",
    lesson=LESSON,
    module=MODULE,
    function="mean_emitted_length",
    todo="count the tokens that are emitted, not those that were accepted",
    hints=(
        "Add up what the users got. Does it equal the number of rounds times the mean that the code reports?",
        "Drafts behind a stop token are accepted by the target, yet nobody gets them, and no token of the target "
        "follows. Count each round up to and with its first stop token.",
        "for each round:\n    count its tokens up to and with the first stop token, all of them where there is none\n"
        "return the sum of the counts / number of rounds",
    ),
    properties=(
        Property(
            "only_emitted_tokens",
            "A round counts up to and with its first stop token.",
            3,
            "The stop token itself is emitted; what stands behind it is not.",
            Values(
                examples=EMITTED,
                ### BEGIN HIDDEN TESTS
                hidden=rounds_with_stops,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "rounds_without_stop",
            "A round without a stop token, or with one at its end, counts in full.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=ALL_EMITTED,
                ### BEGIN HIDDEN TESTS
                hidden=rounds_without_stops,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("a plain float", EMITTED + ALL_EMITTED, EMITTED_BAD, EMITTED_BAD_HIDDEN),
    ),
)

# --- Task 8.13: draft_rows_to_drop -------------------------------------------------------------------

DROPPED = (
    Example(call(4, 1), {"drop": 2, "missing": 0}),
    Example(call(4, 0), {"drop": 3, "missing": 0}),
    Example(call(4, 3), {"drop": 0, "missing": 0}),
)
ALL_KEPT = (Example(call(4, 4), {"drop": 0, "missing": 1}),)
ONE_DRAFT = (Example(call(1, 0), {"drop": 0, "missing": 0}),)
DROPPED_BAD = (
    Bad(call(4, 5), "accepted", None, "no round accepts 5 of 4 drafts"),
    Bad(call(0, 0), "drafted", None, "nothing was drafted"),
)
DROPPED_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
DROPPED_BAD_HIDDEN = (
    Bad(call(4, -1), "accepted", None, "the count is negative"),
    Bad(call(4, 1.5), "accepted", None, "the count is no whole number"),
)


def rejecting_rounds(rng: Rng) -> Iterator[Call]:
    for drafted in (2, 3, 7, 64):
        for accepted in range(drafted):
            yield call(drafted, accepted)


def full_rounds(rng: Rng) -> Iterator[Call]:
    for drafted in range(1, 65, 7):
        yield call(drafted, drafted)


### END HIDDEN TESTS


TASK_8_13 = Task(
    id="8.13",
    lesson=LESSON,
    module=MODULE,
    function="draft_rows_to_drop",
    todo="count the rows that were written and the rows that must stay",
    hints=(
        "Write down which tokens were fed to the drafter in this round, and which of them must be in its cache before "
        "the next one.",
        "Fed were the anchor and all drafts but the last: γ rows. Wanted are the anchor and the accepted drafts; the "
        "target's token is the next anchor and must not be there yet. Where all were accepted, the last draft is "
        "wanted, though it was never fed.",
        "surplus = γ − (1 + accepted)\ndrop = surplus, at least 0\nmissing = −surplus, at least 0",
    ),
    properties=(
        Property(
            "rejecting_rounds",
            "After a rejection the anchor and the accepted drafts stay, and nothing else of this round.",
            2,
            "The last draft was never fed, so it has no row that could be dropped.",
            Values(
                examples=DROPPED,
                ### BEGIN HIDDEN TESTS
                hidden=rejecting_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "all_accepted",
            "If every draft was accepted, the last one still has to be fed: one row is missing.",
            1,
            "No trim can reach this case: the cache is short of a row.",
            Values(
                examples=ALL_KEPT,
                ### BEGIN HIDDEN TESTS
                hidden=full_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "single_draft",
            "A single draft was never fed: if it is rejected, there is nothing to drop.",
            1,
            "The one row of the round is the anchor's, and the anchor is committed.",
            Values(examples=ONE_DRAFT),
        ),
        good_manners("plain ints in a dict", DROPPED + ALL_KEPT, DROPPED_BAD, DROPPED_BAD_HIDDEN),
    ),
)

# --- Task 8.14: gated_round --------------------------------------------------------------------------

GATED = (
    Example(call(1, [4, 5, 6], [0.9, 0.8, 0.3], 0.5, [4, 5, 6, 7]), {"target_input": [1, 4, 5], "tokens": [4, 5, 6]}),
    Example(call(1, [4, 5], [0.25, 0.9], 0.5, [4, 5, 6]), {"target_input": [1], "tokens": [4]}),
    Example(call(3, [4, 5, 6], [0.75, 0.5, 0.25], 0.5, [4, 9, 6, 7]), {"target_input": [3, 4, 5], "tokens": [4, 9]}),
)
OPEN_GATE = (
    Example(call(1, [4, 5], [0.5, 0.75], 0.5, [4, 9, 8]), {"target_input": [1, 4, 5], "tokens": [4, 9]}),
    Example(call(1, [4], [0.75], 0.5, [4, 9]), {"target_input": [1, 4], "tokens": [4, 9]}),
)
GATED_BAD = (
    Bad(call(1, [4, 5], [0.5], 0.5, [4, 5, 6]), ("confidences", "draft_tokens"), None, "a confidence is missing"),
    Bad(call(1, [4, 5], [0.5, 1.5], 0.5, [4, 5, 6]), "confidences", 1, "it lies above 1"),
)
GATED_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
GATED_BAD_HIDDEN = (
    Bad(call(1, [4, 5], [0.5, 0.5], 0.5, [4, 5]), ("target_tokens", "draft_tokens"), None, "there must be γ + 1"),
    Bad(call(1, [4, -5], [0.5, 0.5], 0.5, [4, 5, 6]), "draft_tokens", 1, "a token is negative"),
    Bad(call(1, [4, 5], [0.5, 0.5], NAN, [4, 5, 6]), "threshold", None, "it is NaN"),
)


def gated_rounds(rng: Rng) -> Iterator[Call]:
    for _ in range(40):
        gamma = int(rng.integers(1, 8))
        target = rng.integers(0, 9, size=gamma + 1)
        drafts = np.where(rng.random(gamma) < 0.8, target[:gamma], rng.integers(9, 12, size=gamma))
        yield call(int(rng.integers(9)), drafts, rng.integers(3, 9, size=gamma) / 8.0, 0.5, target)
    yield call(0, [5] * 64, [0.75] * 40 + [0.25] * 24, 0.5, [5] * 65)


def open_gates(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        gamma = int(rng.integers(1, 8))
        target = rng.integers(0, 3, size=gamma + 1)
        yield call(1, rng.integers(0, 3, size=gamma), rng.integers(4, 9, size=gamma) / 8.0, 0.5, target)


### END HIDDEN TESTS


TASK_8_14 = Task(
    id="8.14",
    lesson=LESSON,
    module=MODULE,
    function="gated_round",
    todo="apply the gate before the target's forward",
    hints=(
        "The text is the same with and without the bug. What is the gate for, then, and when is that already spent?",
        "The gate must shorten what the target is given. Find the prefix first, then feed it, then accept within it.",
        "prefix = confidences up to the first one below the threshold\n"
        "target_input = the anchor and the first `prefix` drafts\n"
        "accepted = drafts that equal the target's tokens, at most `prefix` of them",
    ),
    properties=(
        Property(
            "target_gets_the_prefix",
            "The target's forward is given the anchor and the confident prefix, and not a row more.",
            3,
            "Count the rows of target_input: 1 + the length of the prefix.",
            Values(
                examples=GATED,
                ### BEGIN HIDDEN TESTS
                hidden=gated_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "open_gate",
            "Where every confidence passes (an equal one does), the whole block is verified as before.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=OPEN_GATE,
                ### BEGIN HIDDEN TESTS
                hidden=open_gates,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("plain ints in lists", GATED + OPEN_GATE, GATED_BAD, GATED_BAD_HIDDEN),
    ),
)

# --- Task 8.15: profiled_verify_length ---------------------------------------------------------------

PROFILED = (
    Example(call([0.5, 0.5], [8.0, 6.0]), 1),
    Example(call([0.5, 0.5, 0.5], [8.0, 4.0]), 0),
    Example(call([0.75, 0.75], [8.0]), 0),
)
WHOLE_PROFILE = (
    Example(call([0.5, 0.5], [8.0, 4.0, 2.0]), 0),
    Example(call([1.0, 1.0], [8.0, 8.0, 8.0]), 2),
    Example(call([1.0, 1.0], [8.0, 4.0, 4.0, 9.0]), 2),
)
PROFILE_TIE = (Example(call([1.0, 0.5], [8.0, 4.0, 3.2]), 0),)
PROFILE_BAD = (
    Bad(call([0.5], []), "steps_per_second", None, "nothing has been profiled"),
    Bad(call([0.5, 0.5], [8.0, 0.0]), "steps_per_second", 1, "a step of zero speed never ends"),
)
PROFILE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
PROFILE_BAD_HIDDEN = (
    Bad(call([], [8.0]), "confidences", None, "there is no confidence"),
    Bad(call([0.5, -0.5], [8.0]), "confidences", 1, "it is negative"),
    Bad(call([0.5], [8.0, 6.0, INF]), "steps_per_second", 2, "it is infinite"),
)


def settled_profiles(rng: Rng, gamma: int, entries: int) -> Iterator[Call]:
    """Profiles whose two best lengths are apart by more than rounding."""
    for _ in range(12):
        chances = rng.uniform(0.3, 1.0, size=gamma)
        speeds = np.sort(rng.uniform(5.0, 20.0, size=entries))[::-1]
        tokens = 1.0 + np.append(0.0, np.cumprod(chances).cumsum())
        best = np.sort(tokens[:entries] * speeds[: tokens.size])
        if best.size == 1 or best[-1] - best[-2] > 1e-6:
            yield call(chances, speeds)


def short_profiles(rng: Rng) -> Iterator[Call]:
    for gamma in range(2, 9):
        yield from settled_profiles(rng, gamma, int(rng.integers(1, gamma + 1)))
    yield from settled_profiles(rng, 64, 20)


def whole_profiles(rng: Rng) -> Iterator[Call]:
    for gamma in range(1, 9):
        yield from settled_profiles(rng, gamma, gamma + 1 + int(rng.integers(3)))
    yield call([1.0, 1.0, 1.0], [8.0, 4.0, 2.0, 2.0])


### END HIDDEN TESTS


TASK_8_15 = Task(
    id="8.15",
    lesson=LESSON,
    module=MODULE,
    function="profiled_verify_length",
    todo="choose among the lengths that were profiled, by the profile",
    hints=(
        "Move the profile and see whether the decision moves. What does the code assume about the speed of a step "
        "when the profile is short?",
        "With a flat profile every further token looks free, so the whole block is verified, always. A length that was "
        "never profiled has no speed: leave it out instead of guessing.",
        "tokens = expected tokens for ℓ = 0 … γ\n"
        "tried = the lengths that have an entry: as many as the shorter of the two\n"
        "return the first ℓ among them with the greatest tokens · speed",
    ),
    properties=(
        Property(
            "only_profiled_lengths",
            "A short profile still decides; lengths without an entry are never chosen.",
            3,
            "Compare the lengths that have an entry, and no others.",
            Values(
                examples=PROFILED,
                ### BEGIN HIDDEN TESTS
                hidden=short_profiles,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "whole_profile",
            "With an entry for every length the best of all is chosen; entries beyond γ do not matter.",
            1,
            "This worked before the repair, and must go on to work: of equal lengths the smallest wins.",
            Values(
                examples=WHOLE_PROFILE + PROFILE_TIE,
                ### BEGIN HIDDEN TESTS
                hidden=whole_profiles,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("a plain int", PROFILED + WHOLE_PROFILE, PROFILE_BAD, PROFILE_BAD_HIDDEN),
    ),
)

# --- Task 8.16: net_time_saved -----------------------------------------------------------------------

REPLAY = (
    Example(call([3, 1], 10.0, 2.0, 12.0, 4.0), {"saved": 16.0, "pays": True}),
    Example(call([2, 0], 10.0, 4.0, 12.0, 8.0), {"saved": -8.0, "pays": False}),
    Example(call([1], 10.0, 2.0, 10.0, 8.0), {"saved": 0.0, "pays": False}),
)
FREE_REPLAY = (
    Example(call([3, 1], 10.0, 2.0, 12.0, 0.0), {"saved": 32.0, "pays": True}),
    Example(call([0, 0], 10.0, 2.0, 12.0, 4.0), {"saved": -8.0, "pays": False}),
    Example(call([], 10.0, 2.0, 12.0, 4.0), {"saved": 0.0, "pays": False}),
)
TIMES_BAD = (
    Bad(call([1, -1], 10.0, 2.0, 12.0, 4.0), "accepted_counts", 1, "a count is negative"),
    Bad(call([1], 10.0, 2.0, 12.0, -4.0), "replay_time", None, "a time is negative"),
)
TIMES_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TIMES_BAD_HIDDEN = (
    Bad(call([1], INF, 2.0, 12.0, 4.0), "target_time", None, "a time is infinite"),
    Bad(call([1], 10.0, NAN, 12.0, 4.0), "draft_time", None, "a time is NaN"),
    Bad(call([1], 10.0, 2.0, -1.0, 4.0), "verify_time", None, "a time is negative"),
)


def clocks(rng: Rng, replay: bool) -> Iterator[Call]:
    """Times in quarters, so that sums are exact whatever their order."""
    for _ in range(20):
        counts = rng.integers(1, 6, size=int(rng.integers(1, 9)))
        target, draft, verify, replayed = (float(n) / 4.0 for n in rng.integers(8, 60, size=4))
        yield call(counts, target, draft, verify, replayed if replay else 0.0)


def clocks_with_replay(rng: Rng) -> Iterator[Call]:
    yield from clocks(rng, replay=True)
    yield call(rng.integers(0, 8, size=2000), 10.0, 2.0, 12.0, 6.5)


def clocks_without_replay(rng: Rng) -> Iterator[Call]:
    yield from clocks(rng, replay=False)


### END HIDDEN TESTS


TASK_8_16 = Task(
    id="8.16",
    lesson=LESSON,
    module=MODULE,
    function="net_time_saved",
    todo="charge the replay of every accepted draft",
    hints=(
        "Add up the clock of one round by hand, with everything that is done between two tokens. Which of the five "
        "numbers does the code never use?",
        "Each accepted draft is replayed once, in full rounds as in others, and each replay takes replay_time.",
        "saved = (accepted + 1 a round) · target_time\n"
        "      − rounds · (draft_time + verify_time)\n"
        "      − accepted, over all rounds, · replay_time",
    ),
    properties=(
        Property(
            "replay_is_a_cost",
            "Every accepted draft costs replay_time; what saves nothing in the end does not pay.",
            3,
            "Subtract replay_time once for each accepted draft, not once a round.",
            Values(
                examples=REPLAY,
                ### BEGIN HIDDEN TESTS
                hidden=clocks_with_replay,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "without_replay",
            "Where nothing is replayed, the rest of the sum is as it was.",
            1,
            "This worked before the repair, and must go on to work.",
            Values(
                examples=FREE_REPLAY,
                ### BEGIN HIDDEN TESTS
                hidden=clocks_without_replay,
                ### END HIDDEN TESTS
            ),
        ),
        good_manners("a float and a bool in a dict", REPLAY + FREE_REPLAY, TIMES_BAD, TIMES_BAD_HIDDEN),
    ),
)

TASKS = (
    TASK_8_1,
    TASK_8_2,
    TASK_8_3,
    TASK_8_4,
    TASK_8_5,
    TASK_8_6,
    TASK_8_7,
    TASK_8_8,
    TASK_8_9,
    TASK_8_10,
    TASK_8_11,
    TASK_8_12,
    TASK_8_13,
    TASK_8_14,
    TASK_8_15,
    TASK_8_16,
)
