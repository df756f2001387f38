"""Variants of task 3.3, rnn_head_step: one joint product, split into gate, candidate and output."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from dspark_mini.inputs import weight_matrix, weight_vector
from grader.lessons.mutants import right, wrong

TASK = "3.3"
Step = tuple[Any, Any]


def given(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Check the arguments as the stub does."""
    state = weight_vector("state", state)
    prev_embedding = weight_vector("prev_embedding", prev_embedding, length=state.size)
    hidden = weight_vector("hidden", hidden)
    w_joint = weight_matrix("w_joint", w_joint, rows=2 * state.size + hidden.size, columns=3 * state.size)
    return state, prev_embedding, hidden, w_joint, weight_matrix("w2", w2, rows=state.size)


def sigmoid(x: Any) -> Any:
    return (1.0 + np.tanh(x / 2.0)) / 2.0


def thirds(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> list[Any]:
    """Return gate, candidate and output of a right step."""
    state, prev_embedding, hidden, w_joint, _ = given(state, prev_embedding, hidden, w_joint, w2)
    return list(np.split(np.concatenate([state, prev_embedding, hidden]) @ w_joint, 3))


def finished(state: Any, w2: Any, gate: Any, candidate: Any, output: Any) -> Step:
    """Return the new state and the bias that follow from the three sums."""
    state, w2, keep = np.asarray(state, dtype=float), np.asarray(w2, dtype=float), sigmoid(gate)
    return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output) @ w2


# --- Wrong: gate and candidate -----------------------------------------------------------------------------


@wrong(TASK, "gate_keeps_the_state", "The gate lets the candidate in, so 1 − gate weighs the old state.")
def gate_inverted(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, -gate, candidate, output)


