"""Prompts of six families, from templates: for training, and held out.

A tenth of every slot's values, and the last template of each family, are reserved for held-out prompts.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import cycle, islice
from typing import Any

HELD_OUT_PER_FAMILY = 20  # of each kind
SLOT = re.compile(r"\{(([a-z]+)\d?)\}")


@cache
def data() -> Any:
    """Return prompts.json: templates and openers by family, prompts of other domains, and the values of slots.

    An opener is the first words of a prompt, which the target finishes in the user's place.
    """
    found = json.loads((files(__package__) / "prompts.json").read_text(encoding="utf-8"))
    found["slots"] = {name: values.split("; ") for name, values in found["slots"].items()}
    found["slots"] |= {"small": [*map(str, range(2, 13))], "number": [*map(str, range(10, 1000))]}
    return found


@cache
def reserved(value: str) -> bool:
    """Say whether a slot's value is kept for held-out prompts."""
    return hashlib.sha256(f"1 {value}".encode()).digest()[0] % 10 == 0  # with 1, every slot of words has some


def fill(template: str, rng: random.Random, held_out: bool = False) -> str:
    """Fill a template with random values, either none or only those that are reserved.

    Args:
        template: Text with slots such as {topic} and {topic2}.
        rng: Source of the choices.
        held_out: Whether to take reserved values wherever a slot has some.
    """
    slots, chosen = data()["slots"], dict[str, str]()
    for field, name in SLOT.findall(template):
        values = [value for value in slots[name] if reserved(value) == held_out and value not in chosen.values()]
        chosen[field] = rng.choice(values or slots[name])
    text = re.sub(r"\b([Aa]) (?=[aeiouAEIO])", r"\1n ", template.format(**chosen))
    return text[0].upper() + text[1:]


def template_prompts(family: str, seed: int) -> Iterator[str]:
    """Yield prompts of a family for training, without end and with repetitions."""
    rng = random.Random(f"{family} {seed}")
    while True:
        yield fill(rng.choice(data()["templates"][family][:-1]), rng)


def held_out() -> list[dict[str, str]]:
    """Return the prompts of which no text is ever used in training: `family`, `kind` and `prompt` of each.

    The kinds are "combination" (templates and values of the training prompts, put together anew), "unseen" (reserved
    values or a reserved template) and "other" (none of the six families).
    """
    rows = []
    for family, templates in data()["templates"].items():
        rng, seen = random.Random(f"{family} held out"), set[str]()
        for kind, unseen in (("combination", False), ("unseen", True)):
            wanted = len(seen) + HELD_OUT_PER_FAMILY
            while len(seen) < wanted:
                prompt = fill(rng.choice(templates if unseen else templates[:-1]), rng, unseen)
                if prompt not in seen:
                    seen.add(prompt)
                    rows.append({"family": family, "kind": kind, "prompt": prompt})
    return rows + [{"family": "other", "kind": "other", "prompt": prompt} for prompt in data()["other"]]


def domain_questions(domain: str, count: int) -> list[str]:
    """Return held-out prompts of a domain of the race: math, code or chat."""
    family = {"math": "arithmetic"}.get(domain, domain)
    return list(islice(cycle(row["prompt"] for row in held_out() if row["family"] == family), count))
