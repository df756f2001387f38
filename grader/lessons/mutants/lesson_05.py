"""Lesson 05, the scheduler: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

SURVIVAL = "np.cumprod(confidences, axis=1)"
BEST_FIRST = 'np.argsort(-survival, axis=None, kind="stable")'
COUNT = "[: np.count_nonzero(survival)]"
LOWEST_FIRST = 'np.argsort(np.where(survival > 0, survival, 2.0), axis=None, kind="stable")'
REVERSED = 'np.argsort(survival, axis=None, kind="stable")[::-1]'
BY_POSITION = "np.lexsort((np.arange(survival.size) % survival.shape[1], -survival.ravel()))"
ROUND_ROBIN = "np.lexsort((-survival.ravel(), np.arange(survival.size) % survival.shape[1], survival.ravel() == 0))"

# 5.1 and 5.3
STEPS = "steps_per_second[requests : requests + len(tau)]"
THETA = "tau[: len(steps)] * steps"
ADMITTED = "np.append(theta[1:] > theta[:-1], False).argmin()"
CHOSEN = "order[:admitted]"
BEST = "int(theta.argmax())"
RANKED = "-np.sort(-survival[survival > 0])"

# 5.2
BUDGET = "min(budget, np.count_nonzero(survival))"
ORDER = "order ="

WRONG: dict[str, dict[str, list[Patch]]] = {
    "5.1": {
        "admits_while_theta_rises": [
            ("one_too_many", CHOSEN, "order[: admitted + 1]", "The token that no longer raises Θ is still admitted."),
            ("verifies_everything", CHOSEN, "order", "Every token is worth verifying."),
            ("survival_left_out", "survival.ravel()[order]", "np.ones(len(order))", "All verified tokens survive."),
            ("table_of_times", THETA, "tau[: len(steps)] / steps", "The table holds times, so Θ divides by it."),
        ],
        "stops_at_first_without_rise": [
            ("global_search", ADMITTED, "theta.argmax()", "The best Θ of all is the best decision."),
            (
                "compared_with_the_start",
                "> theta[:-1]",
                "> theta[:1]",
                "Every token that would raise the Θ of the start is worth it.",
            ),
            (
                "patient_search",
                ADMITTED,
                "next(k for k in range(len(theta)) if theta[k] == theta[: k + 3].max())",
                "One fall may be noise; two in a row are an end.",
            ),
        ],
        "highest_survival_first": [
            ("ordered_by_confidence", SURVIVAL, "confidences", "The highest confidence is the likeliest token."),
            ("position_by_position", BEST_FIRST, ROUND_ROBIN, "The requests take turns, position by position."),
            (
                "request_by_request",
                BEST_FIRST + COUNT,
                "np.flatnonzero(survival)",
                "One request after the other, each as far as it goes.",
            ),
            (
                "every_request_alone",
                "",
                """
                lengths = []
                for row in np.cumprod(confidences, axis=1):
                    tau = np.cumsum([len(confidences), *row[row > 0]])
                    steps = steps_per_second[len(confidences) :][: len(tau)]
                    theta = tau[: len(steps)] * steps
                    lengths.append(int(np.append(theta[1:] > theta[:-1], False).argmin()))
                return lengths
                """,
                "Each request decides for itself, as if it were alone.",
            ),
            ("ascending", BEST_FIRST, LOWEST_FIRST, "The least likely tokens come first, as sorted() does it."),
        ],
        "every_request_counts_from_the_start": [
            ("own_tokens_left_out_of_tau", "np.append(requests", "np.append(0.0", "τ starts at 0 without drafts."),
            ("one_anchor_for_all", "tau =", "requests = 1\n    tau =", "There is one anchor in a batch."),
            (
                "batch_of_drafts_only",
                STEPS,
                "np.append(steps_per_second[requests], steps_per_second[1 : len(tau)])",
                "B counts draft tokens only, so it starts at 0.",
            ),
        ],
        "decision_follows_the_table": [
            ("flat_table", THETA, "tau[: len(steps)] * steps[:1]", "The speed is the same for every batch."),
            (
                "fixed_threshold",
                CHOSEN,
                "order[survival.ravel()[order] >= 0.5]",
                "A survival of at least one half is worth a token, whatever it costs.",
            ),
        ],
        "ties": [
            ("equal_theta_admitted", "theta[1:] >", "theta[1:] >=", "A token that costs nothing does no harm."),
            ("ties_reversed", BEST_FIRST, REVERSED, "reverse=True turns the whole order around, and that is wanted."),
            ("ties_by_position", BEST_FIRST, BY_POSITION, "Of equal survivals the lower position comes first."),
        ],
        "edges": [
            (
                "last_entry_carried_on",
                STEPS,
                "np.append(steps_per_second, [steps_per_second[-1]] * len(tau))[requests : requests + len(tau)]",
                "A batch beyond the table is as fast as the last entry.",
            ),
            (
                "end_of_table_unguarded",
                STEPS,
                "steps_per_second[np.arange(requests, requests + len(tau))]",
                "The table is long enough.",
            ),
            ("hopeless_tokens_admitted", COUNT, "", "A token that cannot survive is a token like any other."),
            ("requests_required", ORDER, f"assert requests\n    {ORDER}", "A batch has at least one request."),
        ],
    },
    "5.2": {
        "highest_survivals_get_it": [
            (
                "even_shares",
                "",
                """
                share, rest = divmod(budget, max(len(confidences), 1))
                return [min(share + (r < rest), np.count_nonzero(row)) for r, row in enumerate(confidences)]
                """,
                "The budget is shared out evenly, the first requests get the rest.",
            ),
            ("first_come_first_served", BEST_FIRST, "np.flatnonzero(survival)", "First come, first served."),
            ("round_robin", BEST_FIRST, ROUND_ROBIN, "The requests take turns, one position after the other."),
            ("lowest_first", BEST_FIRST, LOWEST_FIRST, "np.argsort puts the highest first."),
            (
                "best_request_first",
                BEST_FIRST,
                "np.lexsort((survival.ravel() == 0, np.repeat(-survival.sum(axis=1), survival.shape[1])))",
                "The request with the highest sum of survivals comes first, with all of it.",
            ),
            (
                "proportional",
                "",
                """
                sums = np.cumprod(confidences, axis=1).sum(axis=1)
                shares = (budget * sums / (sums.sum() or 1.0)).astype(int)
                return np.minimum(shares, np.count_nonzero(confidences, axis=1)).tolist()
                """,
                "Requests get the budget in proportion to their expected accepted length.",
            ),
        ],
        "survival_and_not_confidence": [
            ("by_confidence", SURVIVAL, "confidences", "The confidences say how likely a token is accepted."),
            (
                "weakest_link",
                SURVIVAL,
                "np.minimum.accumulate(confidences, axis=1)",
                "A chain is as strong as its weakest link: the running minimum decides.",
            ),
            (
                "survival_of_the_tokens_before",
                SURVIVAL,
                "np.cumprod(np.insert(confidences, 0, 1.0, axis=1)[:, :-1], axis=1)",
                "The survival of token j is the product of the confidences before it.",
            ),
            (
                "product_over_the_batch",
                SURVIVAL,
                "np.cumprod(confidences).reshape(confidences.shape)",
                "The product runs through the whole batch, np.cumprod does it.",
            ),
        ],
        "budget_of_the_whole_batch": [
            (
                "budget_for_each_request",
                "",
                "return [min(budget, np.count_nonzero(row)) for row in np.cumprod(confidences, axis=1)]",
                "The budget is what each request may verify.",
            ),
            (
                "own_tokens_counted",
                "min(budget,",
                "min(max(budget - len(confidences), 0),",
                "The budget is the batch B, the requests' own tokens included.",
            ),
            ("one_for_everybody", ".tolist()", ".clip(min=1).tolist()", "Every request verifies at least one token."),
            ("one_more", "min(budget,", "min(budget + 1,", "A slice up to the budget includes the budget."),
            ("zero_is_no_limit", "min(budget,", "min(budget or survival.size,", "A budget of 0 means no limit."),
        ],
        "ties": [
            (
                "ties_all_in",
                f"order[: {BUDGET}]",
                "np.flatnonzero(survival >= survival.ravel()[order[min(budget, survival.size) - 1]])",
                "All tokens that are as good as the last one get the budget too.",
            ),
            ("ties_reversed", BEST_FIRST, REVERSED, "Of equal survivals the last request goes first."),
            ("ties_by_position", BEST_FIRST, BY_POSITION, "Of equal survivals the lower position goes first."),
        ],
        "leftovers": [
            ("hopeless_tokens_too", BUDGET, "budget", "The whole budget has to be spent."),
            (
                "large_budget_refused",
                ORDER,
                f"assert budget <= survival.size\n    {ORDER}",
                "A budget above the number of tokens is an error.",
            ),
        ],
    },
    "5.3": {
        "highest_theta": [
            (
                "at_least_one",
                BEST,
                "min(1, len(theta) - 1) + int(np.append(theta[1:], 0.0).argmax())",
                "A round should verify at least one draft token.",
            ),
            ("batch_and_not_budget", BEST, f"requests + {BEST}", "The answer is the batch size of the highest Θ."),
            ("budget_of_one_request", BEST, f"{BEST} // requests", "The answer is the verify length of a request."),
            ("fastest_step", BEST, "int(steps.argmax())", "The fastest step is the best."),
        ],
        "later_peak_wins": [
            ("early_stop", BEST, f"int({ADMITTED})", "It stops like Algorithm 1, at the first token without a rise."),
            (
                "end_left_out",
                BEST,
                "int(theta[: max(len(theta) - 1, 1)].argmax())",
                "The highest peak is a place where Θ falls, so it is not at the end.",
            ),
            (
                "found_by_halving",
                "    return",
                """\
    low, high = 0, len(theta) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if theta[middle + 1] > theta[middle] else (low, middle)
    return low if requests else 0
    return""",
                "Θ has one peak, so it can be found by halving.",
            ),
        ],
        "highest_survivals_of_the_batch": [
            ("unsorted", RANKED, "survival[survival > 0]", "The survivals are taken as listed, request by request."),
            (
                "confidences_added_up",
                RANKED,
                "-np.sort(-old_confidences[survival > 0])",
                "The confidences are the chances to survive.",
            ),
            (
                "first_request_only",
                "np.cumprod(old_confidences,",
                "np.cumprod(old_confidences[[0] * len(old_confidences)],",
                "The first request stands for all of them.",
            ),
        ],
        "every_request_counts_from_the_start": [
            ("own_tokens_left_out", "np.append(requests", "np.append(0.0", "τ counts accepted drafts only."),
            (
                "table_from_the_front",
                STEPS,
                "steps_per_second[1 : 1 + len(tau)]",
                "The table begins with the first draft token.",
            ),
            ("one_anchor_for_all", "np.append(requests", "np.append(1.0", "There is one anchor in a batch."),
        ],
        "decision_follows_the_table": [
            ("flat_table", THETA, "tau[: len(steps)] * steps[:1]", "Speed does not depend on the batch."),
            (
                "fixed_threshold",
                BEST,
                "int((best_first >= 0.5).sum())",
                "A token with a survival of one half is worth it, whatever it costs.",
            ),
        ],
        "smallest_of_equal_budgets": [
            (
                "largest_of_equal",
                BEST,
                "len(theta) - 1 - int(theta[::-1].argmax())",
                "Of equal budgets the larger verifies more.",
            ),
            (
                "maximum_of_pairs",
                BEST,
                "max(zip(theta, range(len(theta))))[1]",
                "max() over pairs finds the highest Θ and its budget.",
            ),
        ],
        "edges": [
            (
                "hopeless_tokens_too",
                "survival[survival > 0]",
                "survival.ravel()",
                "Tokens that cannot survive count like any other.",
            ),
            ("long_table_required", THETA, "tau * steps", "The table is as long as the largest batch."),
            ("requests_required", f"{BEST} if requests else 0", f"{BEST} // bool(requests)", "There are requests."),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "5.1": [
        (
            "plain_loops",
            "",
            """
            print("scheduling")
            tokens = []
            for r in range(len(confidences)):
                survival = 1.0
                for j in range(len(confidences[r])):
                    survival *= confidences[r][j]
                    if survival > 0:
                        tokens.append((survival, r, j))
            tokens.sort(key=lambda token: (-token[0], token[1], token[2]))
            batch, tau, lengths = len(confidences), float(len(confidences)), [0] * len(confidences)
            for survival, r, _ in tokens:
                if batch + 1 == len(steps_per_second):
                    break
                if (tau + survival) * steps_per_second[batch + 1] <= tau * steps_per_second[batch]:
                    break
                batch, tau = batch + 1, tau + survival
                lengths[r] += 1
            return lengths
            """,
            "Plain loops over lists, one variable per quantity.",
        ),
        (
            "heap_of_next_tokens",
            "",
            """
            import heapq

            survival = np.hstack([np.cumprod(confidences, axis=1), np.zeros((len(confidences), 1))]).tolist()
            heap = [(-row[0], r) for r, row in enumerate(survival)]
            heapq.heapify(heap)
            batch, tau, lengths = len(confidences), float(len(confidences)), [0] * len(confidences)
            while heap and heap[0][0] < 0 and batch + 1 < len(steps_per_second):
                a, r = heapq.heappop(heap)
                if not (tau - a) * steps_per_second[batch + 1] > tau * steps_per_second[batch]:
                    break
                batch, tau = batch + 1, tau - a
                lengths[r] += 1
                heapq.heappush(heap, (-survival[r][lengths[r]], r))
            return lengths
            """,
            "A heap that holds the next token of each request.",
        ),
        (
            "lexsort",
            BEST_FIRST,
            "np.lexsort((*np.indices(survival.shape).reshape(2, -1)[::-1], -survival.ravel()))",
            "np.lexsort over three keys.",
        ),
        (
            "least_survival_admitted",
            f"return np.bincount({CHOSEN} // confidences.shape[1], minlength=len(confidences)).tolist()",
            """\
