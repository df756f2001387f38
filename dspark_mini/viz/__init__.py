"""Pictures drawn from the learner's own results; each function returns a figure that a notebook shows by itself."""

from dspark_mini.viz.candidates import candidate_grid
from dspark_mini.viz.curves import acceptance_decay, confidence_budget
from dspark_mini.viz.diagrams import who_depends_on_what
from dspark_mini.viz.mask import mask_picture
from dspark_mini.viz.overview import readme_picture
from dspark_mini.viz.trees import draft_tree, emitted_laws, tokens_per_round, tree_mask_picture

__all__ = [
    "acceptance_decay",
    "candidate_grid",
    "confidence_budget",
    "draft_tree",
    "emitted_laws",
    "mask_picture",
    "readme_picture",
    "tokens_per_round",
    "tree_mask_picture",
    "who_depends_on_what",
]
