"""The bug clinic's failing cases: for each bug a call on which it shows, and the result that the rule demands.

Bugs 8.7 and 8.9 have none. They spoil a distribution, which no single call shows.
"""

from __future__ import annotations


def failing_case_8_1():
    """Write a call of visible_features on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the array (A, A·γ) of 0 and 1 that the rule demands.

    Example:
        A call on which it does not show:
        {"anchor_positions": [0, 2], "block_length": 2}, [[0, 0, 0, 0], [1, 1, 0, 0]]
    """
    ### BEGIN SOLUTION
    return {"anchor_positions": [0, 1], "block_length": 2}, [[0, 0, 0, 0], [1, 0, 0, 0]]
    ### END SOLUTION


def failing_case_8_2():
    """Write a call of tapped_features on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the list (m·d,).

    Example:
        A call on which it does not show: {"hidden_states": [[1, 2], [1, 2]], "layer_ids": [0]}, [1, 2]
    """
    ### BEGIN SOLUTION
    return {"hidden_states": [[0.0], [1.0]], "layer_ids": [0]}, [1.0]
    ### END SOLUTION


def failing_case_8_3():
    """Write a call of block_input_positions on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the list of positions.

    Example:
        A call on which it does not show: {"cached_positions": [], "block_size": 3}, [0, 1, 2]
    """
    ### BEGIN SOLUTION
    return {"cached_positions": [0], "block_size": 2}, [1, 2]
    ### END SOLUTION


def failing_case_8_4():
    """Write a call of read_predictions on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the list of tokens.

    Example:
        A call on which it does not show: {"block_logits": [[0, 1], [1, 0]], "layout": "dflash"}, [0]
    """
    ### BEGIN SOLUTION
    return {"block_logits": [[0.0, 1.0], [1.0, 0.0]], "layout": "dspark"}, [1, 0]
    ### END SOLUTION


def failing_case_8_5():
    """Write a call of draft_in_target_ids on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of token and row.

    Example:
        A call on which it does not show:
        {"token": 1, "draft_probs": [0.75, 0.25], "d2t": [0, 0], "vocabulary": 3}, {"token": 1, "row": [0.75, 0.25, 0]}
    """
    ### BEGIN SOLUTION
    arguments = {"token": 0, "draft_probs": [0.75, 0.25], "d2t": [1, 1], "vocabulary": 3}
    return arguments, {"token": 1, "row": [0.0, 0.75, 0.25]}
    ### END SOLUTION


def failing_case_8_6():
    """Write a call of greedy_proposal on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of tokens and rows.

    Example:
        A call on which it does not show: {"draft_probs": [[0, 1]]}, {"tokens": [1], "rows": [[0, 1]]}
    """
    ### BEGIN SOLUTION
    return {"draft_probs": [[0.75, 0.25]]}, {"tokens": [0], "rows": [[1, 0]]}
    ### END SOLUTION


def failing_case_8_8():
    """Write a call of accepted_by_uniforms on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the number of accepted drafts.

    Example:
        A call on which it does not show:
        {"draft_tokens": [0], "draft_probs": [[0.5, 0.5]], "target_probs": [[0.5, 0.5]], "uniforms": [0.9]}, 1
    """
    ### BEGIN SOLUTION
    arguments = {"draft_tokens": [0], "draft_probs": [[0.5, 0.5]], "target_probs": [[0.25, 0.75]], "uniforms": [0.4]}
    return arguments, 1
    ### END SOLUTION


def failing_case_8_10():
    """Write a call of commit_until_stop on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of output and finished.

    Example:
        A call on which it does not show:
        {"output": [7], "round_tokens": [5, 2], "stop_tokens": [2]}, {"output": [7, 5, 2], "finished": True}
    """
    ### BEGIN SOLUTION
    return {"output": [], "round_tokens": [2, 5], "stop_tokens": [2]}, {"output": [2], "finished": True}
    ### END SOLUTION


def failing_case_8_11():
    """Write a call of finish_request on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of tokens and reason.

    Example:
        A call on which it does not show:
        {"tokens": [5, 2, 6], "stop_tokens": [2], "max_new_tokens": 9}, {"tokens": [5, 2], "reason": "stop"}
    """
    ### BEGIN SOLUTION
    return {"tokens": [5, 2, 6], "stop_tokens": [2], "max_new_tokens": 3}, {"tokens": [5, 2], "reason": "stop"}
    ### END SOLUTION


def failing_case_8_12():
    """Write a call of mean_emitted_length on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the mean.

    Example:
        A call on which it does not show: {"rounds": [[4, 5, 2]], "stop_tokens": [2]}, 3.0
    """
    ### BEGIN SOLUTION
    return {"rounds": [[4, 2, 5]], "stop_tokens": [2]}, 2.0
    ### END SOLUTION


def failing_case_8_13():
    """Write a call of draft_rows_to_drop on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of drop and missing.

    Example:
        The form, not the values: {"drafted": 4, "accepted": 0}, {"drop": 0, "missing": 0}
    """
    ### BEGIN SOLUTION
    return {"drafted": 1, "accepted": 0}, {"drop": 0, "missing": 0}
    ### END SOLUTION


def failing_case_8_14():
    """Write a call of gated_round on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of target_input and tokens.

    Example:
        A call on which it does not show:
        {"anchor_token": 1, "draft_tokens": [4], "confidences": [0.9], "threshold": 0.5, "target_tokens": [4, 6]},
        {"target_input": [1, 4], "tokens": [4, 6]}
    """
    ### BEGIN SOLUTION
    arguments = {"anchor_token": 1, "draft_tokens": [4], "confidences": [0.1], "threshold": 0.5}
    return {**arguments, "target_tokens": [4, 6]}, {"target_input": [1], "tokens": [4]}
    ### END SOLUTION


def failing_case_8_15():
    """Write a call of profiled_verify_length on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the verify length.

    Example:
        A call on which it does not show: {"confidences": [0.5], "steps_per_second": [8, 4]}, 0
    """
    ### BEGIN SOLUTION
    return {"confidences": [0.5], "steps_per_second": [8.0]}, 0
    ### END SOLUTION


def failing_case_8_16():
    """Write a call of net_time_saved on which its bug shows, and the right result.

    Returns:
        The arguments in a dict, and the dict of saved and pays.

    Example:
        A call on which it does not show:
        {"accepted_counts": [1], "target_time": 10, "draft_time": 2, "verify_time": 12, "replay_time": 0},
        {"saved": 6, "pays": True}
    """
    ### BEGIN SOLUTION
    arguments = {"accepted_counts": [1], "target_time": 10, "draft_time": 2, "verify_time": 12, "replay_time": 8}
    return arguments, {"saved": -2, "pays": False}
    ### END SOLUTION
