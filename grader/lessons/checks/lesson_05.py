"""Lesson 05, the hardware-aware prefix scheduler: what its tasks must satisfy."""

from __future__ import annotations

import math

from dspark_mini.scheduling import allocate_budget, lagged_budget, schedule_prefixes
from grader.lessons.tasks import Task, example, values

LESSON = "05_scheduler"
STAIRS = [0.0, *(1000.0 / (10.0 + 4.0 * math.ceil(batch / 4)) for batch in range(1, 9))]  # steps per second
FALLING = [0.0, 9.0, 8.0, 7.0, 6.0, 4.0, 2.0]
RISING = [0.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0]

TASK_5_1 = Task(
    id="5.1",
    lesson=LESSON,
    reference=schedule_prefixes,
    todo="admit draft tokens in descending survival, up to the first that does not raise Θ",
    hints=(
        "Three questions, one after the other. How likely is each draft token to survive, given nothing? In which "
        "order are they worth their cost? And how far down that order does each further token still raise "
        "Θ = τ · SPS(B), starting from one token per request?",
        "Put (survival, request, position) of every token with a survival above 0 into one list and sort it: survival "
        "falling, then request and position rising. Then walk along it with B, τ and the Θ so far. Stop at the end of "
        "the table, or where the new Θ is not greater. Because survivals fall along a request, counting the admitted "
        "tokens of a request is enough: they are a prefix.",
        "a[r][j] = the product of the first j confidences of request r; drop those that are 0\n"
        "order = all (r, j), highest a first; of equal ones the lower r, then the lower j\n"
        "B = R; tau = R; lengths = R zeros\n"
        "for (r, j) in order:\n"
        "    stop if the table has no entry B + 1\n"
        "    stop unless (tau + a) · table[B + 1] > tau · table[B]\n"
        "    B += 1; tau += a; lengths[r] += 1",
    ),
    returns="plain ints in a list",
    core=(
        values("admits_while_theta_rises", 3)(
            "A draft token is verified as long as it raises Θ = τ · SPS(B).",
            "With ℓ tokens of one request τ = 1 + a_1 + … + a_ℓ and B = 1 + ℓ; a_j is the product c_1 · … · c_j.",
            example([[0.75, 0.5, 0.5]], [0.0, 8.0, 6.0, 5.0, 3.0], gives=[2]),
        ),
        values("stops_at_first_without_rise", 3)(
            "The first token that does not raise Θ ends it, even where a later one would.",
            "Do not search on for a better Θ: to look at later confidences would change the law of the output.",
            example([[0.8, 0.9]], [0.0, 1.0, 0.5, 0.45], gives=[0]),
            example([[0.9] * 7], STAIRS, gives=[3]),
        ),
        values("highest_survival_first", 2)(
            "The tokens of all requests stand in one order, by their prefix survival.",
            "Sort by a, the product of the confidences up to the token, over the whole batch and not by request.",
            example([[0.5, 0.875], [0.75, 0.75]], FALLING, gives=[0, 2]),
        ),
        values("every_request_counts_from_the_start", 1)(
            "Without any draft token B = R and τ = R: every request verifies and yields one token of its own.",
            "Start from B = R, τ = R and Θ = R · SPS(R), where R is the number of requests.",
            example([[0.5], [0.25], [0.5]], [0.0, 9.0, 8.0, 4.0, 3.75, 3.5, 1.0], gives=[1, 0, 1]),
        ),
        values("decision_follows_the_table", 1)(
            "Another table, another decision: where tokens cost nothing all are verified, where they cost much none.",
            "Read the speed at B + 1 from the table in every step; nothing about it is fixed.",
            example([[0.75, 0.5]], [0.0, 4.0, 4.0, 4.0], gives=[2]),
            example([[0.75, 0.5]], [0.0, 4.0, 3.0, 2.0], gives=[1]),
            example([[0.75, 0.5]], [0.0, 4.0, 2.0, 1.0], gives=[0]),
        ),
        values("ties", 2)(
            "Equal survivals: the lower request, then the lower position. An equal Θ is not a rise.",
            "A stable sort keeps the order of the batch. Stop where Θ is not greater, that is at <= too.",
            example([[0.5, 1.0], [0.5]], [0.0, 4.0, 4.0, 4.0, 4.0, 1.0], gives=[2, 0]),
            example([[0.5, 0.5]], [0.0, 6.0, 4.0, 8.0], gives=[0]),
        ),
        values("edges", 1)(
            "No batch beyond the table, no token with a survival of 0; empty requests and no requests are legal.",
            "Stop where the table ends, and before the first survival of 0: it may be padding.",
            example([[0.75, 0.5, 0.5]], [0.0, 1.0, 1.0], gives=[1]),
            example([[0.0, 0.5], [], [0.5]], RISING, gives=[0, 0, 1]),
            example([], [0.0, 1.0], gives=[]),
        ),
    ),
)

