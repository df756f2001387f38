"""Lesson 08, the bug clinic: what the repairs of 8.10 to 8.16 must satisfy, on stops, counts, caches and clocks."""

from dspark_mini.clinic_rounds import (
    commit_until_stop,
    draft_rows_to_drop,
    finish_request,
    gated_round,
    mean_emitted_length,
    net_time_saved,
    profiled_verify_length,
)
from grader.lessons.checks.cases import with_cases
from grader.lessons.checks.lesson_08 import LESSON, STILL_WORKS
from grader.lessons.tasks import Task, example, values

TASK_8_10 = Task(
    id="8.10",
    lesson=LESSON,
    reference=commit_until_stop,
    todo="look for a stop token in the whole round",
    hints=(
        "Plain decoding looks for a stop token after every token. A round commits several: after which of them does "
        "the code look?",
        "What does plain decoding ask after each of its tokens? Where in a round has that to be asked?",
        "for each token of the round:\n    append it\n    if it is a stop token: return, finished\n"
        "return, not finished",
    ),
    returns="plain ints in a list, and a bool",
    core=(
        values("first_stop_ends", 3)(
            "The first stop token of the round is the last token of the output, wherever in the round it stands.",
            "An accepted draft can be a stop token too, not only the target's own token at the end.",
            example([7], [5, 2, 8], [2], gives={"output": [7, 5, 2], "finished": True}),
            example([], [2, 2, 4], [3, 2], gives={"output": [2], "finished": True}),
            example([], [5, 4, 2], [2, 4], gives={"output": [5, 4], "finished": True}),
        ),
        values("rounds_without_early_stop", 1)(
            "Without a stop token all of the round is kept; one at the end finishes as well.",
            STILL_WORKS,
            example([7], [5, 8], [2], gives={"output": [7, 5, 8], "finished": False}),
            example([7], [5, 2], [2], gives={"output": [7, 5, 2], "finished": True}),
            example([1, 2], [3], [], gives={"output": [1, 2, 3], "finished": False}),
        ),
    ),
)

TASK_8_11 = Task(
    id="8.11",
    lesson=LESSON,
    reference=finish_request,
    todo="look for the stop token within the cap before the cap ends the request",
    hints=(
        "Both ends are places in the list of tokens. Which of the two comes first is a question of places, not of "
        "which test stands first in the code.",
        "Which tokens can be emitted at all? What is looked for among them, and what decides where it is not found?",
        "for each of the first cap tokens: if it is a stop token, return up to and including it, 'stop'\n"
        "return the first cap tokens: 'length' if there are cap of them or more, else 'running'",
    ),
    returns="plain ints in a list, and a string",
    core=(
        values("stop_before_cap", 2)(
            "A stop token before the cap ends the request, even if the same round crosses the cap.",
            "Look for the stop token first, among the tokens that the cap allows.",
            example([10, 11, 2, 20, 21, 22], [2], 5, gives={"tokens": [10, 11, 2], "reason": "stop"}),
            example([2, 9, 9], [9], 2, gives={"tokens": [2, 9], "reason": "stop"}),
        ),
        values("stop_as_last_allowed", 1)(
            "A stop token that is the last one allowed counts as a stop, not as a cut.",
            "The tokens are the same either way; the reason is not.",
            example([10, 11, 2, 20], [2], 3, gives={"tokens": [10, 11, 2], "reason": "stop"}),
        ),
        values("cap_before_stop", 1)(
            "A stop token after the cap is never reached; at the cap the request ends, below it runs on.",
            f"{STILL_WORKS} There are never more than max_new_tokens tokens.",
            example([10, 11, 12, 2], [2], 3, gives={"tokens": [10, 11, 12], "reason": "length"}),
            example([10, 11], [2], 3, gives={"tokens": [10, 11], "reason": "running"}),
            example([10, 11], [2], 2, gives={"tokens": [10, 11], "reason": "length"}),
            example([10, 2, 11], [2], 4, gives={"tokens": [10, 2], "reason": "stop"}),
        ),
    ),
)

