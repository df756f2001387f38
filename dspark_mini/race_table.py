"""Summarises the race on the terminal: the table of all runs, and the notes below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from dspark_mini.language import N_, _
from dspark_mini.race import BLOCK_SIZE, Run
from dspark_mini.terminal import plain_table

HEADERS = (
    *(N_("domain"), N_("method"), "τ", N_("accepted"), "tok/s", N_("speed-up"), N_("draft"), N_("head"), N_("verify")),
    N_("identical"),
)


def result_table(runs: Sequence[Run]) -> Table:
    """Return the table of all runs: τ, acceptance, speed, and the shares of a round's time."""
    table = plain_table(*map(_, HEADERS))
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
            {True: _("yes"), False: _("no"), None: "—"}[run["identical"]],
        )
    return table


def closing_lines(runs: Sequence[Run], ratio: float, machine: Mapping[str, Any]) -> list[str]:
    """Return the notes below the table: columns, cost of verifying, expected speed-ups, mismatches, the machine."""
    lines = [
        _("\nτ: tokens per round. accepted: conditional acceptance, mean over the positions."),
        _("draft, head, verify: shares of a round's time; the rest is the commit."),
        _(
            "The target takes {ratio:.2f} times as long over {tokens} tokens as over one.",
            ratio=ratio,
            tokens=BLOCK_SIZE + 1,
        ),
    ]
    drafting = [run for run in runs if run["expected_speedup"] is not None]
    lines += _speedup_lines(runs, drafting) if drafting else []
    lines += [_mismatch_line(run, mismatch) for run in drafting for mismatch in run["mismatches"] or ()]
    where = machine["accelerator"] or machine["cpu"]
    threads = _("one thread") if machine["threads"] == 1 else _("number of threads not limited")
    return [
        *lines,
        _("Measured on {where}, {threads}, {backend}.\n", where=where, threads=threads, backend=machine["backend"]),
    ]


def _speedup_lines(runs: Sequence[Run], drafting: Sequence[Run]) -> list[str]:
    """Return the measured and the expected speed-ups, one line per method."""
    counts = ", ".join(f"{domain} {n}" for domain, n in {run["domain"]: run["prompts"] for run in runs}.items())
    lines = [_("Speed-up measured, ± its 95 % interval (prompts: {counts}); in brackets expected:", counts=counts)]
    for method in dict.fromkeys(run["method"] for run in drafting):
        speedups = ", ".join(
            f"{run['domain']} {run['speedup']:.2f}{_error(run)} ({run['expected_speedup']:.2f})"
            for run in drafting
            if run["method"] == method
        )
        lines.append(f"  {method:<14}  {speedups}")
    return [*lines, _("Expected: τ·T_target / (T_draft + T_head + T_verify).")]


def _error(run: Run) -> str:
    return "" if run.get("speedup_error") is None else f" ± {run['speedup_error']:.2f}"


def _mismatch_line(run: Run, mismatch: Mapping[str, Any]) -> str:
    return _(
        "{method} differs from plain decoding in {domain}, prompt {prompt}, from token {position} on, where the "
        "target's two best logits are {gap:.1e} apart.",
        method=run["method"],
        domain=run["domain"],
        **mismatch,
    )