TASK_5_2 = Task(
    id="5.2",
    lesson=LESSON,
    reference=allocate_budget,
    todo="give the budget to the tokens of the highest survival in the batch",
    hints=(
        "The number is fixed, so only the order matters: which are the `budget` most likely survivors of the whole "
        "batch? Then count them by request.",
        "The survivals are cumulative products along each request. Sort all of them once, the highest first, so that "
        "equal ones keep the order of the batch; keep the first `budget` of those above 0 and count by request. "
        "np.argsort(-survival, axis=None, kind='stable') does that for a whole matrix, and i // γ is the row of i.",
        "survival = cumulative products along each row                       → (R, γ)\n"
        "order = flat positions, highest survival first, stable\n"
        "chosen = the first min(budget, number of survivals above 0) of order\n"
        "for each request count the chosen positions of its row, as plain ints",
    ),
    returns="plain ints in a list",
    core=(
        values("highest_survivals_get_it", 3)(
            "The `budget` tokens of the highest prefix survival are verified, whichever request they belong to.",
            "Compare the tokens of all requests with each other; no request has a share of its own.",
            example([[0.5, 0.5], [0.75, 0.5]], 3, gives=[1, 2]),
            example([[0.75, 0.5], [0.5, 0.75]], 1, gives=[1, 0]),
        ),
        values("survival_and_not_confidence", 2)(
            "A confident token after a doubtful one is doubtful: the product decides.",
            "Multiply along the request: a_j = c_1 · … · c_j.",
            example([[0.25, 1.0, 1.0], [0.75, 0.5]], 2, gives=[0, 2]),
        ),
        values("budget_of_the_whole_batch", 1)(
            "The budget is a number of draft tokens of all requests together; their own tokens are not in it.",
            "The verify lengths add up to budget, as long as there are enough tokens.",
            example([[0.5], [0.5], [0.75]], 1, gives=[0, 0, 1]),
            example([[0.25, 0.5], [0.5, 0.75]], 0, gives=[0, 0]),
        ),
        values("ties", 2)(
            "Of equal survivals the lower request goes first, then the lower position.",
            "kind='stable' keeps the order of the batch; the default of np.argsort does not.",
            example([[0.5, 1.0], [0.5, 1.0]], 3, gives=[2, 1]),
        ),
        values("leftovers", 1)(
            "Tokens with a survival of 0 get nothing, and a budget that is too large is left over.",
            "A token that cannot survive costs time and yields nothing: leave it out even where budget is left.",
            example([[0.5, 0.0, 0.5], [0.25]], 4, gives=[1, 1]),
            example([[], [0.5]], 4, gives=[0, 1]),
            example([], 4, gives=[]),
        ),
    ),
)

TASK_5_3 = Task(
    id="5.3",
    lesson=LESSON,
    reference=lagged_budget,
    todo="return the number of draft tokens for which Θ is highest of all",
    hints=(
        "The same Θ as in task 5.1, the same order of the tokens, but another question: not where it stops rising "
        "first, but where it is highest. Confidences that are two rounds old know nothing of the tokens that are "
        "decided on now, so there is no need to stop early.",
        "Compute Θ for 0, 1, 2, … admitted tokens: the running sum of the survivals, starting at R, times the entries "
        "of the table from R on. Only survivals above 0, only entries that exist. np.argmax returns the first, that "
        "is the smallest, of equal maxima. Without requests the budget is 0.",
        "a = all survivals above 0, highest first\n"
        "tau = R, R + a[0], R + a[0] + a[1], …\n"
        "speeds = the entries R, R + 1, … of the table, as many as tau has and the table holds\n"
        "return the position of the highest tau · speed, as a plain int (0 if there are no requests)",
    ),
    returns="one plain int",
    core=(
        values("highest_theta", 3)(
            "K is the number of draft tokens for which Θ = τ · SPS(B) is highest.",
            "With K tokens B = R + K, and τ is R plus the K highest survivals.",
            example([[0.5, 0.5], [0.75]], [0.0, 9.0, 8.0, 7.0, 6.0, 5.0], gives=2),
            example([[0.75, 0.5]], [0.0, 4.0, 2.0, 1.0], gives=0),
        ),
        values("later_peak_wins", 3)(
            "The search is global: a higher peak after a fall is found.",
            "Compare all K, from none to all tokens; do not stop where Θ falls for the first time.",
            example([[0.5, 0.5]], [0.0, 8.0, 4.0, 6.0], gives=2),
            example([[0.9] * 7], STAIRS, gives=7),
        ),
        values("highest_survivals_of_the_batch", 2)(
            "τ counts the highest survivals of the whole batch, whichever request they belong to.",
            "Sort the cumulative products of all requests together, the highest first.",
            example([[0.5, 0.875], [0.75, 0.75]], FALLING, gives=2),
            example([[0.25, 1.0, 1.0], [0.75]], [0.0, 9.0, 8.0, 6.5, 5.5, 5.0, 4.5], gives=1),
        ),
        values("every_request_counts_from_the_start", 1)(
            "K counts draft tokens only: with K = 0 the batch is B = R and τ = R.",
            "The entry for K draft tokens is R + K, and R is in τ from the start.",
            example([[0.5], [0.25], [0.5]], [0.0, 9.0, 8.0, 4.0, 3.75, 3.5, 1.0], gives=2),
        ),
        values("decision_follows_the_table", 1)(
            "Another table, another budget: all tokens where they cost nothing, none where they cost much.",
            "Read the speed of every B from the table; nothing about it is fixed.",
            example([[0.75, 0.5]], [0.0, 4.0, 4.0, 4.0], gives=2),
            example([[0.75, 0.5]], [0.0, 4.0, 3.0, 2.0], gives=1),
        ),
        values("smallest_of_equal_budgets", 1)(
            "Of budgets with an equal Θ the smallest is taken.",
            "np.argmax returns the first maximum; a loop must replace the best on > and not on >=.",
            example([[0.5, 0.5]], [0.0, 6.0, 4.0, 2.0], gives=0),
        ),
        values("edges", 1)(
            "No batch beyond the table, no token with a survival of 0; without requests the budget is 0.",
            "Leave out the survivals of 0, which may be padding, and cut at the end of the table.",
            example([[0.75, 0.5, 0.5]], [0.0, 1.0, 1.0], gives=1),
            example([[0.0, 0.5], [], [0.5]], RISING, gives=1),
            example([], [0.0, 1.0], gives=0),
        ),
    ),
)

TASKS = (TASK_5_1, TASK_5_2, TASK_5_3)
