"""What learners do not get: an independent solution per task, and hidden cases under the names of its properties."""

from grader.lessons.tasks import hidden
from grader.run.child.calling import call


def leads(block_logits):
    """The oracle: written in another way than the reference, loops allowed."""
    return [max(row) - sum(row) / len(row) for row in block_logits.tolist()]


def best_minus_mean(rng):
    """Blocks of every small shape."""
    for _ in range(10):
        yield call(rng.normal(size=rng.integers(1, 6, size=2)))


def no_lead(rng):
    """Blocks in which no token leads."""
    yield call([[float(rng.integers(-9, 9))] * 4])
    yield call(rng.normal(size=(3, 1)))


HIDDEN = {"99.1": hidden(leads, best_minus_mean, no_lead)}
