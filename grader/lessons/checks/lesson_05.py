"""Lesson 05, the hardware-aware prefix scheduler: what its tasks must satisfy."""

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
    todo="choose the verify length of every request",
    hints=(
        "Three questions, one after the other. How likely is each draft token to survive, given nothing? In which "
        "order are they worth their cost? And how far down that order does each further token still raise "
        "Θ = τ · SPS(B), starting from one token per request?",
        "Do the lesson's table for another example by hand. What must you know of a token to write down its line: "
        "which numbers, and whose token it is? What ends the table? How do the lines become one length per request?",
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
            "For [[.75, .5, .5]] and speeds 8, 6, 5, 3, Θ is 1 · 8 = 8, 1.75 · 6 = 10.5, 2.125 · 5 = 10.625, 2.3125 · "
            "3 = 6.9375.",
            example([[0.75, 0.5, 0.5]], [0.0, 8.0, 6.0, 5.0, 3.0], gives=[2]),
        ),
        values("stops_at_first_without_rise", 3)(
            "The first token that does not raise Θ ends it, even where a later one would.",
            "For [[.8, .9]], Θ is 1 without drafts, and 1.8 · .5 = .9 with one. What may come later does not count.",
            example([[0.8, 0.9]], [0.0, 1.0, 0.5, 0.45], gives=[0]),
            example([[0.9] * 7], STAIRS, gives=[3]),
        ),
        values("highest_survival_first", 2)(
            "The tokens of all requests stand in one order, by their prefix survival.",
            "For [.5, .875] and [.75, .75] the survivals are .5, .4375 and .75, .5625. In which order are they tried?",
            example([[0.5, 0.875], [0.75, 0.75]], FALLING, gives=[0, 2]),
        ),
        values("every_request_counts_from_the_start", 1)(
            "Without any draft token B = R and τ = R: every request verifies and yields one token of its own.",
            "For three requests B = 3 and τ = 3 without a draft token, so that Θ is 3 times entry 3; with one, entry "
            "4 counts.",
            example([[0.5], [0.25], [0.5]], [0.0, 9.0, 8.0, 4.0, 3.75, 3.5, 1.0], gives=[1, 0, 1]),
        ),
        values("decision_follows_the_table", 1)(
            "Another table, another decision: where tokens cost nothing all are verified, where they cost much none.",
            "The same confidences and three tables: write down Θ for 0, 1 and 2 draft tokens.",
            example([[0.75, 0.5]], [0.0, 4.0, 4.0, 4.0], gives=[2]),
            example([[0.75, 0.5]], [0.0, 4.0, 3.0, 2.0], gives=[1]),
            example([[0.75, 0.5]], [0.0, 4.0, 2.0, 1.0], gives=[0]),
        ),
        values("ties", 2)(
            "Equal survivals: the lower request, then the lower position. An equal Θ is not a rise.",
            "Where survivals are equal, whose token comes first? Where Θ stays equal, is that a rise?",
            example([[0.5, 1.0], [0.5]], [0.0, 4.0, 4.0, 4.0, 4.0, 1.0], gives=[2, 0]),
            example([[0.5, 0.5]], [0.0, 6.0, 4.0, 8.0], gives=[0]),
        ),
        values("edges", 1)(
            "No batch beyond the table, no token with a survival of 0; empty requests and no requests are legal.",
            "What do your lines do at the table's last entry, at a survival of 0, and without requests?",
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
        "If all survivals stood in one list, the highest first, which part of it would you keep? What must you "
        "remember of each, to say whose it is? Which kind of sort keeps equal ones in the order of the batch?",
        "survival = cumulative products along each row                       → (R, γ)\n"
        "order = flat positions, highest survival first: np.argsort(-survival, axis=None, kind='stable')\n"
        "chosen = the first min(budget, number of survivals above 0) of order; position i is in row i // γ\n"
        "for each request count the chosen positions of its row, as plain ints",
    ),
    returns="plain ints in a list",
    core=(
        values("highest_survivals_get_it", 3)(
            "The `budget` tokens of the highest prefix survival are verified, whichever request they belong to.",
            "For [.5, .5] and [.75, .5] the survivals are .5, .25 and .75, .375. Which three are the best, and whose "
            "are they?",
            example([[0.5, 0.5], [0.75, 0.5]], 3, gives=[1, 2]),
            example([[0.75, 0.5], [0.5, 0.75]], 1, gives=[1, 0]),
        ),
        values("survival_and_not_confidence", 2)(
            "A confident token after a doubtful one is doubtful: the product decides.",
            "In a request [.25, 1, 1], how often can the second token survive?",
            example([[0.25, 1.0, 1.0], [0.75, 0.5]], 2, gives=[0, 2]),
        ),
        values("budget_of_the_whole_batch", 1)(
            "The budget is a number of draft tokens of all requests together; their own tokens are not in it.",
            "Add your lengths up: where there are enough tokens, the sum is the budget.",
            example([[0.5], [0.5], [0.75]], 1, gives=[0, 0, 1]),
            example([[0.25, 0.5], [0.5, 0.75]], 0, gives=[0, 0]),
        ),
        values("ties", 2)(
            "Of equal survivals the lower request goes first, then the lower position.",
            "Where survivals are equal, the order of the batch decides.",
            example([[0.5, 1.0], [0.5, 1.0]], 3, gives=[2, 1]),
        ),
        values("leftovers", 1)(
            "Tokens with a survival of 0 get nothing, and a budget that is too large is left over.",
            "Which tokens can survive at all? No others are verified, even where budget is left.",
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
        "Write Θ down for K = 0, 1, 2, … Which two rows of numbers do you multiply, and where does each of them start? "
        "Which survivals and which entries of the table are left out? If two K have the same Θ, which one do you get?",
        "a = all survivals above 0, highest first\n"
        "tau = R, R + a[0], R + a[0] + a[1], …\n"
        "speeds = the entries R, R + 1, … of the table, as many as tau has and the table holds\n"
        "return the position of the highest tau · speed, as a plain int; np.argmax finds the first of equal ones",
    ),
    returns="one plain int",
    core=(
        values("highest_theta", 3)(
            "K is the number of draft tokens for which Θ = τ · SPS(B) is highest.",
            "For [.5, .5], [.75] and speeds 9, 8, 7, 6, 5, Θ is 2 · 8 = 16, 2.75 · 7 = 19.25, 3.25 · 6 = 19.5, 3.5 · "
            "5 = 17.5.",
            example([[0.5, 0.5], [0.75]], [0.0, 9.0, 8.0, 7.0, 6.0, 5.0], gives=2),
            example([[0.75, 0.5]], [0.0, 4.0, 2.0, 1.0], gives=0),
        ),
        values("later_peak_wins", 3)(
            "The search is global: a higher peak after a fall is found.",
            "For [[.5, .5]] and speeds 8, 4, 6, Θ is 1 · 8 = 8, 1.5 · 4 = 6 and 1.75 · 6 = 10.5 for K = 0 to 2.",
            example([[0.5, 0.5]], [0.0, 8.0, 4.0, 6.0], gives=2),
            example([[0.9] * 7], STAIRS, gives=7),
        ),
        values("highest_survivals_of_the_batch", 2)(
            "τ counts the highest survivals of the whole batch, whichever request they belong to.",
            "For [.5, .875] and [.75, .75] they are .5, .4375 and .75, .5625. Which are in τ for K = 1, which for K = "
            "2?",
            example([[0.5, 0.875], [0.75, 0.75]], FALLING, gives=2),
            example([[0.25, 1.0, 1.0], [0.75]], [0.0, 9.0, 8.0, 6.5, 5.5, 5.0, 4.5], gives=1),
        ),
        values("every_request_counts_from_the_start", 1)(
            "K counts draft tokens only: with K = 0 the batch is B = R and τ = R.",
            "For three requests B = 3 and τ = 3 at K = 0, so that Θ is 3 times entry 3; at K = 1, B is 4.",
            example([[0.5], [0.25], [0.5]], [0.0, 9.0, 8.0, 4.0, 3.75, 3.5, 1.0], gives=2),
        ),
        values("decision_follows_the_table", 1)(
            "Another table, another budget: all tokens where they cost nothing, none where they cost much.",
            "The same confidences and two tables: write down Θ for K = 0, 1 and 2.",
            example([[0.75, 0.5]], [0.0, 4.0, 4.0, 4.0], gives=2),
            example([[0.75, 0.5]], [0.0, 4.0, 3.0, 2.0], gives=1),
        ),
        values("smallest_of_equal_budgets", 1)(
            "Of budgets with an equal Θ the smallest is taken.",
            "For [[.5, .5]] and speeds 6, 4, Θ is 6 for K = 0 and 1.5 · 4 = 6 for K = 1: which of the two do your "
            "lines keep?",
            example([[0.5, 0.5]], [0.0, 6.0, 4.0, 2.0], gives=0),
        ),
        values("edges", 1)(
            "No batch beyond the table, no token with a survival of 0; without requests the budget is 0.",
            "What do your lines do with survivals of 0, at the end of the table, and without requests?",
            example([[0.75, 0.5, 0.5]], [0.0, 1.0, 1.0], gives=1),
            example([[0.0, 0.5], [], [0.5]], RISING, gives=1),
            example([], [0.0, 1.0], gives=0),
        ),
    ),
)

TASKS = (TASK_5_1, TASK_5_2, TASK_5_3)
