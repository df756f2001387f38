"""The clinic's failing cases as tasks: before the repair of a bug, the learner writes a call on which it shows."""

from collections.abc import Iterator

from dspark_mini import clinic_bugs, clinic_cases
from dspark_mini.language import N_
from grader.check.failing_case import FailingCase
from grader.lessons.tasks import Property, Task

SUFFIX = ".case"
NO_ORACLE = N_("Provisional: the bug shows on this call; whether your result is the right one, only grading can tell.")
HINTS = {  # a narrower question, and what kind of input answers it
    "8.1": ("When does a block given earlier hold a feature of a later anchor, or of a position after it?",
            "Two anchors that are closer to each other than block_length."),
    "8.2": ("Two entries of hidden_states stand next to each other. How would you notice that one was taken for the "
            "other?", "Any two entries that differ."),
    "8.3": ("Which token has the position that the block starts at?", "A cache with at least one row."),
    "8.4": ("In which layout is the first row a prediction?", "Any block in the layout 'dspark'."),
    "8.5": ("For which tables do a drafter's id and a target's id of the same token differ?",
            "A table with an offset above 0."),
    "8.6": ("For which softmax is the draft not certain?", "A row with two tokens above 0."),
    "8.8": ("Which token has the target's highest probability, and which one was drafted?",
            "A draft that is not the target's best token, or a drafter that is surer of it than the target."),
    "8.10": ("After which tokens of a round does nobody look?", "A stop token with another token after it."),
    "8.11": ("Which end is tested first, and which one comes first in the text?",
             "A stop token within the cap, and as many tokens as the cap or more."),
    "8.12": ("Which tokens of a round never reach the user?", "A stop token in the middle of a round."),
    "8.13": ("Which of the drafts were fed to the drafter, and so have a row?",
             "Any round: count the rows that were written, and those that must stay."),
    "8.14": ("When does the gate have something to save?", "A confidence below the threshold."),
    "8.15": ("What can a profile lack?", "A profile with fewer entries than there are lengths."),
    "8.16": ("Which argument does the result never depend on?", "A replay that takes time, and an accepted draft."),
}  # fmt: skip


def with_cases(*repairs: Task) -> Iterator[Task]:
    """Yield every repair, after the task of finding its failing case where it has one."""
    for repair in repairs:
        if repair.id in HINTS:
            yield case_of(repair)
        yield repair


def case_of(repair: Task) -> Task:
    """Make the task of writing a call that shows the bug of a function."""
    question, answer = HINTS[repair.id]
    first = f"The example in the docstring of {repair.function} works. What does its rule say about other inputs?"
    return Task(
        id=f"{repair.id}{SUFFIX}",
        lesson=repair.lesson,
        reference=getattr(clinic_cases, f"failing_case_{repair.id.replace('.', '_')}"),
        todo=f"find a call of {repair.function} on which its bug shows",
        hints=(first, question, answer),
        returns="a dict of arguments, and a result",
        notes=("", NO_ORACLE),
        core=(
            Property(
                "shows_the_bug",
                1,
                f"On this call {repair.function}, as it was handed out, breaks the rule in its docstring.",
                "Keep the call small. Work out by hand what the rule demands, then run the function on it.",
                FailingCase(getattr(clinic_bugs, repair.function), repair.contract),
            ),
        ),
    )
