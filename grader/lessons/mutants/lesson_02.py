"""Lesson 02, parallel drafting: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

WRONG: dict[str, dict[str, list[Patch]]] = {
    "2.1": {
        "argmax_of_each_row": [
            ("argmax_along_the_block", "axis=1", "axis=0", "The argmax along axis 0 gives one token per position."),
            (
                "argmax_of_whole_matrix",
                "",
                "return [int(block_logits.argmax())] * len(block_logits)",
                "np.argmax without an axis looks at each row, since the matrix has rows.",
            ),
            ("first_row_only", "block_logits.", "block_logits[:1].", "The first row drafts the whole block."),
            ("smallest_logit", "argmax", "argmin", "Logits are costs, so the smallest one wins."),
            ("largest_magnitude", "block_logits.", "abs(block_logits).", "The size of a logit decides, not its sign."),
            ("ids_from_one", "argmax(axis=1)", "argmax(axis=1).__add__(1)", "Token ids count from 1."),
            ("best_value_for_index", "argmax", "max", "The best logit itself is the draft, not its index."),
            ("rounded", "block_logits.", "block_logits.round().", "Logits may be rounded before they are compared."),
            ("summed_along_the_block", "block_logits.", "block_logits.cumsum(axis=0).", "Later positions add up."),
        ],
        "positions_are_independent": [
            (
                "no_token_twice",
                "",
                """
                tokens = []
                for row in block_logits:
                    left = [t for t in range(len(row)) if t not in tokens] or list(range(len(row)))
                    tokens.append(max(left, key=row.__getitem__))
                return tokens
                """,
                "A block never repeats a token, so a chosen one is struck out.",
            ),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "2.1": [
        (
            "plain_loops",
            "",
            """
            tokens = []
            for row in block_logits:
                token = 0
                for v in range(len(row)):
                    if row[v] > row[token]:
                        token = v
                tokens.append(token)
            return tokens
            """,
            "Nested loops in plain Python.",
        ),
    ],
}