last = survival.ravel()[order[admitted - 1]] if admitted else 2.0
    chosen = survival > last
    tied = np.flatnonzero(survival == last)
    chosen.flat[tied[: admitted - chosen.sum()]] = True
    return chosen.sum(axis=1).tolist()""",
            "The least survival that is admitted, then the tied tokens in the order of the batch.",
        ),
        (
            "skip_instead_of_stop",
            "",
            """
            survival = np.cumprod(confidences, axis=1)
            batch, tau, lengths = len(confidences), float(len(confidences)), [0] * len(confidences)
            for i in np.argsort(-survival, axis=None, kind="stable").tolist():
                a, r = survival.flat[i], i // survival.shape[1]
                if a > 0 and batch + 1 < len(steps_per_second):
                    if (tau + a) * steps_per_second[batch + 1] > tau * steps_per_second[batch]:
                        batch, tau = batch + 1, tau + a
                        lengths[r] += 1
            return lengths
            """,
            "Skipping a token that does not raise Θ and trying the next ends at the same place.",
        ),
    ],
    "5.2": [
        (
            "sorted_tuples",
            "",
            """
            rows = [np.cumprod(row).tolist() for row in confidences]
            tokens = sorted((-a, r, j) for r, row in enumerate(rows) for j, a in enumerate(row) if a > 0)
            return [sum(r == request for _, r, _ in tokens[:budget]) for request in range(len(rows))]
            """,
            "A sorted list of tuples.",
        ),
        (
            "merged_rows",
            "",
            """
            import heapq
            import itertools

            rows = np.cumprod(confidences, axis=1).tolist()
            falling = [[(-a, r) for a in row if a > 0] for r, row in enumerate(rows)]
            lengths = [0] * len(rows)
            for _, request in itertools.islice(heapq.merge(*falling), budget):
                lengths[request] += 1
            return lengths
            """,
            "A merge of the falling rows, since each of them is already in order.",
        ),
        (
            "by_threshold",
            "",
            """
            survival = np.cumprod(confidences, axis=1)
            ranked = np.sort(survival[survival > 0])[::-1]
            budget = min(budget, ranked.size)
            if budget == 0:
                return [0] * len(confidences)
            chosen = survival > ranked[budget - 1]
            for r, j in np.argwhere(survival == ranked[budget - 1])[: budget - int(chosen.sum())]:
                chosen[r, j] = True
            return [int(n) for n in chosen.sum(axis=1)]
            """,
            "The least survival that gets the budget, then the tied tokens in the order of the batch.",
        ),
        (
            "next_token_of_each",
            "",
            """
            survival = np.hstack([np.cumprod(confidences, axis=1), np.zeros((len(confidences), 1))])
            lengths = np.zeros(len(survival), dtype=int)
            for _ in range(budget):
                following = survival[np.arange(len(survival)), lengths]
                if not following.any():
                    break
                lengths[following.argmax()] += 1
            return list(map(int, lengths))
            """,
            "One token after the other, always to the request whose next token is the likeliest.",
        ),
        (
            "chosen_matrix",
            "return np.bincount(chosen // confidences.shape[1], minlength=len(confidences)).tolist()",
            "return np.isin(np.arange(survival.size), chosen).reshape(survival.shape).sum(axis=1).tolist()",
            "A matrix of booleans marks what is verified.",
        ),
    ],
    "5.3": [
        (
            "plain_lists",
            "",
            """
            rows = [np.cumprod(row).tolist() for row in old_confidences]
            ranked = sorted((a for row in rows for a in row if a > 0), reverse=True)
            tau = [len(rows)]
            for a in ranked:
                tau.append(tau[-1] + a)
            theta = [t * s for t, s in zip(tau, steps_per_second[len(rows) :])]
            return theta.index(max(theta)) if rows else 0
            """,
            "Lists, a running sum and index(max()).",
        ),
        (
            "best_so_far",
            "",
            """
            if len(old_confidences) == 0:
                return 0
            survival = np.cumprod(old_confidences, axis=1)
            batch, tau = len(survival), float(len(survival))
            budget, best = 0, tau * steps_per_second[batch]
            for a in sorted(survival[survival > 0], reverse=True)[: len(steps_per_second) - 1 - batch]:
                batch, tau = batch + 1, tau + a
                if tau * steps_per_second[batch] > best:
                    budget, best = batch - len(survival), tau * steps_per_second[batch]
            return budget
            """,
            "One loop that keeps the best so far.",
        ),
        (
            "exact_fractions",
            "    theta =",
            """\
    from fractions import Fraction

    tau, steps = ([Fraction(float(x)) for x in column] for column in (tau, steps))
    theta = np.array([t * s for t, s in zip(tau, steps)])
    return int(theta.argmax()) if requests else 0
    theta =""",
            "Exact fractions for the comparison.",
        ),
        (
            "padded_with_minus_one",
            "",
            """
            requests, survival = len(old_confidences), np.multiply.accumulate(old_confidences, axis=1)
            ranked = np.sort(survival.ravel())[::-1]
            ranked = np.where(ranked > 0, ranked, -1e9)[: max(len(steps_per_second) - 1 - requests, 0)]
            theta = np.cumsum(np.r_[float(requests), ranked]) * steps_per_second[requests : requests + len(ranked) + 1]
            return int(np.flatnonzero(theta == theta.max())[0]) if requests else 0
            """,
            "NumPy on the padded matrix, with a large negative number for what is not there.",
        ),
        ("least_time_per_token", BEST, "int((1.0 / theta).argmin())", "The least time per token."),
    ],
}