@wrong(TASK, "gate_keeps_the_state", "The gate is a number as it is; no σ is needed.")
def gate_without_sigmoid(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    state, *_, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    return gate * state + (1.0 - gate) * np.tanh(candidate), np.tanh(output) @ w2


@wrong(TASK, "gate_keeps_the_state", "σ and tanh are the same thing up to scale.")
def gate_by_tanh(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    state, *_, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    keep = np.tanh(gate)
    return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output) @ w2


@wrong(TASK, "gate_keeps_the_state", "One gate for the whole state: the mean of the r numbers.")
def one_gate_for_all(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, np.full_like(gate, gate.mean()), candidate, output)


@wrong(TASK, "gate_keeps_the_state", "Each entry has its three numbers side by side in the columns.")
def columns_interleaved(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = np.concatenate(thirds(state, prev_embedding, hidden, w_joint, w2)).reshape(-1, 3).T
    return finished(state, w2, gate, candidate, output)


@wrong(TASK, "gate_keeps_the_state", "The candidate stands first in the columns.")
def candidate_before_gate(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    candidate, gate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, gate, candidate, output)


@wrong(TASK, "candidate_fills_the_rest", "The candidate is added to what the gate keeps, in full.")
def candidate_in_full(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    state, *_, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    return sigmoid(gate) * state + np.tanh(candidate), np.tanh(output) @ w2


@wrong(TASK, "candidate_fills_the_rest", "The candidate is linear.")
def candidate_without_tanh(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    state, *_, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    keep = sigmoid(gate)
    return keep * state + (1.0 - keep) * candidate, np.tanh(output) @ w2


@wrong(TASK, "candidate_fills_the_rest", "The state decays; nothing new is stored.")
def state_only_decays(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, gate, np.zeros_like(candidate), output)


@wrong(TASK, "candidate_fills_the_rest", "The output is what the state takes in.")
def output_into_the_state(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, _, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, gate, output, output)


# --- Wrong: the bias -----------------------------------------------------------------------------------------


@wrong(TASK, "output_gives_the_bias", "The output is linear.")
def output_without_tanh(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    new_state, _ = finished(state, w2, gate, candidate, output)
    return new_state, output @ np.asarray(w2, dtype=float)


@wrong(TASK, "output_gives_the_bias", "The bias is read off the new state, as in a plain RNN.")
def bias_from_the_state(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    new_state, _ = finished(state, w2, gate, candidate, output)
    return new_state, new_state @ np.asarray(w2, dtype=float)


@wrong(TASK, "output_gives_the_bias", "The output gates the new state, as in an LSTM.")
def output_as_a_gate(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    new_state, _ = finished(state, w2, gate, candidate, output)
    return new_state, (sigmoid(output) * np.tanh(new_state)) @ np.asarray(w2, dtype=float)


@wrong(TASK, "output_gives_the_bias", "The output is computed from the new state.")
def output_after_the_update(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    new_state, _ = finished(state, w2, gate, candidate, output)
    return new_state, np.tanh(thirds(new_state, prev_embedding, hidden, w_joint, w2)[2]) @ np.asarray(w2, dtype=float)


@wrong(
    TASK, "output_gives_the_bias", "W2 turns the embedding of the token before into the bias, as in the Markov head."
)
def markov_bias_instead(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    new_state, _ = finished(state, w2, gate, candidate, output)
    return new_state, np.asarray(prev_embedding, dtype=float) @ np.asarray(w2, dtype=float)


# --- Wrong: the input --------------------------------------------------------------------------------------------


@wrong(TASK, "candidate_fills_the_rest", "The hidden state stands first in z.")
def hidden_first(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    state, prev_embedding, hidden, w_joint, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, *np.split(np.concatenate([hidden, state, prev_embedding]) @ w_joint, 3))


@wrong(TASK, "candidate_fills_the_rest", "The embedding stands before the state in z.")
def embedding_first(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    state, prev_embedding, hidden, w_joint, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    return finished(state, w2, *np.split(np.concatenate([prev_embedding, state, hidden]) @ w_joint, 3))


@wrong(TASK, "every_size", "The hidden state has as many entries as the state, so the rest of it is left out.")
def hidden_cut_to_rank(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    state, prev_embedding, hidden, w_joint, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    cut = np.where(np.arange(hidden.size) < state.size, hidden, 0.0)
    return finished(state, w2, *np.split(np.concatenate([state, prev_embedding, cut]) @ w_joint, 3))


@wrong(TASK, "every_size", "A vector of one number is a number.")
def single_numbers_squeezed(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    new_state, bias = finished(state, w2, *thirds(state, prev_embedding, hidden, w_joint, w2))
    return np.squeeze(new_state), np.squeeze(bias)


@wrong(TASK, "saturation_stays_finite", "σ(x) is exp(x) / (1 + exp(x)).")
def overflowing_sigmoid(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    gate, candidate, output = thirds(state, prev_embedding, hidden, w_joint, w2)
    state, *_, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    keep = np.exp(gate) / (1.0 + np.exp(gate))
    return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output) @ w2


# --- Wrong: manners ------------------------------------------------------------------------------------------------


@wrong(TASK, "plain_types", "Lists are as good as arrays.")
def two_lists(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    new_state, bias = finished(state, w2, *thirds(state, prev_embedding, hidden, w_joint, w2))
    return new_state.tolist(), bias.tolist()


@wrong(TASK, "input_unchanged", "The state is updated where it stands.")
def state_updated_in_place(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    new_state, bias = finished(state, w2, *thirds(state, prev_embedding, hidden, w_joint, w2))
    state[:] = new_state
    return new_state, bias


@wrong(TASK, "no_memory", "The head remembers its state from step to step.")
def state_remembered(
    state: Any,
    prev_embedding: Any,
    hidden: Any,
    w_joint: Any,
    w2: Any,
    kept: dict[int, Any] = {},  # noqa: B006
) -> Any:
    three = thirds(state, prev_embedding, hidden, w_joint, w2)
    new_state, bias = finished(kept.get(len(three[0]), state), w2, *three)
    kept[len(three[0])] = new_state
    return new_state, bias


@wrong(TASK, "bad_input_raises", "NaN is let through; somebody will see it later.")
def nan_let_through(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    z = np.concatenate([np.asarray(part, dtype=float).ravel() for part in (state, prev_embedding, hidden)])
    return finished(state, w2, *np.split(z @ np.asarray(w_joint, dtype=float), 3))


@wrong(TASK, "bad_input_raises", "A shorter embedding is filled up with zeros.")
def lengths_made_to_fit(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    fitted = np.zeros(len(state))
    length = min(len(state), len(prev_embedding))
    fitted[:length] = np.asarray(prev_embedding, dtype=float)[:length]
    return finished(state, w2, *thirds(state, fitted, hidden, w_joint, w2))


@wrong(TASK, "error_names_offender", "It is enough to say that the inputs do not fit.")
def inputs_do_not_fit(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    try:
        return finished(state, w2, *thirds(state, prev_embedding, hidden, w_joint, w2))
    except ValueError:
        raise ValueError("The inputs do not fit.") from None


# --- Right, in other styles ------------------------------------------------------------------------------------------


@right(TASK, "Three separate products, each with its own third of the columns.")
def three_products(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    state, prev_embedding, hidden, w_joint, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    rank = state.size
    z = np.hstack((state, prev_embedding, hidden))
    gate, candidate, output = (z @ w_joint[:, k * rank : (k + 1) * rank] for k in range(3))
    keep = 1.0 / (1.0 + np.exp(-gate))
    return keep * state + (1.0 - keep) * np.tanh(candidate), w2.T @ np.tanh(output)


@right(TASK, "The rows of w_joint are split instead of joining the inputs.")
def rows_split(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    state, prev_embedding, hidden, w_joint, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    rank = state.size
    of_state, of_previous, of_hidden = np.split(w_joint, [rank, 2 * rank])
    sums = (state @ of_state + prev_embedding @ of_previous + hidden @ of_hidden).reshape(3, rank)
    keep = sigmoid(sums[0])
    return np.tanh(sums[1]) + keep * (state - np.tanh(sums[1])), np.einsum("r,rv->v", np.tanh(sums[2]), w2)


@right(TASK, "Plain Python with math.tanh, a list for the pair, and a print.")
def plain_python(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    state, prev_embedding, hidden, w_joint, w2 = given(state, prev_embedding, hidden, w_joint, w2)
    z = [*state.tolist(), *prev_embedding.tolist(), *hidden.tolist()]
    sums = [sum(a * b for a, b in zip(z, column)) for column in w_joint.T.tolist()]
    rank = len(state)
    keep = [0.5 + 0.5 * math.tanh(x / 2) for x in sums[:rank]]
    new = [k * s + (1 - k) * math.tanh(c) for k, s, c in zip(keep, state.tolist(), sums[rank : 2 * rank])]
    out = [math.tanh(x) for x in sums[2 * rank :]]
    print("one step", file=sys.stderr)
    return [np.array(new), np.array([sum(a * b for a, b in zip(out, column)) for column in w2.T.tolist()])]


@right(TASK, "σ by np.logaddexp, and inputs checked in words of its own.")
def own_checks(state: Any, prev_embedding: Any, hidden: Any, w_joint: Any, w2: Any) -> Any:
    arrays = {"state": state, "prev_embedding": prev_embedding, "hidden": hidden, "w_joint": w_joint, "w2": w2}
    for name, value in arrays.items():
        lengths = [len(row) for row in value] if name.startswith("w") else []
        for k, length in enumerate(lengths):
            if length != lengths[0]:
                raise ValueError(f"{name}: row {k} has another length.")
        arrays[name] = np.array(value, dtype=float)
        if arrays[name].ndim != (2 if name.startswith("w") else 1):
            raise ValueError(f"{name} has the wrong number of axes.")
        for k, entry in enumerate(arrays[name]):
            if not np.isfinite(entry).all():
                raise ValueError(f"{name} is not finite at {k}.")
    s, e, h, w, v = arrays.values()
    if e.size != s.size:
        raise ValueError("prev_embedding has not the length of state.")
    if w.shape != (2 * s.size + h.size, 3 * s.size):
        raise ValueError("w_joint has the wrong shape.")
    if len(v) != s.size:
        raise ValueError("w2 has the wrong number of rows.")
    gate, candidate, output = np.split(np.r_[s, e, h] @ w, 3)
    keep, leave = np.exp(-np.logaddexp(0, -gate)), np.exp(-np.logaddexp(0, gate))
    return keep * s + leave * np.tanh(candidate), np.tanh(output) @ v
