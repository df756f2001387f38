"""What DSpark (arXiv 2607.05147) reports, by table and figure: the one place where its numbers are written down.

Experiments, docs/results.md and the lessons, where `{paper:figure_5}` stands for a sentence of SAYS, read them here.
"""

from __future__ import annotations

from typing import Any

SETS = ("GSM8K", "MATH", "AIME25", "MBPP", "HumanEval", "LCB", "MT-Bench", "Alpaca", "Arena-Hard")  # three per domain
PAPER: dict[str, dict[str, Any]] = {
    "table_1": {
        "model": "Qwen3-4B, γ = 7, temperature 1",
        "sets": list(SETS),
        "tau": {
            "EAGLE-3": [5.14, 4.62, 3.92, 3.69, 4.16, 3.77, 2.39, 2.26, 2.55],
            "DFlash": [5.40, 4.85, 4.15, 4.40, 4.74, 4.18, 3.07, 2.96, 2.83],
            "DSpark": [6.11, 5.70, 4.89, 5.13, 5.38, 4.86, 3.64, 3.54, 3.29],
        },
        "gain_of_dspark": {"over DFlash": 0.163, "over EAGLE-3": 0.309},
    },
    "figure_2": {
        "first_and_last_position": {
            "DFlash": {"code": [0.87, 0.78], "chat": [0.72, 0.63]},
            "EAGLE-3": {"chat": [0.53, 0.74]},
        },
    },
    "figure_3": {"layers_of_dspark": 2, "layers_of_dflash": 5},
    "figure_4": {
        "block_size": [3, 7, 11, 15],  # the axis says 4 to 16, anchor included
        "gain_of_dspark_over_dflash": {7: [0.16, 0.15, 0.18], 15: [0.30, 0.26, 0.22]},  # math, code, chat
        "share_of_the_head": [0.002, 0.013],  # of a round at batch 128
    },
    "figure_5": {
        "acceptance_rate_from_to": {"chat": [0.457, 0.957], "math": [0.769, 0.925], "code": [0.676, 0.920]},
        "thresholds_to": 0.8,
    },
    "figure_6": {"ece_before": [0.03, 0.08], "ece_after": 0.01, "auc": [0.81, 0.91]},
    "figure_7_8": {
        "tokens_of_mtp_1": 2,  # verified per request, anchor included
        "per_user_speed_at_matched_throughput": {"V4-Flash": [0.60, 0.85], "V4-Pro": [0.57, 0.78]},
        "budget_per_request": {"in the text": [4, 6], "in Figure 8": ["5–5.5", "3.5"]},  # tokens, anchor included
    },
}


def percent(share: float) -> str:
    """Write a share in per cent, without a superfluous zero."""
    return f"{100 * share:.1f}".removesuffix(".0")


def _span(shares: list[float], between: str = "–") -> str:
    return between.join(map(percent, shares))


def _sets(index: int) -> str:
    return ", ".join(f"{name} {values[index]:.2f}" for name, values in PAPER["table_1"]["tau"].items())


def _sentences() -> dict[str, str]:
    gains, positions = PAPER["table_1"]["gain_of_dspark"], PAPER["figure_2"]["first_and_last_position"]
    depth, long, cut = PAPER["figure_3"], PAPER["figure_4"], PAPER["figure_5"]
    ece, served = PAPER["figure_6"], PAPER["figure_7_8"]
    rates = ", ".join(f"{domain} {_span(span, ' → ')} %" for domain, span in cut["acceptance_rate_from_to"].items())
    speeds = ", ".join(
        f"{_span(gain)} % with {model}" for model, gain in served["per_user_speed_at_matched_throughput"].items()
    )
    budget = served["budget_per_request"]
    ends = {
        name: ", ".join(f"{domain} {first:.2f} to {last:.2f}" for domain, (first, last) in rows.items())
        for name, rows in positions.items()
    }
    short, longest = (", ".join(map(percent, row)) for row in long["gain_of_dspark_over_dflash"].values())
    return {
        "table_1": f"DSpark's τ is {percent(gains['over DFlash'])} % above DFlash's and "
        f"{percent(gains['over EAGLE-3'])} % above EAGLE-3's, on average over nine sets ({PAPER['table_1']['model']}; "
        "Table 1).",
        "rounds": f"With blocks of seven on Qwen3-4B a round yields, on GSM8K, {_sets(0)} tokens, and on MT-Bench "
        f"{_sets(SETS.index('MT-Bench'))} (Table 1, temperature 1).",
        "figure_2": f"DFlash's conditional acceptance falls along the block ({ends['DFlash']}), EAGLE-3's rises "
        f"({ends['EAGLE-3']}), DSpark's starts high and stays (Figure 2).",
        "figure_3": f"DSpark with {depth['layers_of_dspark']} layers beats DFlash with {depth['layers_of_dflash']} "
        "(Figure 3).",
        "figure_4": f"The gain over DFlash grows with the block: {short} % in math, code and chat at γ = 7, {longest} "
        "% at γ = 15 (Figure 4; its draft lengths of 4 to 16 include the anchor: γ = 3 to 15).",
        "head": f"The sequential head adds {_span(long['share_of_the_head'])} % to a round's latency (Figure 4; "
        "batch 128).",
        "figure_5": f"Raising the confidence threshold from 0 to {cut['thresholds_to']:g} raises the acceptance rate, "
        f"bonus token counted: {rates} (Figure 5).",
        "figure_6": f"The expected calibration error is {_span(ece['ece_before'])} % before sequential temperature "
        f"scaling and about {percent(ece['ece_after'])} % after; AUC {ece['auc'][0]}–{ece['auc'][1]} (Figure 6).",
        "figure_7": f"Against MTP-1 at the same throughput, each user is faster: {speeds} (Figure 7).",
        "figure_8": f"MTP-1 always verifies {served['tokens_of_mtp_1']} tokens per request, anchor included; DSpark "
        f"{'–'.join(map(str, budget['in the text']))} by the text, and in Figure 8 from about "
        f"{' down to about '.join(budget['in Figure 8'])} as load grows.",
    }


SAYS = _sentences()
