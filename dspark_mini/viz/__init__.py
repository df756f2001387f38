"""Pictures drawn from the learner's own results; each function returns a figure that a notebook shows by itself."""

from dspark_mini.viz.candidates import candidate_grid
from dspark_mini.viz.curves import acceptance_decay, confidence_budget
from dspark_mini.viz.diagrams import who_depends_on_what
from dspark_mini.viz.mask import mask_picture, verification_picture
from dspark_mini.viz.overview import readme_picture
from dspark_mini.viz.verification import accepted_mass, emitted_laws, verified_rounds

__all__ = [
    "acceptance_decay",
    "accepted_mass",
    "candidate_grid",
    "confidence_budget",
    "emitted_laws",
    "mask_picture",
    "readme_picture",
    "verification_picture",
    "verified_rounds",
    "who_depends_on_what",
]
