"""Pictures of the learner's own results; each function returns a figure that a notebook shows by itself.

Lists pass for arrays everywhere: a contract converts the arguments and refuses bad ones.
"""

from dspark_mini.viz.batches import flat_batch, verify_schedule
from dspark_mini.viz.candidates import candidate_grid
from dspark_mini.viz.clinic import bug_map
from dspark_mini.viz.confidence import confidence_budget, reliability_diagram, survival_bars, threshold_sweep
from dspark_mini.viz.curves import acceptance_decay, lines, speed_by_length, tokens_per_round
from dspark_mini.viz.diagrams import block_layouts, who_depends_on_what
from dspark_mini.viz.distributions import accepted_mass, emitted_laws, overlap_picture
from dspark_mini.viz.economics import gain_bars, speedup_map, time_line
from dspark_mini.viz.explore import explore
from dspark_mini.viz.heads import bias_tables, block_shares
from dspark_mini.viz.injection import kv_injection
from dspark_mini.viz.masks import mask_picture, tree_mask_picture, verification_picture
from dspark_mini.viz.overview import readme_picture
from dspark_mini.viz.policies import policy_speeds
from dspark_mini.viz.race import race_picture
from dspark_mini.viz.rounds import cache_rows, draft_fates, round_rows, verified_rounds
from dspark_mini.viz.trees import draft_tree

__all__ = [
    "acceptance_decay",
    "accepted_mass",
    "bias_tables",
    "block_layouts",
    "block_shares",
    "bug_map",
    "cache_rows",
    "candidate_grid",
    "confidence_budget",
    "draft_fates",
    "draft_tree",
    "emitted_laws",
    "explore",
    "flat_batch",
    "gain_bars",
    "kv_injection",
    "lines",
    "mask_picture",
    "overlap_picture",
    "policy_speeds",
    "race_picture",
    "readme_picture",
    "reliability_diagram",
    "round_rows",
    "speed_by_length",
    "speedup_map",
    "survival_bars",
    "threshold_sweep",
    "time_line",
    "tokens_per_round",
    "tree_mask_picture",
    "verification_picture",
    "verified_rounds",
    "verify_schedule",
    "who_depends_on_what",
]
