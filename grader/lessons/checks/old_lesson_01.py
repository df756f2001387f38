"""Lesson 01, verification: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import Bad, Example, Law, LawCase, SameSeed, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, Seed, call

LESSON = "01_verification"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator
Array = np.ndarray[Any, Any]
KEEP_CHECKS = "Keep the given checks at the top of the stub; they run before your lines."

# --- Task 1.1: verify_greedy -------------------------------------------------------------------------


def kept(accepted: int, *tokens: int) -> dict[str, Any]:
    """Write down the result of a verifier."""
    return {"accepted": accepted, "tokens": list(tokens)}


GREEDY = (
    Example(call([1, 2, 0], [[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.1, 0.6, 0.3], [0.5, 0.3, 0.2]]), kept(2, 1, 2, 1)),
    Example(call([1], [[0.0, 1.0], [2.0, 0.0]]), kept(1, 1, 0)),
    Example(call([0, 0], [[-1.0, 3.0], [5.0, 0.0], [5.0, 0.0]]), kept(0, 1)),
)
GREEDY_BAD = (
    Bad(call([1], [[0.25, 0.75], [NAN, 0.5]]), "target_logits", 1, "row 1 is used and holds a NaN"),
    Bad(call([1, 0], [[0.25, 0.75], [0.5, 0.25]]), ("target_logits", "draft_tokens"), None, "two drafts need 3 rows"),
    Bad(call([1, 7], [[0.25, 0.75]] * 3), "draft_tokens", 1, "there are two tokens, and 7 is none of them"),
)
GREEDY_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
GREEDY_BAD_HIDDEN = (
    Bad(call([1], [[NAN, 0.75], [0.5, 0.25]]), "target_logits", 0, "row 0 holds a NaN"),
    Bad(call([], [[0.5, INF]]), "target_logits", 0, "row 0 holds +inf"),
    Bad(call([1, 1], [[0.25, 0.75], [0.25, 0.75], [-INF, -INF]]), "target_logits", 2, "row 2 holds only −inf"),
    Bad(call([1], [[0.25, 0.75]] * 3), ("target_logits", "draft_tokens"), None, "one draft needs 2 rows, not 3"),
    Bad(call([], []), ("target_logits", "draft_tokens"), None, "without drafts there is still one row"),
    Bad(call([1], [[0.25, 0.75], [0.5]]), "target_logits", 1, "row 1 is shorter than the first"),
    Bad(call([], [[]]), "target_logits", None, "the vocabulary is empty"),
    Bad(call([1], [0.25, 0.75]), "target_logits", None, "it is no matrix"),
    Bad(call([-1], [[0.25, 0.75]] * 2), "draft_tokens", 0, "a draft is negative"),
    Bad(call([1, 1, 2], [[0.25, 0.75]] * 4), "draft_tokens", 2, "2 lies just outside the vocabulary"),
)


def rounds(rng: Rng, agreement: float, low: int = 1) -> Iterator[tuple[list[int], Array]]:
    """Drafts and target rows of every small shape; a draft is the target's choice with a given probability."""
    for _ in range(30):
        gamma, vocabulary = int(rng.integers(low, 8)), int(rng.integers(2, 12))
        logits = rng.normal(scale=3.0, size=(gamma + 1, vocabulary))
        best = logits[:-1].argmax(axis=1)
        other = (best + rng.integers(1, vocabulary, size=gamma)) % vocabulary
        yield np.where(rng.random(gamma) < agreement, best, other).tolist(), logits


def mixed_rounds(rng: Rng) -> Iterator[Call]:
    for drafts, logits in rounds(rng, 0.7):
        yield call(drafts, logits)


def one_mismatch(rng: Rng) -> Iterator[Call]:
    """One draft is wrong, and all those behind it agree with their rows again."""
    for drafts, logits in rounds(rng, 1.0, low=2):
        at = int(rng.integers(len(drafts)))
        drafts[at] = (drafts[at] + 1) % logits.shape[1]
        yield call(drafts, logits)


def full_rounds(rng: Rng) -> Iterator[Call]:
    for drafts, logits in rounds(rng, 1.0):
        yield call(drafts, logits)


def empty_rounds(rng: Rng) -> Iterator[Call]:
    for vocabulary in range(1, 9):
        yield call([], rng.normal(size=(1, vocabulary)))


def tied_rounds(rng: Rng) -> Iterator[Call]:
    """Few levels, exact binary fractions: most rows have a tie, and the drafts are among the best."""
    for _, logits in rounds(rng, 1.0):
        rows = np.asarray(rng.integers(0, 2, size=logits.shape)) / 4.0
        yield call([int(rng.choice(np.flatnonzero(row == row.max()))) for row in rows[:-1]], rows)


