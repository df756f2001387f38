"""dspark_mini: build DFlash and DSpark speculative decoding, piece by piece, on a CPU."""

from dspark_mini.confidence import choose_confident_prefix, conditional_acceptance
from dspark_mini.drafting import dflash_parallel_candidates, dspark_markov_candidates
from dspark_mini.masks import block_mask
from dspark_mini.records import build_draft_record

__all__ = [
    "block_mask",
    "build_draft_record",
    "choose_confident_prefix",
    "conditional_acceptance",
    "dflash_parallel_candidates",
    "dspark_markov_candidates",
]
__version__ = "0.1.0"
