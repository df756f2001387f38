"""Lesson 03, sequential heads: what its tasks must satisfy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from grader.check.comparison import same_value, shown
from grader.check.judges import (
    HIDDEN,
    Bad,
    Evidence,
    Example,
    Law,
    LawCase,
    SameSeed,
    Session,
    Values,
    told,
    with_seed,
)
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, Outcome, Seed, call

LESSON = "03_sequential_heads"
NAN, INF = math.nan, math.inf
LN2, LN3, LN4, LN16 = math.log(2), math.log(3), math.log(4), math.log(16)
Rng = np.random.Generator
Array = np.ndarray[Any, Any]

# --- One part of a pair ------------------------------------------------------------------------------


class PartOf:
    """A session in which a pair is a dict of the parts that have a name, so that a property can look at one of them."""

    def __init__(self, session: Session, names: tuple[str, str]) -> None:
        self.session, self.names = session, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def outcome(self, call: Call) -> Outcome:
        return self.outcomes([call])[0]

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        return [replace(outcome, value=named(outcome.value, self.names)) for outcome in self.session.outcomes(calls)]

    def expected(self, call: Call) -> Any:
        return named(self.session.expected(call), self.names)


@dataclass(frozen=True)
class ValuesOfPart(Values):
    """One part of a pair has the right values: the one that has a name."""

    names: tuple[str, str] = ("", "")

    def __call__(self, session: Session) -> Evidence | None:
        """Judge the examples and hidden cases as Values does, on that part."""
        return super().__call__(cast(Session, PartOf(session, self.names)))


def named(value: Any, names: tuple[str, str]) -> Any:
    if not isinstance(value, (tuple, list)) or len(value) != len(names):
        return value
    return {name: part for name, part in zip(names, value) if name}


def only(example: Example, names: tuple[str, str]) -> Example:
    """Return an example of which only the part with a name is looked at."""
    return Example(example.call, named(example.expected, names))


# --- Task 3.1: low_rank_bias -------------------------------------------------------------------------

W1, W2 = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]
BIAS = (
    Example(call(W1, W2, 1), np.array([0.0, 2.0, 0.0])),
    Example(call(W1, W2, 2), np.array([1.0, 3.0, 3.0])),
    Example(call([[0.5], [-2.0]], [[4.0, 1.0]], 1), np.array([-8.0, -2.0])),
)
BIAS_TWINS = (
    Example(call([[1.0], [2.0]], [[3.0, 1.0]], 0), np.array([3.0, 1.0])),
    Example(call([[1.0], [2.0]], [[3.0, 1.0]], 1), np.array([6.0, 2.0])),
    Example(call([[4.0], [2.0]], [[3.0, 1.0]], 0), np.array([12.0, 4.0])),
    Example(call([[1.0], [2.0]], [[3.0, 5.0]], 0), np.array([3.0, 5.0])),
)
BIAS_BAD = (
    Bad(call(W1, W2, 3), "token", None, "the vocabulary has the tokens 0, 1 and 2"),
    Bad(call([[1.0, 0.5], [NAN, 0.5]], [[1.0, 2.0], [0.0, 1.0]], 1), "w1", 1, "row 1, which is used, holds a NaN"),
)
BIAS_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
BIAS_BAD_HIDDEN = (
    Bad(call(W1, W2, -1), "token", None, "a token is never negative"),
    Bad(call(W1, [[1.0, 2.0, 3.0]], 0), ("w1", "w2"), None, "w1 has two columns and w2 one row"),
    Bad(call(W1, [[1.0, 2.0], [0.0, 1.0]], 0), ("w1", "w2"), None, "w1 has three rows and w2 two columns"),
    Bad(call(W1, [[1.0, 2.0, 3.0], [0.0, NAN, 0.0]], 0), "w2", 1, "row 1 of w2 holds a NaN"),
    Bad(call(W1, [[1.0, INF, 3.0], [0.0, 1.0, 0.0]], 0), "w2", 0, "row 0 of w2 holds +inf"),
    Bad(call([[1.0, INF], [1.0, 0.5]], [[1.0, 2.0], [0.0, 1.0]], 0), "w1", 0, "row 0, which is used, holds +inf"),
    Bad(call(W1, [[1.0, 2.0, 3.0], [0.0, 1.0]], 0), "w2", 1, "row 1 of w2 is shorter than row 0"),
    Bad(call(W1, [[1.0, 2.0, 3.0], [0.0, INF, NAN]], 0), "w2", 1, "row 1 of w2 holds +inf and a NaN"),
    Bad(call([[1.0], [2.0], [3.0]], [[NAN, 0.0, 1.0]], 0), "w2", 0, "row 0 of w2 holds a NaN"),
    Bad(call([1.0, 2.0], [[1.0, 2.0]], 0), "w1", None, "w1 is no matrix", wrong_nesting=True),
    Bad(call([[1.0], [2.0]], [1.0, 2.0], 0), "w2", None, "w2 is no matrix", wrong_nesting=True),
)


def lookup(rng: Rng, vocabulary: int, rank: int) -> Call:
    w1, w2 = rng.normal(size=(vocabulary, rank)), rng.normal(size=(rank, vocabulary))
    return call(w1, w2, int(rng.integers(vocabulary)))


def random_lookups(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        yield lookup(rng, int(rng.integers(5, 12)), int(rng.integers(2, 5)))
    yield call(np.array([[2], [-1], [3]]), np.array([[1, 0, -2]]), 2)
    yield call([[1e150], [1e-150]], [[1e150, 1e-150]], 0)


def square_lookups(rng: Rng) -> Iterator[Call]:
    """As many numbers a row as tokens, so that a transposed matrix has the right shape too."""
    for size in (2, 3, 4, 5, 6) * 3:
        yield lookup(rng, size, size)


def edge_lookups(rng: Rng) -> Iterator[Call]:
    """Rank 1, a vocabulary of 1, more numbers a row than tokens, the first and the last token."""
    for vocabulary, rank in ((1, 1), (1, 4), (5, 1), (2, 6), (3, 8)):
        yield lookup(rng, vocabulary, rank)
        w1, w2, _ = lookup(rng, vocabulary, rank).args
        yield call(w1, w2, 0)
        yield call(w1, w2, vocabulary - 1)


def broken_other_rows(rng: Rng) -> Iterator[Call]:
    for bad in (NAN, INF, -INF):
        w1, w2, token = lookup(rng, 6, 3).args
        w1[np.arange(6) != token, rng.integers(3)] = bad
        yield call(w1, w2, token)


def large_lookup(rng: Rng) -> Iterator[Call]:
    yield lookup(rng, 2000, 64)


### END HIDDEN TESTS


TASK_3_1 = Task(
    id="3.1",
    lesson=LESSON,
    module="dspark_mini.heads",
    function="low_rank_bias",
    todo="look up one row of W1 and multiply it by W2",
    hints=(
        "The table of all biases is the product W1 W2, with V rows and V columns. One row of a product needs one row "
        "of the left matrix only, and the table itself is never made.",
        'table_row("w1", w1, token) looks up the row and refuses a NaN in it. A row (r,) times a matrix (r, V) is '
        "written with @ and has V entries.",
        'row = table_row("w1", w1, token)      # (r,)\nreturn the product of row and w2       # (V,)',
    ),
    properties=(
        Property(
            "row_of_the_product",
            "The bias is row `token` of W1, times W2.",
            3,
            "Use @: each of the r numbers of the row weighs one row of w2, and the weighted rows are added up.",
            Values(
                examples=BIAS[:1],
                ### BEGIN HIDDEN TESTS
                hidden=random_lookups,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "rows_are_the_tokens_before",
            "A row of W1 belongs to the token before, a column of W2 to the token that follows.",
            2,
            "Row `token` is w1[token], not w1[:, token]; and w2 is not transposed.",
            Values(
                examples=(
                    Example(call([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [10.0, 1.0]], 0), np.array([21.0, 2.0])),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=square_lookups,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "every_shape",
            "Any V and any r will do: r = 1, V = 1, r larger than V, the first token, the last.",
            1,
            "Let @ do the sum over r; nothing in your lines should depend on V or r.",
            Values(
                examples=BIAS[2:],
                ### BEGIN HIDDEN TESTS
                hidden=edge_lookups,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "other_rows_are_not_read",
            "No other row of W1 is looked at: a NaN there does no harm.",
            1,
            "Check and multiply the one row that you looked up, not all of w1.",
            Values(
                examples=(Example(call([[NAN], [2.0]], [[1.0, -1.0]], 1), np.array([2.0, -2.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=broken_other_rows,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "float64 numbers in an array",
            BIAS,
            BIAS_BAD,
            BIAS_BAD_HIDDEN,
            BIAS_TWINS,
            "Keep the given checks, and take the row by table_row: it refuses a row that is not finite.",
        ),
        Property(
            "large_table_in_time",
            "A vocabulary of 2,000 with r = 64 takes well under 2 s.",
            1,
            "Do not build the table of V × V numbers; one row of it is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_lookup,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 3.2: sample_markov_block -------------------------------------------------------------------

DRAWS = 1200  # a share may be off by 0.09 then at most, and the known wrong rules are off by 0.12 or more


def drawn_tokens(result: Any) -> tuple[int, ...]:
    return tuple(int(token) for token in result[0])


@dataclass(frozen=True)
class Chain:
    """A call of sample_markov_block, and the right row of each position for every token that may stand before it."""

    call: Call
    rows: tuple[dict[int, list[float]], ...]

    def law(self) -> LawCase:
        """Return the exact probability of every block, by enumeration."""
        law: dict[Any, float] = {}
        (anchor,) = self.rows[0]
        for tokens in itertools.product(range(len(self.rows[0][anchor])), repeat=len(self.rows)):
            steps = zip(self.rows, (anchor, *tokens), tokens)
            law[tokens] = math.prod(rows[previous][token] for rows, previous, token in steps)
        return LawCase(self.call, law)


@dataclass(frozen=True)
class RowsOfTheDraw(Values):
    """Row k is the distribution that follows the token which was really drawn before it."""

    chains: tuple[Chain, ...] = ()
    hidden_chains: Callable[[Rng], Iterable[Chain]] | None = None

    @property
    def is_empty(self) -> bool:
        return not self.chains and self.hidden_chains is None

    def __call__(self, session: Session) -> Evidence | None:
        for chain in self.chains:
            for _ in range(8):
                evidence = self._wrong(session, chain)
                if evidence:
                    return evidence
        hidden = self.hidden_chains(session.rng) if self.hidden_chains else ()
        return HIDDEN if any(self._wrong(session, chain) for chain in hidden) else None

    def _wrong(self, session: Session, chain: Chain) -> Evidence | None:
        seeded = with_seed(chain.call, int(session.rng.integers(2**31)))
        first = session.outcome(seeded)
        if self._is_right(chain, first) or any(
            self._is_right(chain, session.outcome(form)) for form in (seeded.as_lists(), seeded.as_arrays())
        ):
            return None
        try:
            rows = f"tokens {shown(list(first.value[0]))} with the rows {shown(self._rows(chain, first))}"
        except Exception:  # the result has another shape than is promised
            rows = f"{len(chain.rows)} tokens, and the row that each of them was drawn from"
        return session.evidence(seeded, rows, told(first))

    def _is_right(self, chain: Chain, outcome: Outcome) -> bool:
        try:
            tokens, rows = outcome.value
            return outcome.error is None and same_value(self._rows(chain, outcome), rows) and len(tokens) == len(rows)
        except Exception:
            return False

    def _rows(self, chain: Chain, outcome: Outcome) -> list[list[float]]:
        """Return the rows that belong to the tokens of a result."""
        (anchor,) = chain.rows[0]
        drawn = [int(token) for token in outcome.value[0]]
        assert len(drawn) == len(chain.rows) and all(0 <= token < len(chain.rows[0][anchor]) for token in drawn)
        return [rows[previous] for rows, previous in zip(chain.rows, (anchor, *drawn))]


STAY = ({0: [0.8, 0.2]}, {0: [0.8, 0.2], 1: [0.2, 0.8]})
CHAIN = Chain(call([[0.0, 0.0], [0.0, 0.0]], 0, [[LN4], [-LN4]], [[1.0, 0.0]], Seed(0)), STAY)
TEMPERED = Chain(call([[0.0, 0.0], [0.0, 0.0]], 0, [[LN16], [-LN16]], [[1.0, 0.0]], Seed(0), 2.0), STAY)
UNEQUAL = Chain(
    call([[LN3, 0.0], [0.0, LN3]], 1, [[LN3], [0.0]], [[1.0, 0.0]], Seed(0)),
    ({1: [0.75, 0.25]}, {0: [0.5, 0.5], 1: [0.25, 0.75]}),
)


def block_example(expected: list[int], rows: list[list[float]], *arguments: Any, **more: Any) -> Example:
    return Example(call(*arguments, **more), (expected, np.array(rows)))


ARGMAX = (
    block_example([0, 0], [[1.0, 0.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 1.0]], 0, [[1.0], [-1.0]], [[3.0, 0.0]], Seed(0),
                  temperature=0.0),
    block_example([1], [[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.5]], 2, [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
                  [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], Seed(0), temperature=0.0),
    block_example([1, 0, 1], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], 0,
                  [[0.5], [-0.5]], [[0.0, 1.0]], Seed(0), temperature=0),
)  # fmt: skip
TIE = block_example([0, 1], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.5, 0.5, 0.5], [0.25, 0.5, 0.5]], 2,
                    [[0.0], [1.0], [0.0]], [[1.0, 1.0, 1.0]], Seed(0), temperature=0.0)  # fmt: skip
SAMPLE_TWINS = (
    block_example([1], [[0.0, 1.0]], [[0.0, 1.0]], 0, [[0.0], [1.0]], [[2.0, 0.0]], Seed(0), temperature=0.0),
    block_example([0], [[1.0, 0.0]], [[0.0, 1.0]], 1, [[0.0], [1.0]], [[2.0, 0.0]], Seed(0), temperature=0.0),
    block_example([0], [[1.0, 0.0]], [[4.0, 1.0]], 0, [[0.0], [1.0]], [[2.0, 0.0]], Seed(0), temperature=0.0),
    block_example([0], [[1.0, 0.0]], [[0.0, 1.0]], 0, [[4.0], [1.0]], [[2.0, 0.0]], Seed(0), temperature=0.0),
)
SAMPLE_BAD = (
    Bad(call([[0.0, 1.0], [NAN, 0.5]], 0, [[1.0], [2.0]], [[1.0, 0.0]], Seed(0)), "base_logits", 1, "row 1 has a NaN"),
    Bad(call([[0.0, 1.0]], 2, [[1.0], [2.0]], [[1.0, 0.0]], Seed(0)), "anchor_token", None, "there is no token 2"),
    Bad(
        call([[0.0, 1.0]], 0, [[1.0], [2.0]], [[1.0, 0.0]], Seed(0), -1.0),
        "temperature",
        None,
        "a temperature is never negative",
    ),
)
SAMPLE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
FITS = ([[1.0], [2.0]], [[1.0, 0.0]], Seed(0))
SAMPLE_BAD_HIDDEN = (
    Bad(call([[0.5, 0.25], [0.5, 0.25], [INF, 0.5]], 0, *FITS), "base_logits", 2, "row 2 holds +inf"),
    Bad(call([[-INF, -INF], [0.5, 0.25]], 0, *FITS), "base_logits", 0, "row 0 holds nothing but −inf"),
    Bad(call([[0.5, 0.25], [0.5, 0.25], [0.5]], 0, *FITS), "base_logits", 2, "row 2 is shorter than the others"),
    Bad(call([], 0, *FITS), "base_logits", None, "there is no row at all"),
    Bad(call([0.5, 0.25], 0, *FITS), "base_logits", None, "it is no matrix", wrong_nesting=True),
    Bad(call([[0.5, 0.25], [0.5, INF], [NAN, 0.5]], 0, *FITS), "base_logits", 1, "row 1 is the first bad one"),
    Bad(call([[0.5, 0.25]], -1, *FITS), "anchor_token", None, "a token is never negative"),
    Bad(call([[0.5, 0.25]], 0, *FITS, NAN), "temperature", None, "the temperature is NaN"),
    Bad(call([[0.5, 0.25]], 0, *FITS, INF), "temperature", None, "the temperature is infinite"),
    Bad(call([[0.5, 0.25, 0.5]], 0, *FITS), ("w1", "w2", "base_logits"), None, "the block has three tokens, w1 two"),
    Bad(call([[0.5, 0.25]], 0, [[1.0], [2.0]], [[1.0, 0.0], [1.0, 0.0]], Seed(0)), ("w1", "w2"), None, "r differs"),
    Bad(call([[0.5, 0.25]], 0, [[1.0], [2.0]], [[1.0, 0.0, 0.5]], Seed(0)), ("w2", "base_logits"), None, "V differs"),
    Bad(call([[0.5, 0.25]], 0, [[1.0], [2.0]], [[1.0, NAN]], Seed(0)), "w2", 0, "row 0 of w2 holds a NaN"),
    Bad(call([[0.5, 0.25]], 1, [[1.0], [NAN]], [[1.0, 0.0]], Seed(0)), "w1", 1, "the anchor's row of w1 holds a NaN"),
    Bad(
        call([[0.5, 0.25, 9.0], [0.5, 0.75, 0.0]], 0, [[0.0], [0.0], [INF]], [[1.0, 0.0, 1.0]], Seed(0), 0.0),
        "w1",
        2,
        "the row of w1 of the token that was drawn holds +inf",
    ),
)  # fmt: skip


def chain_arguments(rng: Rng, gamma: int, vocabulary: int, scale: float = 1.0) -> tuple[Array, int, Array, Array]:
    rank = int(rng.integers(1, 4))
    w1, w2 = rng.normal(size=(vocabulary, rank)), rng.normal(size=(rank, vocabulary)) * scale
    return rng.normal(size=(gamma, vocabulary)), int(rng.integers(vocabulary)), w1, w2


def as_chain(base: Array, anchor: int, w1: Array, w2: Array, temperature: float) -> Chain:
    """Put down the row of every position for every token before it."""
    rows = []
    for k, logits in enumerate(base):
        scores = {t: (logits + w1[t] @ w2) / temperature for t in ([anchor] if k == 0 else range(logits.size))}
        weights = {t: np.exp(score - score.max()) for t, score in scores.items()}
        rows.append({t: (weight / weight.sum()).tolist() for t, weight in weights.items()})
    return Chain(call(base, anchor, w1, w2, Seed(0), temperature), tuple(rows))


def random_laws(rng: Rng) -> Iterator[LawCase]:
    """One law without rare blocks, of which too few would come to tell anything."""
    while True:
        base, anchor, w1, w2 = chain_arguments(rng, 2, 3, scale=0.7)
        case = as_chain(base * 0.3, anchor, w1, w2, temperature=1.0).law()
        if min(case.law.values()) > 0.04:
            yield case
            return


def random_chains(rng: Rng, temperatures: tuple[float, ...] = (1.0,), low: int = 2, high: int = 6) -> Iterator[Chain]:
    """Blocks of every small shape, some tokens masked."""
    for temperature in temperatures * (24 // len(temperatures)):
        gamma, vocabulary = int(rng.integers(low, high + 1)), int(rng.integers(2, 7))
        base, anchor, w1, w2 = chain_arguments(rng, gamma, vocabulary, scale=2.0)
        base[:, 1:] = np.where(rng.random(base[:, 1:].shape) < 0.2, -np.inf, base[:, 1:])
        yield as_chain(base, anchor, w1, w2, temperature)


def single_rows(rng: Rng) -> Iterator[Chain]:
    yield from random_chains(rng, low=1, high=1)


def tempered_chains(rng: Rng) -> Iterator[Chain]:
    yield from random_chains(rng, temperatures=(0.25, 0.5, 2.0, 5.0), low=1)


def argmax_blocks(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        arguments = chain_arguments(rng, int(rng.integers(1, 7)), int(rng.integers(2, 9)), scale=3.0)
        yield call(*arguments, Seed(int(rng.integers(99))), 0.0)
    for _ in range(20):  # ties between exact binary fractions
        base, w1 = rng.integers(-2, 2, size=(4, 5)) / 4.0, rng.integers(-1, 2, size=(5, 1)) / 2.0
        yield call(base, int(rng.integers(5)), w1, rng.integers(-1, 2, size=(1, 5)) / 2.0, Seed(1), 0.0)


def rows_never_met(rng: Rng) -> Iterator[Call]:
    """A chain that stays at two tokens; the rows of w1 of all others are broken."""
    for bad in (NAN, INF, -INF) * 3:
        w1 = np.full((6, 2), bad)
        first, second = rng.permutation(6)[:2]
        w1[first], w1[second] = [1.0, 0.0], [0.0, 1.0]
        w2 = np.zeros((2, 6))
        w2[0, second] = w2[1, first] = 9.0
        yield call(rng.normal(size=(5, 6)), int(first), w1, w2, Seed(2), 0.0)


def huge_logits(rng: Rng) -> Iterator[Call]:
    """Gaps of thousands: every row is one-hot whatever is drawn, if nothing overflows."""
    for sign in (1.0, -1.0, 1.0, -1.0):
        base = np.array([rng.permutation(5) * 4000.0 for _ in range(4)]) + sign * 90000.0
        yield call(base, 0, rng.uniform(-1.0, 1.0, size=(5, 2)), rng.uniform(-1.0, 1.0, size=(2, 5)), Seed(3), 1.0)


def large_chain(rng: Rng) -> Iterator[Call]:
    w1, w2 = rng.normal(size=(2000, 64)), rng.normal(size=(64, 2000))
    yield call(rng.normal(size=(64, 2000)), 7, w1, w2, Seed(4), 0.0)


### END HIDDEN TESTS


TASK_3_2 = Task(
    id="3.2",
    lesson=LESSON,
    module="dspark_mini.heads",
    function="sample_markov_block",
    todo="draw each token, and keep its row",
    hints=(
        "Two things go from position to position: which token was drawn, and which rows have been used. The row that "
        "you return is the one that you gave to the generator, with the temperature in it.",
        "Per position: add the bias of `previous` to the logits, divide by the temperature, take the softmax (subtract "
        "the maximum first, so that exp never overflows), draw with rng.choice(V, p=row). At temperature 0 the row has "
        "a single 1, at the argmax; a draw from it gives just that token.",
        "for each position k and its logits:\n"
        '    corrected = logits + table_row("w1", w1, previous) @ w2\n'
        "    if temperature is 0: row = zeros with a 1 at corrected.argmax()\n"
        "    else: weights = exp((corrected - its maximum) / temperature); row = weights / their sum\n"
        "    token = rng.choice(V, p=row), as a plain int\n"
        "    note token and row, and let token be `previous`\n"
        "return the tokens as a list and the rows as one array",
    ),
    properties=(
        Property(
            "law_of_the_block",
            "The block is drawn along the chain: every block comes as often as the product of its rows says.",
            3,
            "Correct the row by the token that was really drawn before it, then draw from the whole row, not its best "
            "token; the anchor is for x_1 only.",
            Law(
                (CHAIN.law(),),
                drawn_tokens,
                ### BEGIN HIDDEN TESTS
                hidden=random_laws,
                ### END HIDDEN TESTS
                samples=DRAWS,
            ),
        ),
        Property(
            "first_row_is_corrected",
            "Row 1 is the softmax of the base logits plus the bias of the anchor.",
            2,
            "The row is exp of the corrected logits, divided by its sum; the bias is in it from the first position on.",
            RowsOfTheDraw(
                chains=(
                    Chain(
                        call([[LN3, 0.0, 0.0]], 1, [[0.0], [LN2], [0.0]], [[-1.0, 0.0, 1.0]], Seed(0)),
                        ({1: [1.5 / 4.5, 1.0 / 4.5, 2.0 / 4.5]},),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden_chains=single_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "rows_are_those_drawn_from",
            "Row k is the distribution that token k was drawn from, given the token drawn before it.",
            3,
            "Keep each row as you draw from it; do not compute it again afterwards, from other tokens.",
            RowsOfTheDraw(
                chains=(CHAIN, UNEQUAL),
                ### BEGIN HIDDEN TESTS
                hidden_chains=random_chains,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "temperature_divides_the_sum",
            "The sum of logits and bias is divided by the temperature before the softmax.",
            2,
            "softmax((U_k + bias) / temperature): the bias is divided too, and the draw sees the temperature.",
            Law((TEMPERED.law(),), drawn_tokens, samples=DRAWS),
        ),
        Property(
            "rows_have_the_temperature",
            "The rows that come back have the temperature in them, as the draws have.",
            2,
            "Return the very row that you gave to the generator, not the softmax at temperature 1.",
            RowsOfTheDraw(
                chains=(TEMPERED,),
                ### BEGIN HIDDEN TESTS
                hidden_chains=tempered_chains,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "zero_is_argmax",
            "At temperature 0 each token is the best of its corrected row, the lowest id of equals, in a one-hot row.",
            2,
            "Do not divide by 0: set the row to zeros with a 1 at corrected.argmax().",
            Values(
                examples=(ARGMAX[0], TIE),
                ### BEGIN HIDDEN TESTS
                hidden=argmax_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "rows_not_met_are_not_read",
            "Rows of w1 that the chain does not meet are never looked at.",
            1,
            "Take table_row inside the loop, for the one token before; do not multiply all of w1.",
            Values(
                examples=(
                    block_example(
                        [0, 0],
                        [[1.0, 0.0], [1.0, 0.0]],
                        [[1.0, 0.0], [1.0, 0.0]],
                        0,
                        [[2.0], [NAN]],
                        [[1.0, 0.0]],
                        Seed(0),
                        temperature=0.0,
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=rows_never_met,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "huge_logits_stay_finite",
            "Logits of thousands, positive or negative, give rows without NaN.",
            1,
            "exp overflows from 710 on: subtract the row's maximum before exp.",
            Values(
                examples=(
                    block_example([1], [[0.0, 1.0]], [[0.0, 9000.0]], 0, [[1.0], [1.0]], [[1.0, 0.0]], Seed(0), 1.0),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=huge_logits,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "same_seed_same_block",
            "rng is the only source of chance: the same seed draws the same block.",
            1,
            "Draw with rng.choice or rng.random, and with nothing else.",
            SameSeed((CHAIN.call,)),
        ),
        *manners(
            "plain ints in a list and float64 numbers in an array",
            ARGMAX,
            SAMPLE_BAD,
            SAMPLE_BAD_HIDDEN,
            SAMPLE_TWINS,
            "Keep the given checks, and take the rows of w1 by table_row: it refuses a row that is not finite.",
        ),
        Property(
            "large_block_in_time",
            "A block of 64 positions, 2,000 tokens and r = 64 takes well under 2 s.",
            1,
            "One product of a row with w2 a position: neither a table of V × V biases nor np.eye(V) is ever made.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_chain,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 3.3: rnn_head_step -------------------------------------------------------------------------

STATE, BIAS_OF_STEP = ("state", ""), ("", "bias")


def step_example(state: list[float], bias: list[float], *arguments: Any) -> Example:
    return Example(call(*arguments), (np.array(state), np.array(bias)))


RNN = (
    step_example([1.625], [2.0, -1.0], [2.0], [0.0], [1.0],
                 [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [LN3, LN3 / 2, LN3 / 2]], [[4.0, -2.0]]),
    step_example([0.4], [1.0], [0.0], [1.0], [0.0],
                 [[0.0, 0.0, 0.0], [-LN4, LN3 / 2, LN3 / 2], [0.0, 0.0, 0.0]], [[2.0]]),
    step_example([1.0, -2.0], [0.0, 0.0, 0.0], [2.0, -4.0], [1.0, 1.0], [1.0],
                 [[0.0] * 6] * 5, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
)  # fmt: skip
ZEROS = [[0.0] * 3] * 3
HALF = [[0.0] * 3, [0.0, LN3 / 2, LN3 / 2], [0.0] * 3]
RNN_TWINS = (
    step_example([1.25], [1.0], [2.0], [1.0], [1.0], HALF, [[2.0]]),
    step_example([2.25], [1.0], [4.0], [1.0], [1.0], HALF, [[2.0]]),
    step_example([0.75], [-1.0], [2.0], [-1.0], [1.0], HALF, [[2.0]]),
    step_example([1.25], [3.0], [2.0], [1.0], [1.0], HALF, [[6.0]]),
    step_example([1.0], [0.0], [2.0], [1.0], [1.0], ZEROS, [[2.0]]),
)
RNN_BAD = (
    Bad(call([1.0], [0.5, 0.5], [1.0], ZEROS, [[1.0]]), ("prev_embedding", "state"), None, "r is 1 and then 2"),
    Bad(call([1.0], [0.5], [NAN], ZEROS, [[1.0]]), "hidden", 0, "hidden[0] is NaN"),
)
RNN_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
RNN_BAD_HIDDEN = (
    Bad(call([INF], [0.5], [1.0], ZEROS, [[1.0]]), "state", 0, "state[0] is +inf"),
    Bad(call([1.0, 0.5], [0.5, NAN], [1.0], [[0.0] * 6] * 5, [[1.0], [1.0]]), "prev_embedding", 1, "position 1 is NaN"),
    Bad(call([1.0], [0.5], [1.0, 2.0], ZEROS, [[1.0]]), ("w_joint", "hidden"), None, "w_joint has a row too few"),
    Bad(call([1.0], [0.5], [1.0], [[0.0, 0.0]] * 3, [[1.0]]), "w_joint", None, "w_joint has a column too few"),
    Bad(call([1.0], [0.5], [1.0], ZEROS, [[1.0], [1.0]]), "w2", None, "w2 has a row too many"),
    Bad(call([1.0], [0.5], [1.0], [[0.0] * 3, [0.0, NAN, 0.0], [0.0] * 3], [[1.0]]), "w_joint", 1, "row 1 has a NaN"),
    Bad(call([1.0], [0.5], [1.0], ZEROS, [[1.0, INF]]), "w2", 0, "row 0 of w2 holds +inf"),
    Bad(call([1.0], [0.5], [1.0], [[0.0] * 3, [0.0] * 3, [0.0] * 2], [[1.0]]), "w_joint", 2, "row 2 is shorter"),
    Bad(call([1.0], [0.5], [0.0, INF, NAN], [[0.0] * 3] * 5, [[1.0]]), "hidden", 1, "hidden[1] is the first bad one"),
    Bad(call([[1.0]], [0.5], [1.0], ZEROS, [[1.0]]), "state", None, "state is a matrix", wrong_nesting=True),
    Bad(call([1.0], [0.5], [1.0], ZEROS, [1.0]), "w2", None, "w2 is no matrix", wrong_nesting=True),
)


def step(rng: Rng, rank: int, size: int, vocabulary: int, scale: float = 1.0) -> Call:
    w_joint = rng.normal(size=(2 * rank + size, 3 * rank)) * scale
    vectors = rng.normal(size=rank), rng.normal(size=rank), rng.normal(size=size)
    return call(*vectors, w_joint, rng.normal(size=(rank, vocabulary)))


def random_steps(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        yield step(rng, int(rng.integers(2, 5)), int(rng.integers(1, 6)), int(rng.integers(2, 7)))
    yield call([1, 0], [0, 2], [1], np.ones((5, 6), dtype=int), [[1, 0], [2, 3]])


def empty_candidates(rng: Rng) -> Iterator[Call]:
    """No candidate: all that is left of the new state is the old one, weighed by the gate."""
    for made in itertools.islice(random_steps(rng), 30):
        state, _, _, w_joint, _ = made.args
        w_joint[:, state.size : 2 * state.size] = 0.0
        yield made


def sizes_of_steps(rng: Rng) -> Iterator[Call]:
    for rank, size, vocabulary in ((1, 1, 1), (1, 5, 3), (3, 1, 1), (4, 4, 4), (2, 2, 6), (5, 2, 2)):
        yield step(rng, rank, size, vocabulary)


def saturated_steps(rng: Rng) -> Iterator[Call]:
    """Sums of thousands: gates are open or shut, and everything else is ±1."""
    for _ in range(10):
        yield step(rng, 3, 4, 5, scale=4000.0)


def large_step(rng: Rng) -> Iterator[Call]:
    yield step(rng, 64, 512, 2000, scale=0.1)


### END HIDDEN TESTS


TASK_3_3 = Task(
    id="3.3",
    lesson=LESSON,
    module="dspark_mini.heads",
    function="rnn_head_step",
    todo="split one product, then state and bias",
    hints=(
        "Follow the numbers: 2r + d of them go in as one vector z, one product makes 3r of them, and these are three "
        "vectors of length r. The gate mixes old state and candidate; the output makes the bias and nothing else.",
        "np.concatenate joins the three inputs in the order state, prev_embedding, hidden; np.split(…, 3) cuts the "
        "product into gate, candidate, output. σ(x) = (1 + tanh(x / 2)) / 2 never overflows. The output goes through "
        "tanh before it meets w2.",
        "z = state, prev_embedding and hidden in one vector\n"
        "gate, candidate, output = np.split(z @ w_joint, 3)\n"
        "keep = σ(gate)\n"
        "new state = keep · state + (1 - keep) · tanh(candidate)\n"
        "return the new state, and tanh(output) @ w2",
    ),
    properties=(
        Property(
            "gate_keeps_the_state",
            "σ(gate) of the old state is kept, entry by entry.",
            2,
            "The first r columns of w_joint are the gate's, and the gate weighs the old state, not the candidate.",
            ValuesOfPart(
                names=STATE,
                examples=(only(RNN[2], STATE),),
                ### BEGIN HIDDEN TESTS
                hidden=empty_candidates,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "candidate_fills_the_rest",
            "The new state is σ(gate) · state + (1 − σ(gate)) · tanh(candidate).",
            3,
            "The candidate is the middle third of the product, goes through tanh and gets the weight 1 − σ(gate).",
            ValuesOfPart(
                names=STATE,
                examples=(only(RNN[0], STATE),),
                ### BEGIN HIDDEN TESTS
                hidden=random_steps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "output_gives_the_bias",
            "The bias is tanh(output) W2, with the output taken from the same product as gate and candidate.",
            3,
            "z is state, prev_embedding, hidden, in this order, and the state is the old one. The last r columns are "
            "the output's, which goes through tanh before w2.",
            ValuesOfPart(
                names=BIAS_OF_STEP,
                examples=(only(RNN[0], BIAS_OF_STEP), only(RNN[1], BIAS_OF_STEP)),
                ### BEGIN HIDDEN TESTS
                hidden=random_steps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "every_size",
            "Any r, d and V will do: 1, equal ones, d larger or smaller than r.",
            1,
            "Take r from the state's length; np.split(…, 3) needs no sizes at all.",
            Values(
                examples=RNN[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=sizes_of_steps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "saturation_stays_finite",
            "Sums of thousands open or shut the gate; nothing becomes NaN.",
            1,
            "exp(x) / (1 + exp(x)) is inf / inf for a large x; (1 + tanh(x / 2)) / 2 is σ without overflow.",
            Values(
                examples=(
                    step_example(
                        [5.0], [3.0], [5.0], [1.0], [1.0], [[0.0] * 3, [4000.0, 1.0, 4000.0], [0.0] * 3], [[3.0]]
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=saturated_steps,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("two arrays of float64 numbers", RNN, RNN_BAD, RNN_BAD_HIDDEN, RNN_TWINS),
        Property(
            "large_step_in_time",
            "A step with r = 64, d = 512 and 2,000 tokens takes well under 2 s.",
            1,
            "Two products of a vector with a matrix are enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_step,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 3.4: draft_inputs --------------------------------------------------------------------------

INPUTS, POSITIONS = ("input_ids", ""), ("", "positions")


def layout_example(ids: list[int], positions: list[int], *arguments: Any) -> Example:
    return Example(call(*arguments), (ids, positions))


LAYOUTS = (
    layout_example([7, 99, 99, 99], [1, 2, 3], 7, 99, 3, "dflash"),
    layout_example([7, 99, 99], [0, 1, 2], 7, 99, 3, "dspark"),
)
LAYOUT_TWINS = (
    layout_example([7, 99], [0, 1], 7, 99, 2, "dspark"),
    layout_example([7, 99, 99], [1, 2], 7, 99, 2, "dflash"),
    layout_example([8, 99], [0, 1], 8, 99, 2, "dspark"),
    layout_example([7, 98], [0, 1], 7, 98, 2, "dspark"),
)
LAYOUT_BAD = (
    Bad(call(7, 99, 3, "eagle"), "layout", None, "there are two layouts, 'dflash' and 'dspark'"),
    Bad(call(7, 99, 0, "dspark"), "block_size", None, "a block has at least one position"),
)
LAYOUT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
LAYOUT_BAD_HIDDEN = (
    Bad(call(7, 99, 0, "dflash"), "block_size", None, "a block has at least one position"),
    Bad(call(7, 99, -3, "dflash"), "block_size", None, "the block size is negative"),
    Bad(call(7, 99, 3, "DFlash"), "layout", None, "the names are written in small letters"),
    Bad(call(7, 99, 3, ""), "layout", None, "the name is empty"),
)


def layouts(layout: str) -> Callable[[Rng], Iterator[Call]]:
    def calls(rng: Rng) -> Iterator[Call]:
        for size in range(2, 17):
            yield call(int(rng.integers(100)), int(rng.integers(100, 200)), size, layout)

    return calls


def single_positions(rng: Rng) -> Iterator[Call]:
    for layout in ("dflash", "dspark"):
        yield call(int(rng.integers(100)), int(rng.integers(100)), 1, layout)


def any_tokens(rng: Rng) -> Iterator[Call]:
    """Token 0 as anchor and as mask, and an anchor that is the mask token itself."""
    for layout in ("dflash", "dspark"):
        for anchor, mask in ((0, 5), (5, 0), (0, 0), (151_935, 151_669)):
            yield call(anchor, mask, int(rng.integers(2, 9)), layout)


def large_layouts(rng: Rng) -> Iterator[Call]:
    for layout in ("dflash", "dspark"):
        yield call(int(rng.integers(100)), 1999, 64, layout)


### END HIDDEN TESTS


TASK_3_4 = Task(
    id="3.4",
    lesson=LESSON,
    module="dspark_mini.heads",
    function="draft_inputs",
    todo="say what goes in, and which rows predict",
    hints=(
        "Count the outputs first: γ predictions are wanted in either layout. In one of them the anchor's position is "
        "one of the γ, in the other it predicts nothing and an input more is needed.",
        "DFlash: 1 + γ inputs, and positions 1 to γ predict. DSpark: γ inputs, and positions 0 to γ − 1 predict. The "
        "first position that predicts, 1 or 0, is also the number of masks beyond γ − 1.",
        "first = 1 for 'dflash', 0 for 'dspark'\n"
        "ids = the anchor, then block_size - 1 + first masks\n"
        "positions = block_size numbers from first on\n"
        "return ids, positions",
    ),
    properties=(
        Property(
            "dflash_inputs",
            "DFlash: the anchor, then γ masks.",
            2,
            "The anchor's position predicts nothing there, so each of the γ predictions needs a mask.",
            ValuesOfPart(
                names=INPUTS,
                examples=(only(LAYOUTS[0], INPUTS),),
                ### BEGIN HIDDEN TESTS
                hidden=layouts("dflash"),
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "dflash_positions",
            "DFlash: the γ mask positions predict, 1 to γ.",
            2,
            "Position 0 is the anchor's; x_1 comes out at the first mask.",
            ValuesOfPart(
                names=POSITIONS,
                examples=(only(LAYOUTS[0], POSITIONS),),
                ### BEGIN HIDDEN TESTS
                hidden=layouts("dflash"),
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "dspark_inputs",
            "DSpark: the anchor, then γ − 1 masks.",
            2,
            "The anchor's own position is one of the γ that predict, so one mask less is needed.",
            ValuesOfPart(
                names=INPUTS,
                examples=(only(LAYOUTS[1], INPUTS),),
                ### BEGIN HIDDEN TESTS
                hidden=layouts("dspark"),
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "dspark_positions",
            "DSpark: all γ positions predict, from the anchor's on: 0 to γ − 1.",
            2,
            "x_1 comes out at the anchor's position, x_2 at the first mask.",
            ValuesOfPart(
                names=POSITIONS,
                examples=(only(LAYOUTS[1], POSITIONS),),
                ### BEGIN HIDDEN TESTS
                hidden=layouts("dspark"),
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "block_of_one",
            "γ = 1: DFlash needs one mask, DSpark none.",
            1,
            "With γ = 1, [mask] * (γ - 1) is the empty list, and that is right for DSpark.",
            Values(
                examples=(layout_example([4], [0], 4, 9, 1, "dspark"),),
                ### BEGIN HIDDEN TESTS
                hidden=single_positions,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "any_tokens",
            "Token 0 is a token like any other, and the anchor may equal the mask token.",
            1,
            "Count positions; never look for the mask token among the ids, and never test a token with `if token`.",
            Values(
                examples=(layout_example([0, 0, 0], [1, 2], 0, 0, 2, "dflash"),),
                ### BEGIN HIDDEN TESTS
                hidden=any_tokens,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("two lists of plain ints", LAYOUTS, LAYOUT_BAD, LAYOUT_BAD_HIDDEN, LAYOUT_TWINS),
        Property(
            "large_block_in_time",
            "A block of 64 takes well under 2 s.",
            1,
            "Two lists of 64 numbers take no time at all.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_layouts,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_3_1, TASK_3_2, TASK_3_3, TASK_3_4)
