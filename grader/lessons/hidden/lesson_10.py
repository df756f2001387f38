"""Lesson 10, the half that a bundle leaves out: the texts on which policies are scored."""

from pathlib import Path

import numpy as np

from grader.lessons.paths import HIDDEN_TEXTS
from grader.lessons.tasks import hidden


def texts(rng: np.random.Generator) -> Path:
    """Return the file of the hidden texts, the same for everybody and every check."""
    return HIDDEN_TEXTS


HIDDEN = {
    "10.1": hidden(
        None,
        plans_are_allowed=texts,
        faster_on_the_laptop=texts,
        faster_on_the_idle_gpu=texts,
        faster_on_the_busy_gpu=texts,
        reaches_fixed_blocks=texts,
        reaches_the_threshold=texts,
        reaches_the_scheduler=texts,
        reaches_the_reference=texts,
    )
}