TASK_8_12 = Task(
    id="8.12",
    lesson=LESSON,
    reference=mean_emitted_length,
    todo="count the tokens that are emitted, not those that were accepted",
    hints=(
        "Add up what the users got. Does it equal the number of rounds times the mean that the code reports?",
        "Which tokens of a stopped round reach the user? Does a token of the target's follow there?",
        "for each round:\n    count its tokens up to and including the first stop token, or all if there is none\n"
        "return the sum of the counts / number of rounds",
    ),
    returns="one plain float",
    core=(
        values("only_emitted_tokens", 3)(
            "A round counts up to and including its first stop token.",
            "The stop token itself is emitted; what follows it is not.",
            example([[4, 5, 6], [7, 2, 8, 9]], [2], gives=2.5),
            example([[7, 2, 4, 4]], [2, 7], gives=1.0),
            example([[7, 2, 8, 9], [4, 5, 6, 7]], [2], gives=3.0),
        ),
        values("rounds_without_stop", 1)(
            "A round without a stop token, or with one at its end, counts in full.",
            STILL_WORKS,
            example([[4, 5, 6], [7]], [2], gives=2.0),
            example([[4, 5, 2]], [2], gives=3.0),
        ),
    ),
)

TASK_8_13 = Task(
    id="8.13",
    lesson=LESSON,
    reference=draft_rows_to_drop,
    todo="count the rows that were written and the rows that must stay",
    hints=(
        "Write down which tokens were fed to the drafter in this round, and which of them must be in its cache before "
        "the next one.",
        "How many rows were fed, and for which tokens? Which of these must stay, and what if every draft was accepted?",
        "surplus = γ − (1 + accepted)\ndrop = surplus, at least 0\nmissing = −surplus, at least 0",
    ),
    returns="plain ints in a dict",
    core=(
        values("rejecting_rounds", 2)(
            "After a rejection the anchor and the accepted drafts stay, and nothing else of this round.",
            "The last draft was never fed, so it has no row that could be dropped.",
            example(4, 1, gives={"drop": 2, "missing": 0}),
            example(4, 0, gives={"drop": 3, "missing": 0}),
            example(4, 3, gives={"drop": 0, "missing": 0}),
        ),
        values("all_accepted", 1)(
            "If every draft was accepted, the last one still has to be fed: one row is missing.",
            "No trim can reach this case: the cache lacks a row.",
            example(4, 4, gives={"drop": 0, "missing": 1}),
        ),
        values("single_draft", 1)(
            "A single draft was never fed: if it is rejected, there is nothing to drop.",
            "The one row of the round is the anchor's, and the anchor is committed.",
            example(1, 0, gives={"drop": 0, "missing": 0}),
        ),
    ),
)


def verified(target_input: list[int], tokens: list[int]) -> dict[str, list[int]]:
    """Write a result of gated_round."""
    return {"target_input": target_input, "tokens": tokens}


TASK_8_14 = Task(
    id="8.14",
    lesson=LESSON,
    reference=gated_round,
    todo="apply the gate before the target's forward",
    hints=(
        "The text is the same with and without the bug. What is the gate for, then, and when is that already spent?",
        "What does the target's forward cost, and which list decides that? What must be known before it is made?",
        "prefix = number of confidences before the first one below the threshold\n"
        "target_input = the anchor and the first `prefix` drafts\n"
        "accepted = drafts that equal the target's tokens, at most `prefix` of them",
    ),
    returns="plain ints in lists",
    core=(
        values("target_gets_the_prefix", 3)(
            "The target's forward is given the anchor and the confident prefix, and not a row more.",
            "Count the rows of target_input: 1 + the length of the prefix.",
            example(1, [4, 5, 6], [0.9, 0.8, 0.3], 0.5, [4, 5, 6, 7], gives=verified([1, 4, 5], [4, 5, 6])),
            example(1, [4, 5], [0.25, 0.9], 0.5, [4, 5, 6], gives=verified([1], [4])),
            example(3, [4, 9, 6], [0.75, 0.25, 0.5], 0.25, [4, 9, 5, 7], gives=verified([3, 4, 9, 6], [4, 9, 5])),
        ),
        values("open_gate", 1)(
            "Where every confidence passes (an equal one does), the whole block is verified as before.",
            STILL_WORKS,
            example(1, [4, 5], [0.5, 0.75], 0.5, [4, 9, 8], gives=verified([1, 4, 5], [4, 9])),
            example(1, [4], [0.75], 0.5, [4, 9], gives=verified([1, 4], [4, 9])),
        ),
    ),
)

