"""Records the texts of lesson 10: `python -m grader.lessons.record_texts`, needed only where the weights change.

The practice texts go with the kit; the hidden ones lie with the hidden cases, which a bundle leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from dspark_mini.corpus import DOMAINS
from dspark_mini.files import atomic_write
from dspark_mini.lm import SmallLM, load, prompts
from dspark_mini.policy import plan_round
from dspark_mini.replay import LONGEST, PRACTICE, load_recordings, speeds
from dspark_mini.trees import build_conditional_tree, verify_tree_greedy
from grader.lessons.paths import HIDDEN_TEXTS

SEEDS = {PRACTICE: 10, HIDDEN_TEXTS: 110}
PER_DOMAIN, LONGEST_TEXT = 4, 96
STRAY, STRAY_WORDS = "stray", 12  # prompts of random words: the drafter is at a loss there, and does not know it


def main() -> None:
    """Record both files."""
    model = load(drafters=("dspark",))
    for path, seed in SEEDS.items():
        write(path, model, seed)
        print(f"written: {path}, reference speeds {load_recordings(path).reference}")


def write(path: Path, model: SmallLM, seed: int) -> None:
    """Record the texts of one seed, then the speeds of the reference on them."""
    texts = [(domain, prompt, record(model, prompt)) for domain, prompt in some_prompts(model, seed)]
    header: dict[str, Any] = {
        "domains": [domain for domain, _, _ in texts],
        "prompts": [prompt for _, prompt, _ in texts],
        "sizes": [len(arrays["tokens"]) for _, _, arrays in texts],
        "reference": {},
    }
    joined = {name: np.concatenate([arrays[name] for _, _, arrays in texts]) for name in texts[0][2]}
    _save(path, joined, header)
    load_recordings.cache_clear()
    header["reference"] = {name: round(speed, 4) for name, speed in speeds(plan_round, load_recordings(path)).items()}
    _save(path, joined, header)
    load_recordings.cache_clear()


def _save(path: Path, arrays: dict[str, Any], header: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_bytes(save(arrays, {"dspark_mini": json.dumps(header)}))


def some_prompts(model: SmallLM, seed: int) -> Iterator[tuple[str, list[int]]]:
    """Yield prompts of every domain, and stray ones."""
    for domain in DOMAINS:
        yield from ((domain, prompt) for prompt in prompts(model.tokenizer, domain, PER_DOMAIN, seed))
    rng = np.random.default_rng([seed, len(DOMAINS)])
    for words in rng.integers(len(model.tokenizer.words), size=(PER_DOMAIN, STRAY_WORDS)).tolist():
        yield STRAY, [word for word in words if word != model.tokenizer.end]


def record(model: SmallLM, prompt: list[int]) -> dict[str, Any]:
    """Decode a prompt greedily, and draft a chain and a tree at every position of the text.

    Returns:
        Arrays with one row per token: tokens; survivals in thousandths; and, as bits, the drafts on the accepted path.
    """
    model.clear()
    target, drafter = model.target, model.drafters["dspark"]
    target.forward(prompt[:-1])
    drafter.cache.extend(prompt[:-1])
    tokens, drafts = list[int](), []
    while len(tokens) < LONGEST_TEXT and tokens[-1:] != [model.tokenizer.end]:
        anchor = (tokens or prompt)[-1]
        drafts.append((chain_of(drafter, anchor), tree_of(drafter, anchor)))
        tokens.append(int(target.forward([anchor])[0].argmax()))
        drafter.cache.extend([anchor])
    columns: dict[str, list[Any]] = {"tokens": tokens}
    for kind, name in enumerate(("chain", "tree")):
        columns[f"{name}_survivals"] = [(1000.0 * at[kind][2]).round() for at in drafts]
        columns[f"{name}_paths"] = [path_bits(*at[kind][:2], tokens[t:]) for t, at in enumerate(drafts)]
    return {name: np.array(column, np.uint16) for name, column in columns.items()}


def chain_of(drafter: Any, anchor: int) -> tuple[list[int], list[int], Any]:
    """Draft a chain: tokens, parents, and survivals by the confidence head."""
    base = drafter.block_logits(anchor, LONGEST[1])
    tokens, _ = drafter.chain(base, anchor, LONGEST[1], 0.0, None)
    return tokens, list(range(-1, len(tokens) - 1)), np.cumprod(drafter.confidences(anchor, tokens, base))


def tree_of(drafter: Any, anchor: int) -> tuple[list[int], list[int], Any]:
    """Draft a tree: tokens, parents, and survivals by the drafter's own probabilities."""
    tree = build_conditional_tree(drafter.block_logits(anchor, LONGEST[1]), anchor, drafter.bias, 2, LONGEST[2])
    return tree["tokens"], tree["parents"], np.exp(tree["log_probs"])


def path_bits(tokens: list[int], parents: list[int], rest: list[int]) -> int:
    """Return the accepted drafts as bits, given the rest of the text.

    The target's token after a node at depth k of the path is rest[k]; for all other nodes it does not matter.
    """
    depths = list[int]()
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    nothing = 2**16  # no token of any vocabulary here: nothing is accepted past the end of the text
    says = [rest[depth] if depth < len(rest) else nothing for depth in (0, *depths)]
    return sum(1 << node for node in verify_tree_greedy(tokens, parents, says)["path"])


if __name__ == "__main__":
    main()
