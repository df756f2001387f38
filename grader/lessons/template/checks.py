"""What this lesson's functions must satisfy; learners get this file."""

from grader.lessons.tasks import Task, example, values

from .reference import my_topic

TASK_99_1 = Task(
    id="99.1",
    lesson="99_my_topic",
    reference=my_topic,
    todo="subtract the mean of each row from its best logit",
    hints=(
        "The idea: a clear decision has a best logit far above the others.",
        "A line of attack: which axis of (γ, V) holds the logits of one position?",
        "leads = maximum over V − mean over V\nreturn leads as a list",
    ),
    returns="plain floats in a list",
    core=(
        values("best_minus_mean", 3)(
            "Each entry is the row's best logit minus the mean of the row.",
            "Do [1, 4, 1] by hand: the best is 4, the mean 2, so the lead is 2.",
            example([[1.0, 4.0, 1.0]], gives=[2.0]),
            example([[1.0, 4.0, 1.0], [0.0, 0.0, 6.0]], gives=[2.0, 4.0]),
            example([[5.0, 4.0, 3.0], [0.0, -3.0, -6.0]], gives=[1.0, 3.0]),
        ),
        values("no_lead", 1)(
            "Where all logits of a row are equal, or there is only one, the lead is 0.",
            "The best of equal logits is their mean. Is a row of one token a special case in your lines?",
            example([[2.0, 2.0], [-1.0, -1.0]], gives=[0.0, 0.0]),
            example([[7.0]], gives=[0.0]),
        ),
    ),
)

TASKS = (TASK_99_1,)
