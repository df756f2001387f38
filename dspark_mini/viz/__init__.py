"""Pictures drawn from the learner's own results; each function returns a figure that a notebook shows by itself."""

from dspark_mini.viz.candidates import candidate_grid
from dspark_mini.viz.clinic import bug_map
from dspark_mini.viz.curves import acceptance_decay, confidence_budget
from dspark_mini.viz.diagrams import who_depends_on_what
from dspark_mini.viz.laws import emitted_laws
from dspark_mini.viz.mask import mask_picture
from dspark_mini.viz.overview import readme_picture

__all__ = [
    "acceptance_decay",
    "bug_map",
    "candidate_grid",
    "confidence_budget",
    "emitted_laws",
    "mask_picture",
    "readme_picture",
    "who_depends_on_what",
]
