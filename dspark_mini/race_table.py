"""The race summed up on the terminal: the table of all runs, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from dspark_mini.race import BLOCK, Run
from dspark_mini.tables import plain_table


def result_table(runs: Sequence[Run]) -> Table:
    """Make the table of all runs: tokens a round, acceptance, speed, and where a round's time went."""
    heads = ("domain", "method", "τ", "accepted", "tok/s", "speed-up", "draft", "head", "verify", "identical")
    table = plain_table(*heads)
    table.collapse_padding = True  # so that it fits 80 columns
    for column in table.columns[2:]:
        column.justify = "right"
    for i, run in enumerate(runs):
        known = [rate for rate in run["conditional_acceptance"] or () if rate is not None]
        table.add_row(
            run["domain"] if i == 0 or runs[i - 1]["domain"] != run["domain"] else "",
            run["method"],
            f"{run['tau']:.2f}",
            f"{sum(known) / len(known):.2f}" if known else "—",
            f"{run['tokens_per_second']:.0f}",
            f"{run['speedup']:.2f}",
            *(f"{100 * run['shares'][part]:.0f} %" for part in ("draft", "head", "verify")),
            {True: "yes", False: "no", None: "—"}[run["identical"]],
        )
    return table


def closing_lines(runs: Sequence[Run], ratio: float, machine: Mapping[str, Any]) -> list[str]:
    """Say what the table rests on: the cost of verifying, the expected speed-ups, mismatches, and the machine."""
    lines = [f"\nThe target takes {ratio:.2f} times as long over {BLOCK + 1} tokens as over one."]
    drafting = [run for run in runs if run["expected_speedup"] is not None]
    if drafting:
        lines.append("Speed-up, and in brackets τ·T_target / (T_draft + T_head + T_verify):")
    for method in dict.fromkeys(run["method"] for run in drafting):
        mine = [run for run in drafting if run["method"] == method]
        found = ", ".join(f"{run['domain']} {run['speedup']:.2f} ({run['expected_speedup']:.2f})" for run in mine)
        lines.append(f"  {method}: {found}")
    for run in drafting:
        for one in run["mismatches"] or ():
            lines.append(
                f"{run['method']} leaves plain decoding in {run['domain']}, prompt {one['prompt']}, at token "
                f"{one['position']}, where the target's two best logits differ by {one['gap']:.1e}."
            )
    where = machine["accelerator"] or machine["cpu"]
    pinned = "one thread" if machine["threads"] == 1 else "threads not limited"
    return [*lines, f"Measured on {where}, {pinned}, {machine['backend']}; the rest of a round is its commit.\n"]
