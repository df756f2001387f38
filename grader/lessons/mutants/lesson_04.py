"""Lesson 04, confidence: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

DISTANCE = "0.5 * np.abs(q - p).sum(axis=1)"
PRODUCT, ARGUMENTS = "np.cumprod(confidences, axis=-1)", "(confidences, axis=-1)"
BINS, GAPS = "np.minimum((predicted * n_bins).astype(int), n_bins - 1)", "predicted - observed"
AVERAGE = "np.abs(gaps).sum() / len(predicted)"
USED = "[abs(gaps[b]) / (bins == b).sum() for b in set(bins)]"
ERROR = "expected_calibration_error(options[t], outcome)"
START, STEP = "survival, fitted = 1.0, []", "survival = options[best]"
CHANCE = "(0.5 + 0.5 * np.tanh(0.5 * logit / t))"
CHANCES = "(0.5 + 0.5 * np.tanh(0.5 * confidence_logits / t))"

WRONG: dict[str, dict[str, list[Patch]]] = {
    "4.1": {
        "overlap_of_q_and_p": [
            ("half_forgotten", "0.5 * np", "np", "The chance of acceptance is 1 minus the L1 distance."),
            ("distance_returned", "1.0 - distance", "distance", "The distance itself is the label."),
            ("exact_match", "", "return (q * p).sum(axis=1)", "A draft passes if it equals the target's draw."),
            ("euclidean", "np.abs(q - p).sum(axis=1)", "np.linalg.norm(q - p, axis=1)", "The distance is Euclidean."),
            ("largest_difference", DISTANCE, "np.abs(q - p).max(axis=1)", "Distance is the largest difference."),
            (
                "likeliest_token",
                "",
                """
                best = q.argmax(axis=1), np.arange(len(q))
                return np.minimum(1.0, p[best[::-1]] / q[best[::-1]])
                """,
                "The draft is the likeliest token of q, accepted with min(1, p / q).",
            ),
            (
                "mean_of_ratios",
                "",
                "return np.minimum(1.0, p / q).mean(axis=1)",
                "All tokens count alike in the mean of min(1, p / q).",
            ),
            ("drawn_from_target", "", "return (p * np.minimum(1.0, p / q)).sum(axis=1)", "Drafts are drawn from p."),
            ("mean_difference", "0.5 * np.abs(q - p).sum", "np.abs(q - p).mean", "The distance is a mean difference."),
            (
                "cosine",
                "",
                "return (q * p).sum(axis=1) / np.linalg.norm(q, axis=1) / np.linalg.norm(p, axis=1)",
                "The likeness of two vectors is their cosine.",
            ),
            ("signs_kept", "np.abs(q - p)", "(q - p)", "The differences may be added up as they are."),
            ("rounded", "distance.clip(max=1.0)", "distance.round(2)", "A chance needs two decimals."),
        ],
        "one_number_per_position": [
            ("summed_over_positions", "axis=1", "axis=0", "The sum over axis 0 is one number per position."),
            (
                "mean_over_positions",
                "distance.clip(max=1.0)",
                "np.full(len(q), distance.mean())",
                "The block has one label, the mean over its positions.",
            ),
            (
                "multiplied_up",
                "",
                "return np.cumprod(np.minimum(q, p).sum(axis=1))",
                "The label is the survival of the prefix, so the chances are multiplied.",
            ),
            ("target_one_row_late", "q - p", "q - np.roll(p, -1, axis=0)", "The target's row is the next one, k + 1."),
            (
                "sum_without_axis",
                "np.abs(q - p).sum(axis=1)",
                "np.full(len(q), np.abs(q - p).sum() / len(q))",
                "A sum without an axis adds up each row.",
            ),
        ],
        "zeros_are_legal": [
            ("unguarded_ratio", "", "return (q * np.minimum(1.0, p / q)).sum(axis=1)", "NumPy divides by zero."),
            (
                "smoothed",
                "",
                "return np.minimum(q + 0.01 * (q == 0.0), p + 0.01 * (p == 0.0)).sum(axis=1)",
                "A zero makes the logarithm fail, so a little is added everywhere.",
            ),
            (
                "zeros_refused",
                "    distance =",
                """    if not (q.all() and p.all()):
        raise ValueError("q and p must be positive.")
    distance =""",
                "A distribution must give every token a chance.",
            ),
        ],
        "from_zero_to_one": [
            ("ends_clipped", "distance.clip(max=1.0)", "distance.clip(0.01, 0.99)", "A label is never exactly 0 or 1."),
        ],
    },
    "4.2": {
        "running_product": [
            ("as_it_is", PRODUCT, "confidences", "Survival is the confidence itself."),
            ("running_sum", PRODUCT, "np.minimum(np.cumsum(confidences, axis=-1), 1.0)", "Chances add up."),
            ("weakest_link", "np.cumprod", "np.minimum.accumulate", "A prefix is as sure as its weakest token."),
            (
                "product_of_all",
                PRODUCT,
                "0.0 * confidences + confidences.prod(axis=-1, keepdims=True)",
                "The survival of the block is one product, the same at every position.",
            ),
            (
                "starts_with_one",
                ARGUMENTS,
                "(np.concatenate([np.ones((*confidences.shape[:-1], 1)), confidences[..., :-1]], axis=-1), axis=-1)",
                "a_1 is 1, since the anchor always survives.",
            ),
            (
                "one_too_many",
                ARGUMENTS,
                "(np.concatenate([np.ones((*confidences.shape[:-1], 1)), confidences], axis=-1), axis=-1)",
                "The anchor's 1 comes first in the list.",
            ),
            (
                "from_the_back",
                PRODUCT,
                "np.cumprod(confidences[..., ::-1], axis=-1)[..., ::-1]",
                "The product runs from the end of the block.",
            ),
            (
                "power_of_its_own",
                PRODUCT,
                "confidences ** np.arange(1, confidences.shape[-1] + 1)",
                "All positions are alike: a_k is c_k to the power of k.",
            ),
            (
                "two_at_a_time",
                "",
                """
                pairs = confidences.copy()
                pairs[..., 1:] *= confidences[..., :-1]
                return pairs
                """,
                "Each survival is the product of two neighbours only.",
            ),
            (
                "geometric_mean",
                PRODUCT,
                PRODUCT + " ** (1.0 / np.arange(1, confidences.shape[-1] + 1))",
                "The geometric mean keeps long and short prefixes comparable.",
            ),
            ("sorted_first", ARGUMENTS, "(-np.sort(-confidences, axis=-1), axis=-1)", "The surest token comes first."),
            ("rounded", PRODUCT, PRODUCT + ".round(3)", "Three decimals are enough."),
        ],
        "along_the_last_axis": [
            ("flattened", ", axis=-1", "", "np.cumprod without an axis runs along the rows."),
            (
                "flattened_and_reshaped",
                ", axis=-1)",
                ").reshape(confidences.shape)",
                "The product runs over all blocks, and is put back into shape.",
            ),
            ("first_axis", "axis=-1", "axis=0", "Axis 0 is the block."),
            ("second_axis", "axis=-1", "axis=min(1, confidences.ndim - 1)", "The block runs along axis 1."),
            ("flat_only", PRODUCT, "np.cumprod([float(c) for c in confidences])", "Confidences are flat."),
            (
                "first_block_for_all",
                "",
                """
                blocks = np.cumprod(confidences.reshape(-1, confidences.shape[-1]), axis=-1)
                return np.broadcast_to(blocks[0], confidences.shape).copy()
                """,
                "One block is as good as any: the first request stands for all.",
            ),
        ],
        "zero_ends_it": [
            (
                "zeros_skipped",
                ARGUMENTS,
                "(np.where(confidences == 0.0, 1.0, confidences), axis=-1)",
                "A confidence of 0 says that nothing is known, so it is skipped.",
            ),
            (
                "logarithm_with_floor",
                PRODUCT,
                "np.exp(np.cumsum(np.log(np.maximum(confidences, 1e-6)), axis=-1))",
                "Logarithms need a small number in place of 0.",
            ),
            ("never_quite_zero", PRODUCT, f"np.maximum({PRODUCT}, 1e-3)", "Survival must not be 0, as it divides."),
        ],
        "empty_is_legal": [
            (
                "empty_refused",
                "    return",
                """    if confidences.size == 0:
        raise ValueError("confidences is empty.")
    return""",
                "An empty block is bad input.",
            ),
            (
                "first_one_needed",
                "",
                """
                columns = [confidences[..., 0]]
                for k in range(1, confidences.shape[-1]):
                    columns.append(columns[-1] * confidences[..., k])
                return np.stack(columns, axis=-1)
                """,
                "The recursion starts with the first confidence, which is always there.",
            ),
            (
                "empty_is_one",
                PRODUCT,
                PRODUCT + " if confidences.size else np.ones(1)",
                "Nothing drafted is a survival of 1.",
            ),
        ],
    },
    "4.3": {
        "gap_of_a_bin": [
            (
                "mean_absolute_error",
                "",
                "return float(np.abs(predicted - observed).mean())",
                "The error is the mean distance of each prediction from its outcome.",
            ),
            ("brier_score", "", "return float(((predicted - observed) ** 2).mean())", "Errors are squared."),
            ("middle_of_the_bin", GAPS, "(bins + 0.5) / n_bins - observed", "A bin predicts its middle."),
            ("squared_gaps", "np.abs(gaps)", "(gaps**2 / np.bincount(bins).clip(1))", "Large gaps count squared."),
            (
                "majority_of_the_bin",
                GAPS,
                "predicted - [np.rint(observed[bins == b].mean()) for b in bins]",
                "The outcome of a bin is what the majority of its samples shows.",
            ),
            (
                "accuracy_of_the_bin",
                GAPS,
                "predicted - ((predicted >= 0.5) == observed)",
                "A prediction above one half is a hit; accuracy is compared with confidence.",
            ),
            ("overconfidence_only", "np.abs(gaps)", "gaps.clip(0.0)", "Only a bin that promises too much is in error."),
            ("rounded", AVERAGE, f"np.round({AVERAGE}, 3)", "Three decimals are enough."),
        ],
        "gaps_do_not_cancel": [
            ("absolute_at_the_end", "np.abs(gaps).sum()", "np.abs(gaps.sum())", "The absolute value comes last."),
            ("signed_gaps", "np.abs(gaps)", "gaps", "Gaps carry their sign."),
        ],
        "weighted_by_share": [
            ("mean_over_used_bins", AVERAGE, f"np.mean({USED})", "Every bin counts alike."),
            ("mean_over_all_bins", AVERAGE, f"sum({USED}) / n_bins", "Empty bins count in the mean, too."),
            ("worst_bin", AVERAGE, f"max({USED})", "The error is that of the worst bin."),
            (
                "equal_counts",
                BINS,
                "predicted.argsort().argsort() * n_bins // len(predicted)",
                "The bins are cut so that each holds as many samples.",
            ),
            ("sum_of_gaps", AVERAGE, f"sum({USED})", "The gaps of the bins are added up."),
        ],
        "edges_belong_to_upper_bin": [
            (
                "upper_edge_included",
                BINS,
                "np.maximum(np.ceil(predicted * n_bins).astype(int) - 1, 0)",
                "A bin holds its upper edge, as (lower, upper] says.",
            ),
            ("rounded_to_nearest", ".astype(int)", ".round().astype(int)", "The nearest bin is found by rounding."),
            ("one_apart", BINS, "(predicted * n_bins).astype(int)", "A chance of 1 has a bin of its own."),
            ("one_left_out", GAPS, "(predicted - observed) * (predicted < 1.0)", "A chance of 1 lies in no bin."),
            ("zero_left_out", GAPS, "(predicted - observed) * (predicted > 0.0)", "A chance of 0 lies in no bin."),
            ("scaled_by_last_index", BINS, "(predicted * (n_bins - 1)).astype(int)", "The last bin holds p = 1 only."),
            (
                "bins_of_the_range",
                BINS,
                "np.digitize(predicted, np.histogram_bin_edges(predicted, bins=n_bins)[1:-1])",
                "Bins span the range of the predictions.",
            ),
        ],
        "empty_bins_do_not_count": [
            (
                "nan_of_empty_bins",
                AVERAGE,
                "sum((bins == b).mean() * abs(np.mean((predicted - observed)[bins == b])) for b in range(n_bins))",
                "The mean of an empty bin is nan, and so is the error.",
            ),
            (
                "empty_bins_count",
                AVERAGE,
                f"{AVERAGE} + sum((b + 0.5) / n_bins for b in range(n_bins) if b not in bins) / n_bins",
                "An empty bin predicted its middle and saw nothing.",
            ),
        ],
        "ten_bins_by_default": [
            ("fifteen_by_default", "n_bins=10)", "n_bins=15)", "Fifteen bins are the usual number."),
            ("always_ten", BINS, "np.minimum((predicted * 10).astype(int), 9)", "There are always ten bins."),
            ("no_default", "n_bins=10)", "n_bins)", "The number of bins has to be said."),
        ],
    },
    "4.4": {
        "least_error_wins": [
            ("multiplied", "logit / t", "logit * t", "The logits are multiplied by the temperature."),
            (
                "log_loss",
                ERROR,
                "-np.log(np.where(outcome, options[t], 1.0 - options[t]).clip(1e-12)).mean()",
                "Calibration is fitted by the log loss, as Guo et al. do.",
            ),
            ("squared_error", ERROR, "((options[t] - outcome) ** 2).mean()", "The squared error is as good a measure."),
            ("one_bin", "(options[t], outcome)", "(options[t], outcome, 1)", "Only the means have to agree."),
            ("twenty_bins", "(options[t], outcome)", "(options[t], outcome, 20)", "More bins see more."),
            (
                "confidence_divided",
                CHANCE,
                "np.minimum((0.5 + 0.5 * np.tanh(0.5 * logit)) / t, 1.0)",
                "The temperature divides the confidence, not its logit.",
            ),
            ("greatest_error", ERROR, "-" + ERROR, "The best temperature is the one with the largest error."),
            (
                "index_returned",
                "fitted.append(best)",
                "fitted.append(float(list(grid).index(best)))",
                "The index of the best temperature is the result.",
            ),
            (
                "stops_early",
                "        survival = options[best]",
                """        order = sorted(grid, key=lambda t: (abs(t - 1.0), t))
        errors = [expected_calibration_error(options[t], outcome) for t in order]
        best = order[next((i for i in range(len(order) - 1) if errors[i + 1] >= errors[i]), -1)]
        survival = options[best]""",
                "The search may stop at the first temperature that is no better than the one before.",
            ),
            (
                "between_the_best_two",
                "np.array(fitted)",
                "np.array([0.75 * t + 0.25 * min((g for g in grid if g > t), default=t) for t in fitted])",
                "A temperature between two values of the grid is better than either.",
            ),
        ],
        "product_of_the_prefix": [
            ("each_on_its_own", STEP, "survival = 1.0", "Every position is calibrated by itself."),
            (
                "among_the_survivors",
                "",
                """
                alive, fitted = np.ones(len(accepted), dtype=bool), []
                for logit, outcome in zip(confidence_logits.T, accepted.T):
                    alive = alive if alive.any() else ~alive
                    chance = {t: 1.0 / (1.0 + np.exp(-logit[alive] / t)) for t in grid}
                    errors = {t: expected_calibration_error(chance[t], outcome[alive]) for t in grid}
                    fitted.append(min(grid, key=lambda t: (errors[t], abs(t - 1.0), t)))
                    alive = alive & (outcome > 0)
                return np.array(fitted)
                """,
                "Position k is judged among the rounds that reached it.",
            ),
            (
                "prefix_without_itself",
                "accepted.T):",
                "[accepted.T[0], *accepted.T[:-1]]):",
                "accepted[n, k] is about the tokens before k, so its columns move up by one.",
            ),
            (
                "least_of_the_prefix",
                f"survival * {CHANCE}",
                f"np.minimum(survival, {CHANCE})",
                "A prefix is as sure as its least sure token.",
            ),
            (
                "prefix_shares_the_new_one",
                f"survival * {CHANCE}",
                CHANCES + "[:, : len(fitted) + 1].prod(axis=1)",
                "The new temperature applies to the whole prefix.",
            ),
        ],
        "left_to_right": [
            (
                "earlier_ones_raw",
                STEP,
                "survival = survival * " + CHANCE.replace(" / t", ""),
                "The positions before are left as the head gave them, at temperature 1.",
            ),
            (
                "one_for_all",
                "",
                """
                def error(t):
                    survival = np.cumprod(0.5 + 0.5 * np.tanh(0.5 * confidence_logits / t), axis=1)
                    errors = map(expected_calibration_error, survival.T, accepted.T)
                    return sum(errors), abs(t - 1.0), t

                return np.full(confidence_logits.shape[1], min(grid, key=error))
                """,
                "One temperature serves all positions.",
            ),
            (
                "right_to_left",
                "",
                """
                survival, fitted = 1.0, []
                for logit, outcome in zip(confidence_logits.T[::-1], accepted.T[::-1]):
                    options = {t: survival / (1.0 + np.exp(-logit / t)) for t in grid}
                    best = min(grid, key=lambda t: (expected_calibration_error(options[t], outcome), abs(t - 1.0), t))
                    survival = options[best]
                    fitted.insert(0, best)
                return np.array(fitted)
                """,
                "The temperatures are fitted from the last position to the first.",
            ),
            (
                "second_pass",
                "return np.array(fitted)",
                """fitted = np.array(fitted)

    def error(t):
        fitted[k] = t
        survival = np.cumprod(0.5 + 0.5 * np.tanh(0.5 * confidence_logits / fitted), axis=1)
        return sum(map(expected_calibration_error, survival.T, accepted.T)), abs(t - 1.0), t

    for k in range(len(fitted)):
        fitted[k] = min(grid, key=error)
    return fitted""",
                "A second pass over the positions makes it better.",
            ),
            (
                "never_below_the_last",
                "min(grid",
                "min([t for t in grid if not fitted or t >= fitted[-1]]",
                "The head gets worse along the block, so no temperature is below the one before it.",
            ),
        ],
        "ties_closest_to_one": [
            ("first_of_the_grid", ", abs(t - 1.0), t)", ",)", "Of equal errors the first in the grid wins."),
            ("smallest_of_equals", "abs(t - 1.0), t", "t", "Of equal errors the smallest temperature wins."),
            ("larger_of_equally_close", "abs(t - 1.0), t", "abs(t - 1.0), -t", "Of two equally close the larger wins."),
            ("closest_by_ratio", "abs(t - 1.0)", "abs(math.log(t))", "Close to 1 means a ratio close to 1."),
            ("last_of_equals", "abs(t - 1.0), t", "-abs(t - 1.0), -t", "Of equal errors the last one tried wins."),
            (
                "one_where_nothing_is_gained",
                START,
                "survival, fitted, grid = 1.0, [], [1.0, *grid]",
                "Where nothing is gained the temperature stays 1.",
            ),
        ],
        "grid_in_any_order": [
            (
                "halving",
                "        survival = options[best]",
                """        low, high = 0, len(grid) - 1
        errors = [expected_calibration_error(options[t], outcome) for t in grid]
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if errors[middle] <= errors[middle + 1] else (middle + 1, high)
        best = grid[low]
        survival = options[best]""",
                "The grid rises, so the search may halve it.",
            ),
            (
                "ends_say_everything",
                START,
                "survival, fitted, grid = 1.0, [], np.linspace(grid[0], grid[-1], len(grid))",
                "A grid has even steps, so its ends and its length say everything.",
            ),
            ("two_values_needed", START, START + "; grid[1]", "A grid has at least two values."),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "4.1": [
        ("overlap", "", "return np.minimum(q, p).sum(axis=1)", "The overlap: the sum of the smaller of both numbers."),
        (
            "plain_loops",
            "",
            """
            labels = []
            for draft, target in zip(q.tolist(), p.tolist()):
                total = 0.0
                for x, y in zip(draft, target):
                    total += x if x < y else y
                labels.append(total)
            return np.array(labels)
            """,
            "Plain loops over positions and tokens.",
        ),
        (
            "one_minus_residual",
            DISTANCE,
            "np.maximum(p - q, 0.0).sum(axis=1)",
            "The sum of the residual of verification is what is rejected.",
        ),
        (
            "expected_ratio",
            "",
            """
            import warnings

            warnings.warn("dividing", stacklevel=2)
            return np.einsum("kv,kv->k", q, np.minimum(1.0, np.where(q > 0.0, p / q, 0.0)))
            """,
            "The expected min(1, p / q) over tokens drawn from q; the division warns.",
        ),
        (
            "exact_sums",
            "",
            """
            print("adding up")
            return np.array([1.0 - math.fsum(abs(x - y) for x, y in zip(a, b)) / 2 for a, b in zip(q, p)])
            """,
            "Exact sums by math.fsum, and a print.",
        ),
        ("two_minus_union", "", "return 2.0 - np.maximum(q, p).sum(axis=1)", "The overlap is 2 minus the union."),
        (
            "fractions",
            "",
            """
            from fractions import Fraction

            if q.size > 5000:
                return np.minimum(q, p).sum(axis=1)
            pairs = zip(q.tolist(), p.tolist())
            return np.array([float(sum(min(Fraction(x), Fraction(y)) for x, y in zip(*rows))) for rows in pairs])
            """,
            "Fractions, made plain at the end; only for small vocabularies.",
        ),
    ],
    "4.2": [
        ("accumulate", "np.cumprod", "np.multiply.accumulate", "np.multiply.accumulate, which is what cumprod does."),
        (
            "column_by_column",
            "",
            """
            result, product = confidences.copy(), 1.0
            for k in range(confidences.shape[-1]):
                product = product * confidences[..., k]
                result[..., k] = product
            return result
            """,
            "A loop over the positions, all blocks at once.",
        ),
        (
            "accumulated",
            "",
            """
            from itertools import accumulate
            from operator import mul

            result = np.zeros(confidences.shape)
            for index in np.ndindex(confidences.shape[:-1]):
                result[index] = list(accumulate(confidences[index].tolist(), mul))
            return result
            """,
            "itertools.accumulate over the plain floats of every block.",
        ),
        ("logarithms", PRODUCT, "np.exp(np.cumsum(np.log(confidences), axis=-1))", "Logarithms, −inf among them."),
        (
            "recursive",
            "",
            """
            def survival(c):
                if c.ndim > 1:
                    return np.stack([survival(row) for row in c]) if len(c) else c
                return np.concatenate([survival(c[:-1]), [c.prod()]]) if len(c) else c

            return survival(confidences)
            """,
            "A recursion over axes and over prefixes.",
        ),
        (
            "triangle",
            "",
            """
            counts = np.tril(np.ones((confidences.shape[-1],) * 2, dtype=bool))
            products = [np.prod(confidences, axis=-1, where=row) for row in counts]
            return np.stack(products, axis=-1) if products else confidences.copy()
            """,
            "A triangle of ones decides which factors count; np.prod does the rest.",
        ),
        (
            "transposed",
            "",
            """
            import sys

            print(confidences.shape, file=sys.stderr)
            return np.cumprod(confidences.T, axis=0).T
            """,
            "It writes to stderr, and returns a transposed view.",
        ),
    ],
    "4.3": [
        (
            "masks",
            "",
            """
            error = 0.0
            for b in range(n_bins):
                inside = np.minimum((predicted * n_bins).astype(int), n_bins - 1) == b
                if inside.any():
                    error += inside.mean() * abs(predicted[inside].mean() - observed[inside].mean())
            return float(error)
            """,
            "A loop over the bins with a mask, as the textbook writes it.",
        ),
        (
            "lists_per_bin",
            "",
            """
            bins = [[] for _ in range(n_bins)]
            for pair in zip(predicted.tolist(), observed.tolist()):
                bins[min(math.floor(pair[0] * n_bins), n_bins - 1)].append(pair)
            gaps = [abs(math.fsum(p for p, _ in b) - math.fsum(o for _, o in b)) for b in bins if b]
            return math.fsum(gaps) / len(predicted)
            """,
            "Plain Python: one list per bin, means by math.fsum.",
        ),
        (
            "three_counts",
            "",
            f"""
            import warnings

            bins = {BINS}
            count, total, hits = (np.bincount(bins, weights=w) for w in (None, predicted, observed))
            warnings.warn("empty bins", stacklevel=2)
            return float(np.sum(count / len(predicted) * np.nan_to_num(np.abs(total / count - hits / count))))
            """,
            "Three calls of np.bincount, and a division of 0 by 0 that warns and is replaced.",
        ),
        (
            "inner_edges",
            BINS,
            "np.digitize(predicted, np.linspace(0.0, 1.0, n_bins + 1)[1:-1])",
            "np.digitize with inner edges; the last bin is closed by itself.",
        ),
        (
            "histogram",
            "",
            """
            sums, _ = np.histogram(predicted, bins=n_bins, range=(0.0, 1.0), weights=predicted - observed)
            return np.abs(sums).sum() / len(predicted)
            """,
            "np.histogram with weights, whose last bin is closed on both sides.",
        ),
        (
            "grouped",
            "",
            """
            from bisect import bisect_right
            from itertools import groupby

            edges = [k / n_bins for k in range(1, n_bins)]
            samples = sorted((bisect_right(edges, p), p - o) for p, o in zip(predicted.tolist(), observed.tolist()))
            groups = groupby(samples, key=lambda sample: sample[0])
            return float(sum(abs(sum(gap for _, gap in group)) for _, group in groups) / len(samples))
            """,
            "Bisection of the edges k / n, and itertools.groupby over the sorted samples.",
        ),
        (
            "table_printed",
            "",
            """
            table = dict.fromkeys(range(n_bins), 0.0)
            for p, o in zip(predicted.tolist(), observed.tolist()):
                table[min(int(p * n_bins), n_bins - 1)] += p - o
            print(table)
            error = sum(map(abs, table.values())) / len(predicted)
            return int(error) if error == int(error) else error
            """,
            "It prints a table of the bins; a whole error is an int.",
        ),
    ],
    "4.4": [
        (
            "all_at_once",
            "",
            """
            tried = grid[np.lexsort((grid, np.abs(grid - 1.0)))]
            survival, fitted = np.ones(len(confidence_logits)), np.empty(confidence_logits.shape[1])
            for k, column in enumerate(confidence_logits.T):
                options = survival * (0.5 + 0.5 * np.tanh(0.5 * column / tried[:, None]))
                bins = np.minimum((options * 10).astype(int), 9) + 10 * np.arange(len(tried))[:, None]
                sums = np.bincount(bins.ravel(), (options - accepted[:, k]).ravel(), minlength=10 * len(tried))
                best = np.abs(sums.reshape(-1, 10)).sum(axis=1).argmin()
                survival, fitted[k] = options[best], tried[best]
            return fitted
            """,
            "np.lexsort of distance and value; all temperatures of a position in one matrix.",
        ),
        (
            "prefix_anew",
            STEP,
            "survival = (1 / (1 + np.exp(-confidence_logits[:, : len(fitted) + 1] / [*fitted, best]))).prod(axis=1)",
            "The survival of the prefix is computed anew from all temperatures fitted so far.",
        ),
        (
            "running_best",
            "",
            """
            import warnings

            warnings.warn("exp may overflow", stacklevel=2)
            survival, fitted = np.ones(len(confidence_logits)), []
            for column, outcome in zip(confidence_logits.T, accepted.T):
                best_error, best_t, best_survival = math.inf, math.nan, survival
                for t in grid:
                    option = survival / (1.0 + np.exp(-column / t))
                    error = expected_calibration_error(option, outcome)
                    closer = (abs(t - 1.0), t) < (abs(best_t - 1.0), best_t)
                    if error < best_error or (error == best_error and closer):
                        best_error, best_t, best_survival = error, t, option
                survival = best_survival
                fitted.append(best_t)
            return np.array(fitted)
            """,
            "The grid as it comes, with a comparison that knows the rule of ties; exp may overflow and warn.",
        ),
        (
            "recursive",
            "",
            """
            order = sorted(grid, key=lambda t: (abs(t - 1.0), t))

            def error(predicted, observed):
                bins, gaps = np.minimum((10 * predicted).astype(np.int8), 9), predicted - observed
                return sum(abs(gaps[bins == b].sum()) for b in range(10)) / len(gaps)

            def rest(k, survival):
                if k == confidence_logits.shape[1]:
                    return []
                options = {t: survival * (0.5 + 0.5 * np.tanh(0.5 * confidence_logits[:, k] / t)) for t in order}
                best = min(order, key=lambda t: error(options[t], accepted[:, k]))
                return [best, *rest(k + 1, options[best])]

            return np.array(rest(0, np.ones(len(confidence_logits))))
            """,
            "A recursion on the positions that are left, and masks for the bins.",
        ),
        (
            "folded",
            "",
            """
            from functools import reduce

            order = np.array(sorted(grid, key=lambda t: (abs(t - 1.0), t)))

            def step(state, k):
                options = state[1] / (1.0 + np.exp(np.multiply.outer(-1.0 / order, confidence_logits[:, k])))
                best = np.argmin([expected_calibration_error(option, accepted[:, k]) for option in options])
                return [*state[0], order[best]], options[best]

            return np.array(reduce(step, range(confidence_logits.shape[1]), ([], 1.0))[0])
            """,
            "Positions as a fold with the pair (temperatures, survival) as its state.",
        ),
        (
            "errors_printed",
            "",
            """
            table, survival = np.zeros((confidence_logits.shape[1], 2)), 1.0
            for k, column in enumerate(confidence_logits.T):
                options = {t: survival / (1.0 + np.exp(-column / t)) for t in grid.tolist()}
                errors = {t: expected_calibration_error(option, accepted[:, k]) for t, option in options.items()}
                print(k, errors)
                ties = sorted(t for t, error in errors.items() if error == min(errors.values()))
                table[k] = min(ties, key=lambda t: abs(t - 1.0)), min(errors.values())
                survival = options[table[k, 0]]
            return table[:, 0]
            """,
            "It prints the errors, and returns a column of a matrix.",
        ),
    ],
}
