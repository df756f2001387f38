"""Lesson 10, your own policy: what its task must satisfy, and how it is scored."""

from dspark_mini.language import N_
from dspark_mini.policy import plan_round
from grader.check.policies import Allowed, FasterThanPlain, Reaches, SamePlanAgain, ViewUnchanged
from grader.lessons.tasks import Property, Task

LESSON = "10_your_policy"
FIXED = ("plain", "fixed 1", "fixed 4", "fixed 7")


def reaches(name: str, weight: int, says: str, hint: str, *policies: str) -> Property:
    """A property of the score: as high as that of the best of some policies."""
    return Property(name, weight, says, hint, Reaches(policies=policies))


TASK_10_1 = Task(
    id="10.1",
    lesson=LESSON,
    reference=plan_round,
    todo="decide how many drafts to verify now, and what to draft next",
    hints=(
        "A round is a purchase. Verifying one draft more costs the difference of two entries of verify_times, and "
        "yields its survival, in tokens. What is a token worth, in time? You know how many tokens the text has so far "
        "and how much time they took.",
        "Two questions. Now: up to which waiting draft does the expected yield outweigh the price, at the rate at "
        "which this text has been coming so far? Next: what does a long block cost that will be trimmed anyway, "
        "compared with a short one that ends too early, and where is a tree worth its rows? Answer the second one by "
        "trying: speeds(plan_round, load_recordings()) takes a second.",
        "spent = draft_times of all drafted + verify_times of all verified\n"
        "rate = tokens so far / spent, mixed with a guess for the first rounds\n"
        "worth[l] = the sum of the first l survivals - rate · verify_times[l], for l = 0..n\n"
        "verify_length = the l of the highest worth\n"
        "block_size, width = a long tree where a row costs next to nothing, a shorter one elsewhere",
    ),
    returns="a dict of plain ints",
    notes=(
        N_("This score is that of hidden texts; the lesson's own cells score the practice texts."),
        N_("This score is that of the practice texts, as in the lesson's own cells; grading scores hidden texts."),
    ),
    core=(
        Property(
            "plans_are_allowed",
            1,
            "Every plan can be carried out: it verifies drafts that there are, and orders a block that can be drafted.",
            "verify_length is at most len(survivals), 0 in the first round. block_size is at most 7 with width 1, and "
            "at most 14 with width 2. All three are whole numbers.",
            Allowed(),
        ),
        Property(
            "faster_on_the_laptop",
            1,
            "On the laptop the texts take less time than by plain decoding.",
            "Draft: block_size is what the next round finds in survivals.",
            FasterThanPlain(machine="laptop"),
        ),
        Property(
            "faster_on_the_idle_gpu",
            1,
            "On the idle GPU the texts take less time than by plain decoding.",
            "Rows cost next to nothing there: verify most of what was drafted.",
            FasterThanPlain(machine="idle GPU"),
        ),
        Property(
            "faster_on_the_busy_gpu",
            2,
            "On the busy GPU the texts take less time than by plain decoding.",
            "A row costs half a plain step there: verify only what will probably be accepted.",
            FasterThanPlain(machine="busy GPU"),
        ),
        reaches(
            "reaches_fixed_blocks",
            2,
            "The score is at least that of the best fixed block size of 1, 4 and 7.",
            "A fixed length loses on one machine what it wins on another. Let the plan follow verify_times.",
            *FIXED,
        ),
        reaches(
            "reaches_the_threshold",
            2,
            "The score is at least that of a chain of 7 from which survivals of 0.3 and more are verified.",
            "Trim by survival, and let the limit follow what a row costs.",
            "threshold",
        ),
        reaches(
            "reaches_the_scheduler",
            2,
            "The score is at least that of DSpark's scheduler, which verifies while tokens per time rise.",
            "The scheduler looks at one round's verification only. What else is paid for in a round, and what does the "
            "trace say about this text?",
            "scheduler",
        ),
        reaches(
            "reaches_the_reference",
            3,
            "The score is at least 100, the reference's.",
            "Compare machine by machine: the lowest score shows where time is lost. Have you tried trees?",
        ),
        Property(
            "no_memory",
            1,
            "The plan depends on the arguments only, not on earlier calls.",
            "Keep nothing in globals or default arguments: texts are decoded side by side. The trace is in the "
            "arguments.",
            SamePlanAgain(),
            after_values=True,
        ),
        Property(
            "input_unchanged",
            1,
            "The arguments are left as they were.",
            "Make a new array or list and change that; `survivals *= 0.9` writes into the caller's.",
            ViewUnchanged(),
            after_values=True,
        ),
    ),
)

TASKS = (TASK_10_1,)
