"""The part of docs/results.md about SmolLM2, from the JSON files of compare and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dspark_mini.race_options import SMOLLM_DRAFTERS

Row = Mapping[str, Any]
TRAINED, OTHER = "trained families", "other"  # groups of prompts
BOTH = SMOLLM_DRAFTERS[-1]
HELD_OUT_KINDS = ("combination", "unseen")  # of the trained families


def pretrained(files: Mapping[str, Any]) -> str | None:
    """Write speed-ups, acceptance and the curve of a training; None where nothing has been measured."""
    compared, curve = files.get("smollm-compare"), files.get("smollm-acceptance")
    if not compared or not curve:
        return None
    groups = {(g["threads"], g["temperature"], g["prompts"], g["method"]): g for g in compared["groups"]}
    settings, machine = compared["settings"], compared["hardware"]
    threads, (cold, warm) = settings["threads"][0], settings["temperatures"]
    plain = [groups[threads, temperature, TRAINED, "plain"]["tokens_per_second"] for temperature in (cold, warm)]
    return "\n".join(
        (
            f"{compared['prompts']} held-out prompts, {settings['tokens']} tokens each at most, {machine['cpu']}, "
            f"{machine['cores']} cores; slow methods and other numbers of threads on {settings['few']} of them. Times "
            f"begin after the prompt. Our fastest plain decoding holds the model in {compared['plain']}: "
            f"{plain[0]:.0f} tokens per second at T = 0, {plain[1]:.0f} at T = 1, on {threads} threads. The target of "
            f"the drafters is in {compared['form']}.",
            "",
            *_forms(compared["forms"], threads),
            "",
            *_against(groups, settings),
            "",
            *_by_group(groups, threads, (cold, warm)),
            "",
            *(f"* {note}" for note in compared["notes"]),
            "",
            *_curve(curve),
        )
    )


def _forms(forms: Row, threads: int) -> list[str]:
    """Write what forwards cost in each form, and the bound that memory sets for one token."""
    counts = next(iter(forms.values()))["tokens"]
    columns = [f"{count} token{'s' * (count > 1)}, ms" for count in counts]
    lines = [f"| form, {threads} threads | {' | '.join(columns)} | bound by memory for 1 token |"]
    lines.append("|---" * (len(counts) + 2) + "|")
    for form, found in forms.items():
        times, bound = found["seconds"], found["bytes"] / found["bandwidth"]
        cells = [f"{1e3 * seconds:.1f} ({seconds / times[0]:.2f})" for seconds in times]
        share = f"{1e3 * bound:.1f} ms, {bound / times[0]:.2f} of the time"
        lines.append(f"| {form} | {' | '.join(cells)} | {share} |")
    return lines


def _estimate(found: Row) -> str:
    return f"{found['mean']:.2f} ({found['low']:.2f} to {found['high']:.2f}, {found['n']} prompts)"


def _against(groups: Mapping[Any, Row], settings: Row) -> list[str]:
    """Write what prompt lookup and DSpark together gain over the other methods."""
    temperatures = settings["temperatures"]
    threads_of = settings["threads"]
    columns = [f"{n} thread{'s' * (n > 1)}, T = {t:g}" for n in threads_of for t in temperatures]
    lines = [f"| {BOTH}, over | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    over = groups[threads_of[0], temperatures[0], TRAINED, BOTH]["over"]
    for label, kind, others in ((TRAINED, TRAINED, over), ("out of domain", OTHER, ("plain",))):
        for other in others:
            found = [groups.get((n, t, kind, BOTH)) for n in threads_of for t in temperatures]
            cells = [_estimate(group["over"][other]) if group else "" for group in found]
            lines.append(f"| {'our plain decoding' if other == 'plain' else other}, {label} | {' | '.join(cells)} |")
    return lines


def _by_group(groups: Mapping[Any, Row], threads: int, temperatures: Sequence[float]) -> list[str]:
    """Write speed-up and τ of each drafter by family and kind of prompt."""
    columns = [f"{name}, T = {t:g}" for t in temperatures for name in SMOLLM_DRAFTERS]
    lines = [f"| speed-up (τ), {threads} threads | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for label in dict.fromkeys(key[2] for key in groups):
        found = [groups[threads, t, label, name] for t in temperatures for name in SMOLLM_DRAFTERS]
        cells = [f"{group['speedup']['mean']:.2f} ({group['tau']:.2f})" for group in found]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    rates = [groups[threads, t, TRAINED, "dspark"]["acceptance"] for t in temperatures]
    shown = [", ".join(f"{rate:.2f}" for rate in row if rate is not None) for row in rates]
    verified = f"Acceptance by position of the drafts of dspark that were verified, {TRAINED}"
    return [*lines, "", f"{verified}: {shown[0]} at T = 0; {shown[1]} at T = 1."]


def _curve(rows: Sequence[Row]) -> list[str]:
    """Write how acceptance grew with steps and texts, and where the line through the curve leads."""
    lines = ["| steps | texts | chance of acceptance by position, T = 1 | accepted length, greedy |", "|---" * 4 + "|"]
    points: dict[int, list[tuple[int, float, float]]] = {}  # texts, chance at position 1, accepted length; by steps
    for row in rows:
        kinds = [row["kinds"][kind] for kind in (*HELD_OUT_KINDS, "training") if kind in row["kinds"]]
        overlap = np.mean([kind["overlap"] for kind in kinds], axis=0)
        length = float(np.mean([kind["accepted_length"] for kind in kinds]))
        where = ", its own training texts" if "training" in row["kinds"] else ""
        chances = ", ".join(f"{value:.2f}" for value in overlap)
        lines.append(f"| {row['steps']}{where} | {row['texts']} | {chances} | {length:.2f} |")
        if not where:
            points.setdefault(row["steps"], []).append((row["texts"], overlap[0], length))
    pairs = [(steps, min(found), max(found)) for steps, found in points.items() if len(found) > 1]
    return [*lines, "", " ".join((_line(points), *(_fewer_texts(*pair) for pair in pairs)))]


def _line(points: Mapping[int, Sequence[tuple[int, float, float]]]) -> str:
    """Follow the line through the points with the most texts to ten times the steps."""
    _, first, lengths = np.array([max(found) for found in points.values()]).T
    steps = np.log10(list(points))
    (first_slope, _), (length_slope, _) = (np.polyfit(steps, values, 1) for values in (first, lengths))
    return (
        "Along a line through these points, over the logarithm of the steps, ten times the training would raise the "
        f"chance at position 1 from {first[-1]:.2f} to {first[-1] + first_slope:.2f}, the accepted length from "
        f"{lengths[-1]:.2f} to {lengths[-1] + length_slope:.2f}, and the speed-up in that proportion, by "
        f"{100 * length_slope / lengths[-1]:.0f} %."
    )


def _fewer_texts(steps: int, few: tuple[int, float, float], many: tuple[int, float, float]) -> str:
    return (
        f"With {few[0]} texts in place of {many[0]}, {steps} steps lead to a chance of {few[1]:.2f} in place of "
        f"{many[1]:.2f}, and to an accepted length of {few[2]:.2f} in place of {many[2]:.2f}."
    )
