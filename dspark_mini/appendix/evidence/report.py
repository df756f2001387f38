"""Writes the comparison with the paper as a table, from evidence.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspark_mini.appendix.plan import LONG_BLOCK
from dspark_mini.corpus import DOMAINS
from dspark_mini.paper import SAYS, percent

NOT_MEASURED = "not measured"
Ours = Mapping[str, Any]


def comparison(results: Mapping[str, Any]) -> str:
    """Return the table of what the paper reports and what was measured here, and why they differ."""
    asked = [name for name in (*ROWS, "trees") if name in results]
    counts = {_title(name): results[name]["settings"]["prompts_of_a_domain"] for name in asked}
    most = max(counts.values(), default=0)
    fewer = "; ".join(f"{title}: {count}" for title, count in counts.items() if count < most)
    prompts = f"{most} prompts per domain{f' ({fewer})' if fewer else ''}"
    rows = [f"{prompts}, γ = 7 and temperature 1 unless stated otherwise.", ""]
    rows, reasons = [*rows, "| the paper | here |", "|---|---|"], []
    for name, (sentences, here) in ROWS.items():
        if name in results:
            title = _title(name)
            ours = results[name]["ours"]
            says = re.sub(r" \((Figure|Table) \d+\)", "", " ".join(SAYS[sentence] for sentence in sentences))
            rows.append(f"| **{title}.** {says} | {here(ours) if ours else NOT_MEASURED} |")
            reasons.append(f"- **{title}.** {results[name]['differs']}")
    also = ("trees", _trees), ("training", _training), ("step", _step)
    notes = [note for name, write in also if (ours := results.get(name, {}).get("ours")) for note in ("", write(ours))]
    return "\n".join([*rows, "", "Why they differ:", "", *reasons, *notes])


def _title(experiment: str) -> str:
    return experiment.replace("figure_7_8", "figures 7 and 8").replace("_", " ").capitalize()


def _trees(ours: Ours) -> str:
    parts = []
    for domain, found in ours["by_domain"].items():
        tau, gain, nodes = found["tau"], found["gain"], found["nodes"]
        if set(found["widths"]) == {1}:
            parts.append(
                f"{domain}, none is faster than the chain of {nodes['chain']} (τ {tau['chain']:.2f}), "
                f"if draws were free {100 * gain['bound']:+.1f} %"
            )
            continue
        parts.append(
            f"{domain}, {nodes['tree']} nodes on levels of {', '.join(map(str, found['widths']))} against a chain of "
            f"{nodes['chain']}: τ {tau['tree']:.2f} against {tau['chain']:.2f}, speed {100 * gain['tree']:+.1f} %, if "
            f"its draws were free {100 * gain['bound']:+.1f} %"
        )
    most = max(found["gain"]["bound"] for found in ours["by_domain"].values())
    return (
        "**Trees at temperature 1.** The fastest shape of a DSpark tree, among all shapes of up to "
        f"{len(next(iter(ours['by_domain'].values()))['tokens_per_second']['tree']) - 1} nodes (Sequoia's dynamic "
        f"programme on measured chances and times), against the fastest chain: {'; '.join(parts)}. "
        f"By these chances and times no shape can gain more than {100 * most:.1f} %."
    )


def _training(ours: Ours) -> str:
    seconds, rises = ours["cpu_seconds"], ours["rise_in_the_last_tenth"]
    target = sum(value for name, value in seconds.items() if name.startswith("target"))
    last = max(rises, key=rises.__getitem__)
    clock = ours["seconds_by_the_clock"]
    wall = "" if clock is None else f", and {clock / 60:.0f} minutes by the clock"
    return (
        f"Training took {seconds['all'] / 60:.0f} minutes of processor time, {target / 60:.0f} of them for the "
        f"target{wall}. "
        f"Each of the {len(rises)} drafters had {len(ours['overlap'][last]) * ours['steps_per_point']} steps; in the "
        f"last tenth its chance of acceptance rose by at most {rises[last]:.3f} ({last})."
    )


def _step(ours: Ours) -> str:
    parts = []
    for name, title in (("numpy", "NumPy"), ("torch", "torch")):
        found = ours[name]
        bound = max(found["arithmetic_seconds"], found["memory_seconds"])
        parts.append(
            f"{1e3 * found['seconds']:.2f} ms in {title}, where its {ours['multiply_adds'] / 1e6:.1f} million "
            f"multiply-adds would take {1e3 * found['arithmetic_seconds']:.3f} ms at the rate of a large product, and "
            f"reading its {ours['bytes'] / 1e6:.1f} MB of weights {1e3 * found['memory_seconds']:.3f} ms "
            f"(the larger of these bounds is {percent(bound / found['seconds'])} % of the time)"
        )
    return (
        f"**A step of plain decoding**, the baseline of all speed-ups, takes {'; '.join(parts)}. The rest goes to "
        "calls on small arrays, whose number does not depend on how many tokens there are: that is why a model this "
        "small gains from verifying blocks, as a large one does that waits for its weights."
    )


def _percents(estimate: Mapping[str, Any] | None) -> str:
    """Write an estimated share with its interval in per cent."""
    if estimate is None or estimate["mean"] is None:
        return NOT_MEASURED
    text = f"{percent(estimate['mean'])} %"
    return text if estimate["low"] is None else f"{text} ({percent(estimate['low'])} to {percent(estimate['high'])})"


def _by_domain(values: Mapping[str, Any] | None, write: Callable[[Any], str]) -> str:
    if values is None:
        return NOT_MEASURED
    return ", ".join(f"{domain} {write(values[domain]) if values[domain] else NOT_MEASURED}" for domain in DOMAINS)


def _mean(estimate: Mapping[str, Any], digits: int = 2) -> str:
    return NOT_MEASURED if estimate["mean"] is None else f"{estimate['mean']:.{digits}f}"


def _table_1(ours: Ours) -> str:
    gains = {pair: gain and gain["over_seeds"] for pair, gain in ours["gain"].items()}
    parts = [f"{pair}: {_percents(gain)}" for pair, gain in gains.items()]
    parts += [
        f"τ of {name}: {_by_domain(row, lambda one: _mean(one['over_seeds']))}" for name, row in ours["tau"].items()
    ]
    spent = {name: seconds for name, seconds in ours["seconds_of_the_head"].items() if seconds is not None}
    parts.append(
        "milliseconds per round beyond DFlash's sampling, in NumPy: "
        + ", ".join(f"{n} {1000 * spent[n]:.2f}" for n in spent)
        if spent
        else f"time of the heads: {NOT_MEASURED}"
    )
    return "<br>".join(parts)


def _figure_2(ours: Ours) -> str:
    def ends(positions: Sequence[Mapping[str, Any]]) -> str:
        return f"{_mean(positions[0])} to {_mean(positions[-1])}"

    rows = {name: row for name, row in ours["conditional_acceptance"].items() if row}
    positions = "; ".join(f"{name}: {_by_domain(row, ends)}" for name, row in rows.items())
    chosen = ours["confidence_at_the_last_position"]
    pairs = _by_domain(chosen, lambda pair: " and ".join(_mean({"mean": pair[key]}) for key in ("all", "reached")))
    return f"first to last position: {positions}<br>DSpark's confidence there, of all blocks and of those left: {pairs}"


def _figure_3(ours: Ours) -> str:
    gains = dict(zip(ours["layers"], ours["gain_of_dspark_over_the_deepest_dflash"]))
    return f"gain in τ over {ours['layers'][-1]} layers of DFlash: " + ", ".join(
        f"{_percents(gain)} with {layers} of DSpark" for layers, gain in gains.items()
    )


def _figure_4(ours: Ours) -> str:
    gains = ", ".join(f"{_percents(gain)} at γ = {size}" for size, gain in zip(ours["block_size"], ours["gain"]))
    shares = [share for share in ours["share_of_the_head"] if share is not None]
    head = f"{percent(min(shares))} to {percent(max(shares))} % of a round" if shares else NOT_MEASURED
    return f"gain: {gains}; the head takes {head}"


def _figure_5(ours: Ours) -> str:
    def ends(cuts: Sequence[Mapping[str, Any]]) -> str:
        return " → ".join(percent(cuts[k]["acceptance_rate"]["mean"]) for k in (0, -1)) + " %"

    span, long = f"thresholds {ours['threshold'][0]:g} to {ours['threshold'][-1]:g}", ours["long_blocks"]
    also = f"<br>with γ = {LONG_BLOCK}: {_by_domain(long, ends)}" if long else ""
    return f"{span}: {_by_domain(ours['by_domain'], ends)}{also}"


def _figure_6(ours: Ours) -> str:
    parts = []
    for name in ("temperature 1, no shift", "greedy, a shift"):
        if ours[name]:
            before, after = (ours[name][when]["all"] for when in ("before", "after"))
            parts.append(
                f"{name}: {percent(before['ece']['mean'])} % before and {percent(after['ece']['mean'])} % after, "
                f"AUC {_mean(before['auc'])}"
            )
    return "; ".join(parts) or NOT_MEASURED


def _against_1(ratios: Sequence[Mapping[str, Any]]) -> str:
    above, below = sum(one["low"] > 1.0 for one in ratios), sum(one["high"] < 1.0 for one in ratios)
    return f"{len(ratios) - above - below} of these intervals include 1, {above} lie above it, {below} below"


def _figure_7_8(ours: Ours) -> str:
    parts = []
    for traffic, measured in ours.items():
        if isinstance(measured, Mapping) and "holds" in measured:
            rows, ratios = measured["concurrency"], measured["holds"]["scheduled over the best fixed length"]
            requests = ", ".join(str(row["requests"]) for row in rows)
            budgets = ", ".join(_mean(row["ways"]["scheduled"]["verified_a_request"], 1) for row in rows)
            over = ", ".join(f"{_mean(one)} ({one['low']:.2f} to {one['high']:.2f})" for one in ratios)
            parts.append(
                f"{traffic}, {requests} requests: {budgets} drafts per request; throughput of the scheduler over the "
                f"best fixed length: {over}; {_against_1(ratios)}; replayed: "
                + ", ".join(f"{_mean(row['possible']['scheduled'])}" for row in rows)
                + ", where an oracle gains "
                + ", ".join(f"{_mean(row['possible']['oracle'])}" for row in rows)
            )
    return "<br>".join(parts)


ROWS: dict[str, tuple[tuple[str, ...], Callable[[Ours], str]]] = {
    "table_1": (("table_1",), _table_1),
    "figure_2": (("figure_2",), _figure_2),
    "figure_3": (("figure_3",), _figure_3),
    "figure_4": (("figure_4", "head"), _figure_4),
    "figure_5": (("figure_5",), _figure_5),
    "figure_6": (("figure_6",), _figure_6),
    "figure_7_8": (("figure_7", "figure_8"), _figure_7_8),
}
