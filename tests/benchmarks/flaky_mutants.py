"""Whether any wrong solution escapes by luck: `python tests/benchmarks/flaky_mutants.py --seeds 300`.

Each is tried on the property that must catch it, alone, with many seeds of the hidden cases; each right solution on all
properties with a tenth of the seeds. One that fails on visible cases needs none: their draws are the same for all.
"""

import argparse
import re
from concurrent.futures import ProcessPoolExecutor

from grader.lessons.checking import evidence_against
from grader.lessons.checks import TASKS
from grader.lessons.mutants import Variant, all_variants
from grader.run.child import calling


def escapes(number: int, seeds: int) -> tuple[str, list[int]]:
    """Return a variant's name and the seeds with which it is judged wrongly."""
    variant = VARIANTS[number]
    if variant.caught_by and always_caught(variant):
        return f"{variant.task}-{variant.name}", []
    wrongly = [seed for seed in range(seeds if variant.caught_by else max(1, seeds // 10)) if misjudged(variant, seed)]
    return f"{variant.task}-{variant.name}", wrongly


def always_caught(variant: Variant) -> bool:
    """Tell whether a function fails on its visible cases, whose draws are the same for all seeds.

    One that takes chance from elsewhere than its arguments may fail by luck.
    """
    task = TASKS[variant.task]
    (named,) = [p for p in task.properties if p.name == variant.caught_by]
    if OTHER_CHANCE.search(variant.source):
        return False
    calling.CALL_SECONDS = 1.0
    session = task.session(variant.make(), 0)
    return evidence_against(named, session) is not None and not session.hidden


def misjudged(variant: Variant, seed: int) -> bool:
    """Tell whether a wrong solution escapes its property, or a right one loses a point."""
    task = TASKS[variant.task]
    if not variant.caught_by:
        return not task.check(variant.make(), seed).passed
    calling.CALL_SECONDS = 1.0  # some never end
    (named,) = [p for p in task.properties if p.name == variant.caught_by]
    return evidence_against(named, task.session(variant.make(), seed)) is None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--lesson", default="", help="only the tasks whose id begins like this, such as 2.")
    options = parser.parse_args()
    chosen = [n for n, variant in enumerate(VARIANTS) if variant.task.startswith(options.lesson)]
    flaky = 0
    with ProcessPoolExecutor() as pool:
        for name, wrongly in pool.map(escapes, chosen, [options.seeds] * len(chosen), chunksize=1):
            if wrongly:
                flaky += 1
                print(f"{name}: {len(wrongly)} of {options.seeds} seeds, such as {wrongly[0]}", flush=True)
    print(f"{len(chosen)} variants, {options.seeds} seeds: {flaky} judged wrongly with some seed")


VARIANTS = list(all_variants())
OTHER_CHANCE = re.compile(
    r"(?<!np\.)\brandom\.|np\.random\.(?!Generator)|default_rng|import random|urandom|time\.|\bid\("
)

if __name__ == "__main__":
    main()
