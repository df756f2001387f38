"""Rules of contracts: what several arguments of a function must obey together.

Each rule takes some of the arguments, by name and already converted, and raises a ValueError that names the argument,
the 0-based position and the value.
"""

from __future__ import annotations

from dspark_mini.conversion import Array
from dspark_mini.kinds import whole

# --- Lesson 00 --------------------------------------------------------------------------------------------------------


def round_takes_time(draft_time: float, verify_time: float, correction_time: float) -> None:
    """A speed-up divides by the time of a round."""
    if not draft_time + verify_time + correction_time:
        raise ValueError("draft_time, verify_time and correction_time are all 0: a round must take some time.")


def every_length_takes_time(draft_time: float, verify_times: Array, correction_time: float) -> None:
    """The gain of every verify length divides by the time of its round."""
    free = draft_time + verify_times + correction_time == 0.0
    if free.any():
        at = int(free.argmax())
        raise ValueError(f"verify_times[{at}] must be above 0 where draft_time and correction_time are 0, not 0.0.")


# --- Lesson 01 --------------------------------------------------------------------------------------------------------


def token_is_possible(q: Array, token: int) -> None:
    """A token was drawn from q, so q gives it a positive probability."""
    if q[token] == 0.0:
        raise ValueError(f"q[{token}] is 0, so token {token} cannot have been drafted.")


def drafts_are_possible(draft_tokens: list[int], draft_probs: Array) -> None:
    """Every draft was drawn from its own row, which gives it a positive probability."""
    for k, token in enumerate(draft_tokens):
        if draft_probs[k, token] == 0.0:
            raise ValueError(f"draft_probs[{k}] gives 0 to token {token}, which was drafted there.")


# --- Lesson 06 --------------------------------------------------------------------------------------------------------


def siblings_differ(tokens: list[int], parents: list[int]) -> None:
    """Two children of one node hold different tokens."""
    first: dict[tuple[int, int], int] = {}
    for node, key in enumerate(zip(tokens, parents)):
        if key in first:
            raise ValueError(f"tokens[{node}] is {key[0]}, the same as that of its sibling, node {first[key]}.")
        first[key] = node


def children_are_possible(tokens: list[int], parents: list[int], draft_probs: Array) -> None:
    """A node's token was drawn from its parent's row, so it has a probability there."""
    for node, (token, parent) in enumerate(zip(tokens, parents)):
        if draft_probs[parent + 1, token] == 0.0:
            raise ValueError(f"tokens[{node}] is {token}, which draft_probs[{parent + 1}] gives probability 0.")


# --- Lesson 07 --------------------------------------------------------------------------------------------------------


def accepted_of_verified(accepted_counts: list[int], verified_counts: list[int]) -> None:
    """A round accepts at most as many drafts as it verified."""
    for i, (accepted, verified) in enumerate(zip(accepted_counts, verified_counts)):
        whole(f"accepted_counts[{i}]", accepted, 0, verified)


def some_draft_was_verified(verified_counts: list[int]) -> None:
    """There is something to learn from."""
    if not any(verified_counts):
        raise ValueError("verified_counts holds no draft, so there is nothing to learn from; leave out plain rounds.")


def emitted_of_drafted(drafted: list[int], emitted: list[int]) -> None:
    """A round emits at most its drafts and one token more."""
    for i, (size, count) in enumerate(zip(drafted, emitted)):
        whole(f"emitted[{i}]", count, 1, size + 1)


def rounds_add_up(drafted: list[int], verified: list[int], accepted: list[int], emitted: list[int]) -> None:
    """What is accepted was verified, what is verified was drafted; only the last round of a request may be cut."""
    for i, (size, seen, kept, count) in enumerate(zip(drafted, verified, accepted, emitted)):
        whole(f"verified[{i}]", seen, 0, size)
        whole(f"accepted[{i}]", kept, 0, seen)
        whole(f"emitted[{i}]", count, 1 if i == len(drafted) - 1 else kept + 1, kept + 1)


# --- Lesson 08 --------------------------------------------------------------------------------------------------------


def target_ids_are_distinct(d2t: list[int], vocabulary: int) -> None:
    """Each draft token leads to a target token of its own, in the target's vocabulary."""
    seen: dict[int, int] = {}
    for i, offset in enumerate(d2t):
        target = i + offset
        if target >= vocabulary:
            raise ValueError(f"d2t[{i}] must lead to a token below {vocabulary}, not to {i} + {offset} = {target}.")
        if target in seen:
            raise ValueError(f"d2t[{i}] must lead to a token of its own, not to {target} as d2t[{seen[target]}] does.")
        seen[target] = i


# --- Lesson 09 --------------------------------------------------------------------------------------------------------


def sizes_rise_from_1(batch_sizes: list[int]) -> None:
    """Batch sizes begin with 1 and rise."""
    if batch_sizes[0] != 1:
        raise ValueError(f"batch_sizes[0] must be 1, the smallest batch, not {batch_sizes[0]}.")
    for i, (before, size) in enumerate(zip(batch_sizes, batch_sizes[1:]), 1):
        if size <= before:
            raise ValueError(f"batch_sizes[{i}] must be above {before}, the size before it, not {size}.")


def table_is_measured(largest: int, batch_sizes: list[int]) -> None:
    """Beyond the last measured batch size nothing is known."""
    if largest > batch_sizes[-1]:
        raise ValueError(f"largest must be at most {batch_sizes[-1]}, the last size that was measured, not {largest}.")


def two_prompts_or_more(plain_tokens: list[int]) -> None:
    """An error shows only between prompts."""
    if len(plain_tokens) < 2:
        raise ValueError(f"plain_tokens has {len(plain_tokens)} entry, but an interval takes two prompts or more.")


# --- Lesson 10 --------------------------------------------------------------------------------------------------------


def verified_of_drafted(drafted: list[int], verified: list[int], accepted: list[int]) -> None:
    """A round verifies at most what was drafted, and accepts at most what was verified."""
    for at, (size, seen, kept) in enumerate(zip(drafted, verified, accepted)):
        whole(f"verified[{at}]", seen, 0, size)
        whole(f"accepted[{at}]", kept, 0, seen)
