"""dspark_mini: build DFlash and DSpark speculative decoding, piece by piece, on a CPU."""

from dspark_mini.calibration import (
    acceptance_target,
    expected_calibration_error,
    fit_sequential_temperatures,
    prefix_survival,
)
from dspark_mini.confidence import choose_confident_prefix, conditional_acceptance
from dspark_mini.drafting import block_attention, dflash_parallel_candidates, dspark_markov_candidates
from dspark_mini.economics import expected_accepted_length, net_benefit, speedup
from dspark_mini.hardware import cache_mask, flatten_requests, speeds_from_times, speedup_with_interval
from dspark_mini.heads import LowRankHead, draft_inputs, low_rank_bias, rnn_head_step, sample_markov_block
from dspark_mini.masks import block_mask, verification_mask
from dspark_mini.records import build_draft_record
from dspark_mini.rounds import best_block_size, decode_round, keep_drafting, rollback_rows, round_totals
from dspark_mini.scheduling import allocate_budget, lagged_budget, schedule_prefixes
from dspark_mini.trees import build_conditional_tree, tree_mask, verify_tree_greedy, verify_tree_sampling
from dspark_mini.verification import (
    acceptance_probability,
    cut_output,
    residual_distribution,
    verify_greedy,
    verify_sampling,
)

__all__ = [
    "LowRankHead",
    "acceptance_probability",
    "acceptance_target",
    "allocate_budget",
    "best_block_size",
    "block_attention",
    "block_mask",
    "build_conditional_tree",
    "build_draft_record",
    "cache_mask",
    "choose_confident_prefix",
    "conditional_acceptance",
    "cut_output",
    "decode_round",
    "dflash_parallel_candidates",
    "draft_inputs",
    "dspark_markov_candidates",
    "expected_accepted_length",
    "expected_calibration_error",
    "fit_sequential_temperatures",
    "flatten_requests",
    "keep_drafting",
    "lagged_budget",
    "low_rank_bias",
    "net_benefit",
    "prefix_survival",
    "residual_distribution",
    "rnn_head_step",
    "rollback_rows",
    "round_totals",
    "sample_markov_block",
    "schedule_prefixes",
    "speeds_from_times",
    "speedup",
    "speedup_with_interval",
    "tree_mask",
    "verification_mask",
    "verify_greedy",
    "verify_sampling",
    "verify_tree_greedy",
    "verify_tree_sampling",
]
__version__ = "0.1.0"
