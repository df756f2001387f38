"""Summarises the race on the terminal: the table of all runs, and the notes below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from dspark_mini.race import BLOCK_SIZE, Run
from dspark_mini.terminal import plain_table

HEADERS = ("domain", "method", "τ", "accepted", "tok/s", "speed-up", "draft", "head", "verify", "identical")


def result_table(runs: Sequence[Run]) -> Table:
    """Return the table of all runs: τ, acceptance, speed, and the shares of a round's time."""
    table = plain_table(*HEADERS)
    table.collapse_padding = True  # to fit in 80 columns
    for column in table.columns[2:]:
        column.justify = "right"
    for i, run in enumerate(runs):
        rates = [rate for rate in run["conditional_acceptance"] or () if rate is not None]
        table.add_row(
            run["domain"] if i == 0 or runs[i - 1]["domain"] != run["domain"] else "",
            run["method"],
            f"{run['tau']:.2f}",
            f"{sum(rates) / len(rates):.2f}" if rates else "—",
            f"{run['tokens_per_second']:.0f}",
            f"{run['speedup']:.2f}",
            *(f"{100 * run['shares'][part]:.0f} %" for part in ("draft", "head", "verify")),
            {True: "yes", False: "no", None: "—"}[run["identical"]],
        )
    return table


def closing_lines(runs: Sequence[Run], ratio: float, machine: Mapping[str, Any]) -> list[str]:
    """Return the notes below the table: columns, cost of verifying, expected speed-ups, mismatches, the machine."""
    lines = [
        "\nτ: tokens per round. accepted: conditional acceptance, mean over the positions.",
        "draft, head, verify: shares of a round's time; the rest is the commit.",
        f"The target takes {ratio:.2f} times as long over {BLOCK_SIZE + 1} tokens as over one.",
    ]
    drafting = [run for run in runs if run["expected_speedup"] is not None]
    if drafting:
        counts = ", ".join(f"{domain} {n}" for domain, n in dict((r["domain"], r["prompts"]) for r in runs).items())
        lines.append(f"Speed-up measured, ± its 95 % interval (prompts: {counts}); in brackets expected:")
    for method in dict.fromkeys(run["method"] for run in drafting):
        speedups = ", ".join(
            f"{run['domain']} {run['speedup']:.2f}{_error(run)} ({run['expected_speedup']:.2f})"
            for run in drafting
            if run["method"] == method
        )
        lines.append(f"  {method:<14}  {speedups}")
    if drafting:
        lines.append("Expected: τ·T_target / (T_draft + T_head + T_verify).")
    lines += [_mismatch_line(run, mismatch) for run in drafting for mismatch in run["mismatches"] or ()]
    where = machine["accelerator"] or machine["cpu"]
    threads = "one thread" if machine["threads"] == 1 else "number of threads not limited"
    return [*lines, f"Measured on {where}, {threads}, {machine['backend']}.\n"]


def _error(run: Run) -> str:
    return "" if run.get("speedup_error") is None else f" ± {run['speedup_error']:.2f}"


def _mismatch_line(run: Run, mismatch: Mapping[str, Any]) -> str:
    return (
        f"{run['method']} differs from plain decoding in {run['domain']}, prompt {mismatch['prompt']}, from token "
        f"{mismatch['position']} on, where the target's two best logits are {mismatch['gap']:.1e} apart."
    )
