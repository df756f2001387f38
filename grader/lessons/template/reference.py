"""The functions of this lesson: what stands between the marks is left to the learner."""

import numpy as np

from dspark_mini.contracts import logits, takes


@takes(block_logits=logits("γ", "V"))
def my_topic(block_logits):
    """Measure how far each position's best logit stands above the mean of its row.

    Args:
        block_logits: (γ, V) finite logits, one row per position.

    Returns:
        One plain float per position, in a list.

    Example:
        [[1, 4, 1]]  →  [2.0]
    """
    ### BEGIN SOLUTION
    leads = np.max(block_logits, axis=1) - np.mean(block_logits, axis=1)  # (γ,)
    return leads.tolist()
    ### END SOLUTION