TASK_8_15 = Task(
    id="8.15",
    lesson=LESSON,
    reference=profiled_verify_length,
    todo="choose among the lengths that were profiled, by the profile",
    hints=(
        "Change the profile and see whether the decision changes. What does the code assume about the speed of a step "
        "when the profile is short?",
        "Which lengths have a measured speed? What does a made-up speed of another length do to the choice?",
        "tokens = expected tokens for ℓ = 0 … γ\n"
        "tried = the lengths that have an entry: as many as the shorter of the two\n"
        "return the first ℓ among them with the greatest tokens · speed",
    ),
    returns="one plain int",
    core=(
        values("only_profiled_lengths", 3)(
            "A short profile still decides; lengths without an entry are never chosen.",
            "Compare the lengths that have an entry, and no others.",
            example([0.5, 0.5], [8.0, 6.0], gives=1),
            example([0.5, 0.5, 0.5], [8.0, 4.0], gives=0),
            example([0.75, 0.75], [8.0], gives=0),
        ),
        values("whole_profile", 1)(
            "With an entry for every length the best of all is chosen; entries beyond γ do not matter.",
            f"{STILL_WORKS} Of equal lengths the smallest wins.",
            example([0.5, 0.5], [8.0, 4.0, 2.0], gives=0),
            example([1.0, 1.0], [8.0, 8.0, 8.0], gives=2),
            example([1.0, 1.0], [8.0, 4.0, 4.0, 9.0], gives=2),
            example([1.0, 0.5], [8.0, 4.0, 3.2], gives=0),
        ),
    ),
)

TASK_8_16 = Task(
    id="8.16",
    lesson=LESSON,
    reference=net_time_saved,
    todo="charge the replay of every accepted draft",
    hints=(
        "Add up the clock of one round by hand, with everything that is done between two tokens. Which of the five "
        "numbers does the code never use?",
        "What is replayed, and how often: per round, per draft, or per accepted draft?",
        "saved = (accepted + 1, over all rounds) · target_time\n"
        "      − rounds · (draft_time + verify_time)\n"
        "      − accepted, over all rounds, · replay_time",
    ),
    returns="a float and a bool in a dict",
    core=(
        values("replay_is_a_cost", 3)(
            "Every accepted draft costs replay_time; what saves nothing in the end does not pay.",
            "Subtract replay_time once for each accepted draft, not once per round.",
            example([3, 1], 10.0, 2.0, 12.0, 4.0, gives={"saved": 16.0, "pays": True}),
            example([2, 0], 8.0, 4.0, 12.0, 8.0, gives={"saved": -16.0, "pays": False}),
            example([1], 10.0, 2.0, 10.0, 8.0, gives={"saved": 0.0, "pays": False}),
        ),
        values("without_replay", 1)(
            "Where nothing is replayed, the rest of the sum is as it was.",
            STILL_WORKS,
            example([3, 1], 10.0, 2.0, 12.0, 0.0, gives={"saved": 32.0, "pays": True}),
            example([0, 0], 10.0, 2.0, 12.0, 4.0, gives={"saved": -8.0, "pays": False}),
            example([], 10.0, 2.0, 12.0, 4.0, gives={"saved": 0.0, "pays": False}),
        ),
    ),
)

TASKS = tuple(with_cases(TASK_8_10, TASK_8_11, TASK_8_12, TASK_8_13, TASK_8_14, TASK_8_15, TASK_8_16))