def masked_rounds(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked by −inf, and what is left is negative."""
    for _, logits in rounds(rng, 1.0):
        rows = np.where(rng.random(logits.shape) < 0.6, -np.inf, -np.abs(logits) - 1.0)
        rows[np.arange(len(rows)), rng.integers(rows.shape[1], size=len(rows))] = -40.0
        yield call(rows[:-1].argmax(axis=1).tolist(), rows)


def large_round(rng: Rng) -> Iterator[Call]:
    logits = rng.normal(size=(65, 2000))
    yield call(logits[:-1].argmax(axis=1).tolist(), logits)


### END HIDDEN TESTS


TASK_1_1 = Task(
    id="1.1",
    lesson=LESSON,
    module="dspark_mini.verification",
    function="verify_greedy",
    todo="keep the drafts while the target would have chosen them, then add its own next token",
    hints=(
        "Row k of target_logits is what the target says behind the first k drafts. So draft_tokens[k] is right if it "
        "is the best token of row k, and the last row has no draft to be compared with: it is the bonus.",
        "Walk over the rows. Every row that you look at adds its best token to the output, since an accepted draft "
        "*is* that best token. Stop behind the first row whose best token is not the draft, or behind the last row.",
        "for each position k and its row:\n"
        "    best = argmax of the row, as a plain int\n"
        '    check_best(row[best], (k, row), name="target_logits")\n'
        "    note best\n"
        "    stop if k is the number of drafts, or if best differs from draft_tokens[k]\n"
        "accepted = one less than what you noted",
    ),
    properties=(
        Property(
            "accepts_matching_prefix",
            "Draft k is accepted while it is the argmax of row k, and the argmax of row `accepted` follows.",
            3,
            "Compare draft_tokens[k] with the argmax of row k: row 0 speaks about the first draft.",
            Values(
                examples=GREEDY[:1],
                ### BEGIN HIDDEN TESTS
                hidden=mixed_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "first_mismatch_ends_it",
            "Behind the first draft that differs nothing counts, even where it agrees again.",
            2,
            "The rows behind a wrong draft were computed on top of it: stop there, do not count all agreements.",
            Values(
                examples=GREEDY[2:],
                ### BEGIN HIDDEN TESTS
                hidden=one_mismatch,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "bonus_if_all_accepted",
            "If all γ drafts are accepted, the argmax of the last row follows: γ + 1 tokens.",
            2,
            "There are γ + 1 rows; the last one is free, since the same forward has computed it.",
            Values(
                examples=GREEDY[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=full_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "no_drafts",
            "Without drafts the round is one step of plain greedy decoding.",
            1,
            "With γ = 0 there is one row: accepted is 0, and tokens holds its argmax.",
            Values(
                examples=(Example(call([], [[0.25, 0.5, 0.125]]), kept(0, 1)),),
                ### BEGIN HIDDEN TESTS
                hidden=empty_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties_go_to_lowest_id",
            "Of equal logits the lowest id is the target's choice; a draft that ties with it is refused.",
            1,
            "Plain decoding would have emitted the lowest id. Compare token ids, not logits.",
            Values(
                examples=(Example(call([1, 0], [[0.5, 0.5], [0.5, 0.5], [0.25, 0.25]]), kept(0, 0)),),
                ### BEGIN HIDDEN TESTS
                hidden=tied_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "masked_and_negative_logits",
            "−inf is a legal logit, and so are negative ones.",
            1,
            "Compare the logits as they are; do not start the search for the best at 0.",
            Values(
                examples=(Example(call([2], [[-INF, -2.0, -1.0], [-7.0, -INF, -INF]]), kept(1, 2, 0)),),
                ### BEGIN HIDDEN TESTS
                hidden=masked_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain ints in a dict with a list",
            GREEDY,
            GREEDY_BAD,
            GREEDY_BAD_HIDDEN,
            bad_hint="Keep the given checks, and call check_best with the winner of every row that you look at.",
        ),
        Property(
            "large_round_in_time",
            "A round of 64 drafts and 2,000 tokens takes well under 2 s.",
            1,
            "One pass over the numbers is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_round,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Tasks 1.2 and 1.3: acceptance_probability, residual_distribution --------------------------------

P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
ACCEPTANCE = (
    Example(call(P, Q, 2), 1 / 3),
    Example(call(P, Q, 0), 1.0),
    Example(call([0.25, 0.75], [0.5, 0.5], 0), 0.5),
)
PAIR_BAD = (
    Bad(call([0.5, NAN], [0.5, 0.5], 0), "p", 1, "p holds a NaN"),
    Bad(call([0.5, 0.5], [0.5, 0.25], 0), "q", None, "q sums to 0.75"),
    Bad(call([0.5, 0.5], [0.5, 0.25, 0.25], 0), ("p", "q"), None, "p and q speak of different vocabularies"),
)
ACCEPTANCE_BAD = (
    *PAIR_BAD,
    Bad(call([0.5, 0.5], [1.0, 0.0], 1), ("q", "token"), 1, "q can never draw token 1"),
    Bad(call([0.5, 0.5], [0.5, 0.5], 2), "token", None, "the vocabulary ends at token 1"),
)
PAIR_BAD_HIDDEN: tuple[Bad, ...] = ()
ACCEPTANCE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
PAIR_BAD_HIDDEN = (
    Bad(call([0.5, 0.75, -0.25], [0.5, 0.25, 0.25], 0), "p", 2, "a probability is negative"),
    Bad(call([0.5, 0.25, 0.25], [0.5, -0.25, 0.75], 0), "q", 1, "a probability is negative"),
    Bad(call([0.5, 0.5], [NAN, 0.5], 1), "q", 0, "q holds a NaN"),
    Bad(call([0.5, INF], [0.5, 0.5], 0), "p", 1, "p holds +inf"),
    Bad(call([0.5, 0.501], [0.5, 0.5], 0), "p", None, "p sums to 1.001"),
    Bad(call([3.0, 1.0], [0.5, 0.5], 0), "p", None, "these are logits, not probabilities"),
    Bad(call([0.5, 0.25, 0.25], [0.5, 0.5], 0), ("p", "q"), None, "q is shorter than p"),
    Bad(call([], [], 0), "p", None, "the vocabulary is empty"),
    Bad(call([[0.5, 0.5]], [0.5, 0.5], 0), "p", None, "p is a matrix"),
)
ACCEPTANCE_BAD_HIDDEN = (
    *PAIR_BAD_HIDDEN,
    Bad(call([0.5, 0.5], [0.5, 0.5], -1), "token", None, "a token is negative"),
    Bad(call([0.0, 1.0, 0.0], [0.5, 0.5, 0.0], 2), ("q", "token"), 2, "0/0 is no probability"),
)


def pairs(rng: Rng) -> Iterator[tuple[Array, Array]]:
    """Two distributions over one vocabulary, positive everywhere."""
    for _ in range(30):
        p, q = rng.dirichlet(np.ones(int(rng.integers(2, 9))), size=2) + 1e-3
        yield p / p.sum(), q / q.sum()


def overrated(rng: Rng) -> Iterator[Call]:
    """The draft gives the token more than the target does: the ratio decides."""
    for p, q in pairs(rng):
        for token in np.flatnonzero(p < q):
            yield call(p, q, int(token))


def underrated(rng: Rng) -> Iterator[Call]:
    for p, q in pairs(rng):
        for token in np.flatnonzero(p > q):
            yield call(p, q, int(token))


def acceptance_edges(rng: Rng) -> Iterator[Call]:
    """Equal rows, a target that excludes the token, a draft that is sure of it."""
    for p, q in pairs(rng):
        token = int(rng.integers(p.size))
        without = np.where(np.arange(p.size) == token, 0.0, p)
        yield call(p, p, token)
        yield call(without / without.sum(), q, token)
        yield call(p, np.eye(p.size)[token], token)


def tiny_tokens(rng: Rng) -> Iterator[Call]:
    """Both give the token next to nothing; the ratio is an ordinary number."""
    for exponent in (12, 18, 27, 60, 200):
        tiny = 2.0**-exponent
        share = float(rng.integers(1, 8)) / 8.0
        yield call([1.0 - share * tiny, share * tiny], [1.0 - tiny, tiny], 1)


def large_pair(rng: Rng) -> Iterator[Call]:
    p, q = rng.dirichlet(np.ones(2000), size=2)
    yield call(p, q, int(q.argmax()))


### END HIDDEN TESTS


TASK_1_2 = Task(
    id="1.2",
    lesson=LESSON,
    module="dspark_mini.verification",
    function="acceptance_probability",
    todo="return the chance min(1, p/q) of the drafted token",
    hints=(
        "The draft proposes this token with probability q[token], and the target wants it with probability p[token]. "
        "How many of these proposals must be kept, so that no more than p[token] come through?",
        "Keep the share p[token] / q[token] of them. If the draft proposes the token too seldom, keep them all: a "
        "probability is never larger than 1. No other entry of p or q matters.",
        "ratio = p[token] / q[token]\nreturn the smaller of 1.0 and ratio, as a plain float",
    ),
    properties=(
        Property(
            "ratio_of_target_to_draft",
            "A token that the draft overrates is accepted with probability p[token] / q[token].",
            3,
            "Divide the target's probability by the draft's, both of this token: p over q, not q over p.",
            Values(
                examples=(ACCEPTANCE[0], ACCEPTANCE[2]),
                ### BEGIN HIDDEN TESTS
                hidden=overrated,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "never_above_one",
            "A token that the draft underrates is always accepted.",
            2,
            "min(1, ratio): where p[token] ≥ q[token], the answer is exactly 1.",
            Values(
                examples=ACCEPTANCE[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=underrated,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "edges",
            "Equal rows: 1. A token that the target excludes: 0. A draft that is sure: p[token] itself.",
            1,
            "The one formula covers these cases; a greedy draft has q = 1 for its token, so p[token] remains.",
            Values(
                examples=(
                    Example(call([0.0, 1.0], [0.5, 0.5], 0), 0.0),
                    Example(call([0.25, 0.75], [1.0, 0.0], 0), 0.25),
                    Example(call(Q, Q, 1), 1.0),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=acceptance_edges,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "small_probabilities_count",
            "Of two tiny probabilities the ratio counts, not their size.",
            1,
            "Add no 1e-8 to the denominator, and round nothing away: q[token] = 0 has been refused before.",
            Values(
                examples=(Example(call([1.0 - 2.0**-41, 2.0**-41], [1.0 - 2.0**-40, 2.0**-40], 1), 0.5),),
                ### BEGIN HIDDEN TESTS
                hidden=tiny_tokens,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain float", ACCEPTANCE, ACCEPTANCE_BAD, ACCEPTANCE_BAD_HIDDEN),
        Property(
            "large_vocabulary_in_time",
            "A vocabulary of 2,000 tokens takes well under 2 s.",
            1,
            "Only two numbers are needed.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_pair,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

RESIDUAL = (
    Example(call(P, Q), np.array([0.75, 0.25, 0.0])),
    Example(call([0.25, 0.75], [0.75, 0.25]), np.array([0.0, 1.0])),
    Example(call([0.25, 0.5, 0.25], [0.25, 0.5, 0.25]), np.array([0.25, 0.5, 0.25])),
)


def without_token(bads: tuple[Bad, ...]) -> tuple[Bad, ...]:
    """Turn bad calls of (p, q, token) into bad calls of (p, q)."""
    return tuple(Bad(Call(bad.call.args[:2]), bad.argument, bad.position, bad.what) for bad in bads)


### BEGIN HIDDEN TESTS


def random_pairs(rng: Rng) -> Iterator[Call]:
    for p, q in pairs(rng):
        yield call(p, q)


def many_surpluses(rng: Rng) -> Iterator[Call]:
    """The draft overrates a single token, so that the surplus is spread over all the others."""
    for p, _ in pairs(rng):
        token = int(rng.integers(p.size))
        yield call(p, 0.75 * p + 0.25 * np.eye(p.size)[token])
        yield call(p, np.eye(p.size)[token])


def equal_rows(rng: Rng) -> Iterator[Call]:
    for p, _ in pairs(rng):
        yield call(p, p)
        yield call(np.eye(p.size)[0], np.eye(p.size)[0])


def disjoint_rows(rng: Rng) -> Iterator[Call]:
    """No token has a probability in both rows: the residual is p itself."""
    for p, q in pairs(rng):
        yield call(np.concatenate([p, np.zeros(q.size)]), np.concatenate([np.zeros(p.size), q]))


def nearly_equal_rows(rng: Rng) -> Iterator[Call]:
    """A surplus of a few millionths or less, exact in binary: normalised like any other."""
    for exponent in (10, 20, 30, 40):
        tiny = 2.0**-exponent
        yield call([0.25 + tiny, 0.5 - 2 * tiny, 0.25 + tiny], [0.25, 0.5, 0.25])
        yield call([0.5 - tiny, 0.25 + tiny, 0.25], [0.5, 0.25, 0.25])


def large_rows(rng: Rng) -> Iterator[Call]:
    p, q = rng.dirichlet(np.ones(2000), size=2)
    yield call(p, q)


### END HIDDEN TESTS


TASK_1_3 = Task(
    id="1.3",
    lesson=LESSON,
    module="dspark_mini.verification",
    function="residual_distribution",
    todo="normalise what the target has in excess of the draft",
    hints=(
        "After acceptance every token has come through with min(p, q). What is still missing, token by token, to "
        "make it p? That is what a rejected round has to give, in the right proportions.",
        "The missing part is p − q where p is larger, and 0 elsewhere: np.maximum(p − q, 0). Divide by its sum. If "
        "nothing is missing anywhere, the sum is 0: return p instead, as a copy.",
        "excess = np.maximum(p − q, 0)\n"
        "mass = sum of excess\n"
        "return excess / mass if mass is positive, else a copy of p",
    ),
    properties=(
        Property(
            "surplus_normalised",
            "The residual is max(p − q, 0), divided by its sum.",
            3,
            "Subtract first, cut off what is negative, then divide by what is left.",
            Values(
                examples=RESIDUAL[:1],
                ### BEGIN HIDDEN TESTS
                hidden=random_pairs,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "every_surplus_counts",
            "All tokens with an excess share the residual, in proportion to their excess and not to p.",
            2,
            "Do not take the largest excess alone, and do not weigh it by p: (.3, .1) becomes (.75, .25).",
            Values(
                examples=(Example(call([0.5, 0.25, 0.25], [0.25, 0.125, 0.625]), np.array([2 / 3, 1 / 3, 0.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=many_surpluses,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "equal_rows_return_target",
            "If nothing is in excess, as for p = q, the residual is p, and never NaN.",
            2,
            "A sum of 0 cannot be divided by. Such a round is never rejected, but rounding may lead here.",
            Values(
                examples=RESIDUAL[2:],
                ### BEGIN HIDDEN TESTS
                hidden=equal_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "disjoint_rows",
            "If p and q have no token in common, the residual is p.",
            1,
            "The formula covers it: where q is 0, the excess is p.",
            Values(
                examples=(Example(call([0.75, 0.25, 0.0], [0.0, 0.0, 1.0]), np.array([0.75, 0.25, 0.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=disjoint_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "tiny_surplus_normalised",
            "An excess of a millionth is normalised like any other.",
            1,
            "Compare the sum with 0, not with a tolerance, and add nothing to the denominator.",
            Values(
                examples=(Example(call([0.5 + 2.0**-20, 0.5 - 2.0**-20], [0.5, 0.5]), np.array([1.0, 0.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=nearly_equal_rows,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("floats in an array", RESIDUAL, without_token(PAIR_BAD), without_token(PAIR_BAD_HIDDEN)),
        Property(
            "large_vocabulary_in_time",
            "A vocabulary of 2,000 tokens takes well under 2 s.",
            1,
            "Subtract whole arrays.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_rows,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 1.4: verify_sampling -----------------------------------------------------------------------

SEED = Seed(0)
SURE = (  # rows of 0 and 1 leave nothing to chance
    Example(call([1], [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], SEED), kept(0, 0)),
    Example(call([1, 0], [[0.25, 0.75], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], SEED), kept(2, 1, 0, 1)),
    Example(call([], [], [[0.0, 0.0, 1.0]], SEED), kept(0, 2)),
)
SAMPLING_BAD = (
    Bad(
        call([0, 1], [[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]], SEED),
        ("draft_probs", "draft_tokens"),
        1,
        "row 1 of draft_probs can never draw token 1; draft 0 is sure to be rejected, but nothing is drawn before",
    ),
    Bad(
        call([0], [[0.5, 0.5]], [[0.5, 0.5]], SEED),
        ("target_probs", "draft_probs", "draft_tokens"),
        None,
        "one draft needs two target rows",
    ),
)
SAMPLING_BAD_HIDDEN: tuple[Bad, ...] = ()


def outcome(result: Any) -> tuple[int, tuple[int, ...]]:
    """Turn the result of a verifier into a key of its law: (accepted, tokens)."""
    return result["accepted"], tuple(result["tokens"])


def law_case(drafts: list[int], q: Any, p: Any) -> LawCase:
    """Write down the exact law of (accepted, tokens) for one round, by walking along the drafts."""
    target, draft, law, reach = np.array(p), np.array(q), dict[Any, float](), 1.0
    for k, token in enumerate(drafts):
        accept = min(1.0, float(target[k, token] / draft[k, token]))
        excess = np.maximum(target[k] - draft[k], 0.0)
        for other in np.flatnonzero(excess) if accept < 1.0 else ():
            share = float(excess[other] / excess.sum())
            law[k, (*drafts[:k], int(other))] = reach * (1.0 - accept) * share
        reach *= accept
    for bonus in np.flatnonzero(target[-1]) if reach > 0.0 else ():
        law[len(drafts), (*drafts, int(bonus))] = reach * float(target[-1, bonus])
    return LawCase(call(drafts, q, p, SEED), law)


### BEGIN HIDDEN TESTS
SAMPLING_BAD_HIDDEN = (
    Bad(call([0], [[1.0, 0.0]], [[0.5, 0.25], [0.5, 0.5]], SEED), "target_probs", 0, "row 0 sums to 0.75"),
    Bad(call([0], [[0.5, 0.5]], [[1.0, 0.0], [0.5, NAN]], SEED), "target_probs", 1, "the bonus row holds a NaN"),
    Bad(call([0, 0], [[0.5, 0.5], [0.5, 0.75]], [[1.0, 0.0]] * 3, SEED), "draft_probs", 1, "row 1 sums to 1.25"),
    Bad(call([0], [[1.25, -0.25]], [[1.0, 0.0]] * 2, SEED), "draft_probs", 0, "a probability is negative"),
    Bad(call([1], [[1.0, 0.0]], [[1.0, 0.0]] * 2, SEED), ("draft_probs", "draft_tokens"), 0, "token 1 has q = 0"),
    Bad(
        call([1], [[1.0, 0.0]], [[0.0, 1.0]] * 2, SEED), ("draft_probs", "draft_tokens"), 0, "token 1 has q = 0, p = 1"
    ),
    Bad(call([0, 2], [[0.5, 0.5]] * 2, [[1.0, 0.0]] * 3, SEED), "draft_tokens", 1, "2 lies outside the vocabulary"),
    Bad(call([-1], [[0.5, 0.5]], [[0.0, 1.0]] * 2, SEED), "draft_tokens", 0, "a token is negative"),
    Bad(
        call([0], [[0.5, 0.5]] * 2, [[1.0, 0.0]] * 2, SEED),
        ("draft_probs", "draft_tokens", "target_probs"),
        None,
        "one draft has one row of draft_probs",
    ),
    Bad(
        call([0], [[0.5, 0.25, 0.25]], [[1.0, 0.0]] * 2, SEED),
        ("draft_probs", "target_probs"),
        None,
        "the two speak of different vocabularies",
    ),
    Bad(call([0], [[0.5, 0.5]], [[1.0, 0.0], [1.0]], SEED), "target_probs", 1, "row 1 is shorter than the first"),
    Bad(call([], [], [], SEED), ("target_probs", "draft_tokens"), None, "without drafts there is still one row"),
)


def relabelled(rng: Rng, drafts: list[int], q: Any, p: Any) -> LawCase:
    """Give the tokens other numbers, so that no law can be learned by heart; the probabilities stay."""
    target, draft = np.array(p), np.array(q)
    order = rng.permutation(target.shape[1])
    place = np.argsort(order)
    return law_case([int(place[token]) for token in drafts], draft[:, order], target[:, order])


def sure_rounds(rng: Rng) -> Iterator[Call]:
    """Target rows of 0 and 1: the outcome is that of greedy verification, whatever the draft rows are."""
    for drafts, logits in rounds(rng, 0.7):
        rows = np.eye(logits.shape[1])[logits.argmax(axis=1)]
        yield call(
            drafts, rng.dirichlet(np.ones(logits.shape[1]), size=len(drafts)) * 0.5 + rows[:-1] * 0.5, rows, SEED
        )


def sure_rounds_with_tail(rng: Rng) -> Iterator[Call]:
    """A draft that is sure to be rejected, in front of drafts that would be accepted."""
    for drafts, logits in rounds(rng, 1.0, low=2):
        vocabulary, at = logits.shape[1], int(rng.integers(len(drafts)))
        rows = np.eye(vocabulary)[logits.argmax(axis=1)]
        drafts[at] = (drafts[at] + 1) % vocabulary
        yield call(drafts, np.full((len(drafts), vocabulary), 1.0 / vocabulary), rows, SEED)


def overrated_drafts(rng: Rng) -> Iterator[LawCase]:
    yield relabelled(rng, [0], [[0.5, 0.25, 0.25]], [[0.125, 0.25, 0.625], [0.0, 1.0, 0.0]])


def rejected_drafts(rng: Rng) -> Iterator[LawCase]:
    """The residual is (0, .25, .75), while p without the draft would be (0, .5, .5)."""
    yield relabelled(rng, [0], [[0.75, 0.25, 0.0]], [[0.25, 0.375, 0.375], [1.0, 0.0, 0.0]])


def bonus_rows(rng: Rng) -> Iterator[LawCase]:
    yield relabelled(rng, [0], [[0.25, 0.5, 0.25]], [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])


def inexact_rows(rng: Rng) -> Iterator[Call]:
    """Rows as float32 leaves them: their sums differ from 1 by less than a millionth."""
    for sign in (1.0, -1.0):
        p = np.eye(3)[rng.integers(3, size=3)] * (1.0 + sign * 6e-7)
        yield call(p.argmax(axis=1)[:2], np.full((2, 3), 1.0 / 3.0 + sign * 1e-7), p, SEED)
        yield call([], [], p[:1], SEED)
        yield call([(int(p[0].argmax()) + 1) % 3], np.full((1, 3), 1.0 / 3.0 - sign * 1e-7), p[:2], SEED)


def large_sure_round(rng: Rng) -> Iterator[Call]:
    best = rng.integers(2000, size=65)
    yield call(best[:-1].tolist(), np.full((64, 2000), 1.0 / 2000.0), np.eye(2000)[best], SEED)


### END HIDDEN TESTS


TASK_1_4 = Task(
    id="1.4",
    lesson=LESSON,
    module="dspark_mini.verification",
    function="verify_sampling",
    todo="accept drafts by p/q, replace the first rejected one from the residual, or add a bonus token",
    hints=(
        "Three decisions, each with its own row and its own draw. Is draft k accepted? If one is not: what stands in "
        "its place? If all are: what follows? The round ends with exactly one token that was not drafted.",
        "Walk along the drafts. Accept draft k if rng.random() is below acceptance_probability(p[k], q[k], token); "
        "leave the loop at the first rejection. Then one row is left to draw from: residual_distribution of the "
        "rejected position, or the last row of p. rng.choice draws, but wants a row whose sum is 1 to the last digits.",
        "accepted = 0, row = the last row of p\n"
        "for each draft, with its row of p and its row of q:\n"
        "    if rng.random() ≥ acceptance_probability(p row, q row, draft):\n"
        "        row = residual_distribution(p row, q row), and leave the loop\n"
        "    accepted += 1\n"
        "last = int(rng.choice(number of tokens, p=row / row.sum()))\n"
        "return the number, and the accepted drafts with last behind them",
    ),
    properties=(
        Property(
            "sure_rows_decide",
            "Where the target is sure, the outcome is that of greedy verification.",
            2,
            "Draft k is judged by row k of both; a rejected one is replaced, and then comes nothing more.",
            Values(
                examples=SURE,
                ### BEGIN HIDDEN TESTS
                hidden=sure_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "nothing_behind_rejection",
            "The first rejection ends the round: the drafts behind it were made for another text.",
            1,
            "Leave the loop at the first rejection; tokens holds accepted + 1 entries.",
            Values(
                examples=(Example(call([0, 1], [[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0]] * 3, SEED), kept(0, 1)),),
                ### BEGIN HIDDEN TESTS
                hidden=sure_rounds_with_tail,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "accepts_with_p_over_q",
            "A draft is accepted with probability min(1, p/q) of its own token.",
            3,
            "Accept if rng.random() < p[k, token] / q[k, token]: a uniform number is below r with probability r. If it "
            "is the rejected token that came back: its replacement is drawn from the residual.",
            Law(
                examples=(law_case([0], [[0.25, 0.75]], [[0.1875, 0.8125], [1.0, 0.0]]),),
                outcome_of=outcome,
                ### BEGIN HIDDEN TESTS
                hidden=overrated_drafts,
                ### END HIDDEN TESTS
                samples=600,
            ),
        ),
        Property(
            "residual_after_rejection",
            "A rejected draft is replaced from norm(max(p − q, 0)), by a draw of its own.",
            2,
            "Not from p, which would bring back what was just rejected, and not with the number that rejected it.",
            Law(
                examples=(law_case([0], [[0.5, 0.25, 0.25]], [[0.25, 0.375, 0.375], [1.0, 0.0, 0.0]]),),
                outcome_of=outcome,
                ### BEGIN HIDDEN TESTS
                hidden=rejected_drafts,
                ### END HIDDEN TESTS
                samples=600,
            ),
        ),
        Property(
            "own_draw_at_every_position",
            "Every draft is judged by its own rows and by a fresh uniform number.",
            2,
            "Call rng.random() inside the loop: with one number for all drafts the second is hardly ever rejected.",
            Law(
                examples=(
                    law_case([1, 0], [[0.5, 0.5], [0.875, 0.125]], [[0.75, 0.25], [0.4375, 0.5625], [0.0, 1.0]]),
                ),
                outcome_of=outcome,
                samples=1200,
            ),
        ),
        Property(
            "bonus_from_last_row",
            "If all are accepted, or none was drafted, a token is drawn from the last target row.",
            2,
            "The last row of target_probs has no draft; draw from it, do not take its argmax.",
            Law(
                examples=(law_case([], [], [[0.25, 0.75]]),),
                outcome_of=outcome,
                ### BEGIN HIDDEN TESTS
                hidden=bonus_rows,
                ### END HIDDEN TESTS
                samples=400,
            ),
        ),
        Property(
            "rows_within_tolerance",
            "A row whose sum differs from 1 by less than a millionth is legal, and can be drawn from.",
            1,
            "rng.choice refuses such rows: divide the row by its sum first.",
            Values(
                examples=(Example(call([], [], [[0.0, 0.9999995]], SEED), kept(0, 1)),),
                ### BEGIN HIDDEN TESTS
                hidden=inexact_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "same_seed_same_result",
            "rng is the only source of chance: the same seed gives the same result.",
            1,
            "Draw everything from the argument rng, not from np.random or a generator of your own.",
            SameSeed((call([0, 1], [[0.125] * 8] * 2, [[0.0625] * 4 + [0.1875] * 4] * 3, SEED),)),
        ),
        *manners("plain ints in a dict with a list", SURE, SAMPLING_BAD, SAMPLING_BAD_HIDDEN, bad_hint=KEEP_CHECKS),
        Property(
            "large_round_in_time",
            "A round of 64 drafts and 2,000 tokens takes well under 2 s.",
            1,
            "One draw a position is enough; compute the residual of the rejected position only.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_sure_round,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 1.5: verification_mask ---------------------------------------------------------------------

MASK = (
    Example(call(1, 2), np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)),
    Example(call(2, 1), np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)),
    Example(call(0, 2), np.array([[1, 0], [1, 1]], dtype=bool)),
)
MASK_BAD = (
    Bad(call(-1, 2), "context_length", None, "the context has a negative length"),
    Bad(call(2, -1), "draft_length", None, "the draft has a negative length"),
)


### BEGIN HIDDEN TESTS
def long_contexts(rng: Rng) -> Iterator[Call]:
    """One draft only: everything else is the context."""
    for context in range(2, 12):
        yield call(context, 1)


def long_drafts(rng: Rng) -> Iterator[Call]:
    """One context token only: everything else is the draft."""
    for draft in range(2, 12):
        yield call(1, draft)


def any_lengths(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(int(rng.integers(2, 16)), int(rng.integers(2, 9)))


def no_context(rng: Rng) -> Iterator[Call]:
    for draft in range(1, 9):
        yield call(0, draft)


def large_mask(rng: Rng) -> Iterator[Call]:
    yield call(256, 64)


### END HIDDEN TESTS


TASK_1_5 = Task(
    id="1.5",
    lesson=LESSON,
    module="dspark_mini.masks",
    function="verification_mask",
    todo="say for every row which columns it may see",
    hints=(
        "Ask of every row what the target would see at this place in plain decoding, where one token comes after "
        "the other. A draft stands where the token would stand if it is accepted.",
        "A token sees everything up to its own place and itself. That is one comparison of two positions, "
        "and it does not ask whether they belong to the context or to the draft.",
        "position = 0, 1, …, n − 1 with n = context_length + draft_length\n"
        "mask[row, column] = (column ≤ row), by broadcasting position against position[:, None]",
    ),
    properties=(
        Property(
            "draft_sees_earlier_and_itself",
            "A draft sees the drafts before it and itself, and none behind it.",
            3,
            "Row k must predict the token behind draft k, so it reads draft k itself: the diagonal is True.",
            Values(
                examples=MASK[:1],
                ### BEGIN HIDDEN TESTS
                hidden=long_drafts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "context_is_causal",
            "A context token sees the context up to and with itself, and no draft.",
            2,
            "The context is text like any other: its rows are causal too, and drafts come after it.",
            Values(
                examples=MASK[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=long_contexts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "draft_sees_whole_context",
            "A draft sees all of the context.",
            2,
            "No context column is hidden from a draft, not even the anchor's.",
            Values(
                examples=(
                    Example(call(2, 2), np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=any_lengths,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "no_context",
            "Without context the drafts have only each other.",
            1,
            "context_length 0 is legal: the mask then has draft_length rows and columns.",
            Values(
                examples=MASK[2:],
                ### BEGIN HIDDEN TESTS
                hidden=no_context,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("booleans in an array", MASK, MASK_BAD),
        Property(
            "large_mask_in_time",
            "A context of 256 with 64 drafts takes well under 2 s.",
            1,
            "Compare whole arrays; a loop over every cell is slow, though it may just pass.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_mask,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 1.6: cut_output ----------------------------------------------------------------------------

CUT = (
    Example(call([5, 2, 7, 9], [2], 10), [5, 2]),
    Example(call([5, 6, 7], [2], 2), [5, 6]),
    Example(call([5, 6], [2, 3], 10), [5, 6]),
)
CUT_BAD = (
    Bad(call([5, 6], [2], -1), "max_new_tokens", None, "the cap is negative"),
    Bad(call([5, -6], [2], 4), "tokens", 1, "a token id is negative"),
)
CUT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
CUT_BAD_HIDDEN = (
    Bad(call([5, 6], [2, 3, -7], 4), "stop_tokens", 2, "a stop token is negative"),
    Bad(call([2, 3, -6], [9], 5), "tokens", 2, "a token id is negative"),
    Bad(call([], [], -3), "max_new_tokens", None, "the cap is negative"),
)


def outputs(rng: Rng, vocabulary: int, cap: int | None = None) -> Iterator[tuple[Array, Array, int]]:
    """Tokens, stop tokens and a cap, small enough to meet often."""
    for _ in range(40):
        size = int(rng.integers(1, 12))
        stops = rng.choice(vocabulary, size=int(rng.integers(1, 3)), replace=False)
        yield rng.integers(vocabulary, size=size), stops, cap or int(rng.integers(0, size + 3))


def first_stops(rng: Rng) -> Iterator[Call]:
    """Several stop tokens in one output; the cap is out of the way."""
    for tokens, stops, cap in outputs(rng, 4, cap=99):
        yield call(tokens, stops, cap)


def several_stops(rng: Rng) -> Iterator[Call]:
    """Two stop tokens that both occur, in either order, and not in the order of stop_tokens."""
    for tokens, _, _ in outputs(rng, 6):
        first, second = rng.permutation([6, 7]).tolist()
        mixed = [*tokens.tolist(), first, *tokens[:2].tolist(), second, *tokens[:1].tolist()]
        yield call(mixed, [6, 7], 99)
        yield call(mixed, [7, 6], 99)


def caps(rng: Rng) -> Iterator[Call]:
    """No stop token occurs: only the cap cuts."""
    for tokens, stops, cap in outputs(rng, 5):
        yield call(tokens, stops + 5, cap)


def caps_and_stops(rng: Rng) -> Iterator[Call]:
    """A stop token at every place, and caps just before it, at it and just behind it."""
    for at in range(5):
        tokens = rng.integers(5, size=6).tolist()
        tokens[at] = 9
        for cap in (at - 1, at, at + 1, at + 2):
            if cap >= 0:
                yield call(tokens, [9], cap)


def edges_of_output(rng: Rng) -> Iterator[Call]:
    for tokens, stops, cap in outputs(rng, 4):
        yield call(tokens, [], cap)
        yield call([], stops, cap)
        yield call(tokens, stops, 0)
        yield call(tokens, np.concatenate([stops, stops]), cap)
    yield call([], [], 0)
    yield call([0, 1, 0], [0], 5)
    yield call([1, 0], [0], 5)


def long_output(rng: Rng) -> Iterator[Call]:
    yield call(rng.integers(1000, size=2000), rng.integers(1000, 2000, size=200), 2000)


### END HIDDEN TESTS


TASK_1_6 = Task(
    id="1.6",
    lesson=LESSON,
    module="dspark_mini.verification",
    function="cut_output",
    todo="cut behind the first stop token, and at the cap",
    hints=(
        "Plain decoding looks at every single token: it stops behind a stop token, or when there are max_new_tokens "
        "of them. Several tokens a round change nothing about that.",
        "Cut to the cap first, then look for the first stop token in what is left, from the left. What lies behind "
        "the cap was never emitted, so a stop token there means nothing.",
        "kept = the first max_new_tokens tokens\n"
        "for each index i and token of kept:\n"
        "    if the token is a stop token: return kept up to and with index i\n"
        "return kept",
    ),
    properties=(
        Property(
            "ends_with_first_stop",
            "The output ends with the first stop token, which belongs to it.",
            3,
            "Look from the left, and keep the stop token itself: index + 1 tokens.",
            Values(
                examples=CUT[:1],
                ### BEGIN HIDDEN TESTS
                hidden=first_stops,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "any_stop_token_ends",
            "Any of several stop tokens ends the output, the one that comes first.",
            2,
            "Ask of each token whether it is in stop_tokens, instead of looking for one stop token after the other.",
            Values(
                examples=(Example(call([5, 3, 2, 7], [2, 3], 10), [5, 3]),),
                ### BEGIN HIDDEN TESTS
                hidden=several_stops,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "capped",
            "Without a stop token there are at most max_new_tokens tokens.",
            2,
            "A slice does it: tokens[:max_new_tokens].",
            Values(
                examples=CUT[1:],
                ### BEGIN HIDDEN TESTS
                hidden=caps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "cap_and_stop_together",
            "Whichever comes first ends it; a stop token counts towards the cap.",
            2,
            "A stop token behind the cap is not emitted. Do not add it, and do not count it apart.",
            Values(
                examples=(
                    Example(call([5, 6, 2], [2], 2), [5, 6]),
                    Example(call([5, 2, 6], [2], 2), [5, 2]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=caps_and_stops,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "nothing_to_cut",
            "No tokens, no stop tokens and a cap of 0 are legal; token 0 is a token like any other.",
            1,
            "A cap of 0 gives an empty list. Do not treat 0, or an empty list, as absent.",
            Values(
                examples=(
                    Example(call([5, 6], [], 1), [5]),
                    Example(call([5, 6], [5], 0), []),
                    Example(call([0, 6], [0], 3), [0]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=edges_of_output,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints in a list", CUT, CUT_BAD, CUT_BAD_HIDDEN),
        Property(
            "long_output_in_time",
            "2,000 tokens and 200 stop tokens take well under 2 s.",
            1,
            "One walk over the tokens is enough; a set answers `in` at once.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=long_output,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_1_1, TASK_1_2, TASK_1_3, TASK_1_4, TASK_1_5, TASK_1_6)
