"""Lesson 09, real hardware: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

TIMES = "np.interp(np.arange(1, largest + 1), batch_sizes, rising)"
RATIOS = "measured[0] / measured[1] / (measured[2] / measured[3])"
VARIANCE = "(len(without_one) - 1) * np.var(without_one)"

WRONG: dict[str, dict[str, list[Patch]]] = {
    "9.1": {
        "earlier_ones_and_itself": [
            ("itself_left_out", "<= own", "< own", "A token does not look at itself."),
            (
                "both_directions",
                "rows + np.arange(count)",
                "np.full(count, rows + count - 1)",
                "New tokens see each other in both directions, like a block that is drafted.",
            ),
            (
                "earlier_ones_only",
                "rows + np.arange(count)",
                "np.full(count, rows - 1)",
                "Only what is already in the cache can be seen.",
            ),
            ("triangle_at_the_start", "rows + np", "np", "The triangle begins in slot 0."),
            ("upside_down", "<= own", "> own", "A mask says what is hidden."),
            (
                "new_ones_apart",
                "np.arange(slots) <= own",
                "(np.arange(slots) < rows) | (np.arange(slots) == own)",
                "A token sees the earlier ones and itself, but no other new one.",
            ),
        ],
        "slots_behind_are_unseen": [
            ("as_wide_as_filled", "arange(slots)", "arange(rows + count)", "The mask is as wide as what is filled."),
            ("at_the_end", "rows + np", "slots - count + np", "The new tokens stand at the end of the cache."),
            (
                "free_slots_seen",
                "np.arange(slots) <= own",
                "(np.arange(slots) <= own) | (np.arange(slots) >= rows + count)",
                "Free slots hold zeros, which add nothing to an attention.",
            ),
        ],
        "empty_cache": [
            ("never_empty", "rows + np", "max(rows, 1) + np", "There is always at least one earlier token."),
        ],
        "single_token": [
            (
                "flat_for_one",
                "np.arange(slots) <= own",
                "(np.arange(slots) <= own).squeeze()",
                "One token has a flat mask.",
            ),
        ],
    },
    "9.2": {
        "anchor_and_drafts": [
            ("anchor_forgotten", "1 + length", "length", "Only drafts are verified."),
            ("one_position_early", "[anchor + k", "[anchor - 1 + k", "The anchor is the last row of the cache."),
            ("positions_in_the_block", "[anchor + k", "[k", "Positions are counted from the anchor."),
            (
                "no_end",
                '"starts": starts',
                '"starts": starts[:-1] or [0]',
                "The last request ends where the batch ends, so its end need not be said.",
            ),
        ],
        "requests_end_to_end": [
            (
                "padded",
                "1 + length",
                "1 + max(verify_lengths)",
                "A batch is a rectangle: all requests are as long as the longest.",
            ),
            (
                "positions_go_on",
                "[anchor + k",
                "[cache_rows[0] + starts[-1] + k",
                "Positions go on counting along the batch.",
            ),
            (
                "caches_end_to_end",
                "[anchor + k",
                "[sum(cache_rows[: request + 1]) + k",
                "The caches lie end to end, too, so a position counts the rows of those before.",
            ),
            (
                "column_by_column",
                "",
                """
                sizes = [1 + length for length in verify_lengths]
                rows = [(k, r) for k in range(max(sizes, default=0)) for r, size in enumerate(sizes) if k < size]
                return {
                    "requests": [r for _, r in rows],
                    "positions": [cache_rows[r] + k for k, r in rows],
                    "starts": [0, *np.cumsum(sizes, dtype=int).tolist()],
                }
                """,
                "The first rows of all requests come first, then their second ones.",
            ),
            (
                "lengths_for_starts",
                "starts.append(len(requests))",
                "starts.append(1 + length)",
                "starts holds the lengths of the requests.",
            ),
        ],
        "plain_requests_have_one_row": [
            (
                "plain_ones_left_out",
                "1 + length",
                "length and 1 + length",
                "A request without drafts has nothing to verify.",
            ),
        ],
        "no_requests_no_rows": [
            (
                "no_start",
                '"starts": starts',
                '"starts": starts if requests else []',
                "Without requests there is no start either.",
            ),
        ],
    },
    "9.3": {
        "straight_lines_in_time": [
            (
                "lines_between_speeds",
                TIMES,
                TIMES.replace("np.interp", "1 / np.interp").replace("rising", "1 / rising"),
                "Speeds can be interpolated like times.",
            ),
            (
                "next_measured_size",
                TIMES,
                "rising[np.searchsorted(batch_sizes, np.arange(1, largest + 1))]",
                "A batch is padded to the next measured size.",
            ),
            (
                "last_measured_size",
                TIMES,
                "rising[np.searchsorted(batch_sizes, np.arange(1, largest + 1), side='right') - 1]",
                "The last measured size stands for those after it.",
            ),
            (
                "one_line_for_all",
                TIMES,
                "np.polyval(np.polyfit(batch_sizes, rising, 1), np.arange(1, largest + 1))",
                "One straight line through all measurements is smoother.",
            ),
            ("seconds_of_a_step", "1.0 / times", "times", "The table holds the seconds of a step."),
            (
                "tokens_per_second",
                "1.0 / times",
                "np.arange(1, largest + 1) / times",
                "A batch of B tokens makes B steps.",
            ),
        ],
        "time_never_falls": [
            ("times_as_measured", "np.maximum.accumulate(seconds)", "seconds", "What was measured is true."),
            (
                "neighbour_only",
                "np.maximum.accumulate(seconds)",
                "np.maximum(seconds, [seconds[0], *seconds[:-1]])",
                "It is enough to look at the size before.",
            ),
            (
                "raised_after_the_lines",
                TIMES,
                f"np.maximum.accumulate({TIMES.replace('rising', 'seconds')})",
                "The lines are drawn first, and what falls is raised afterwards.",
            ),
            (
                "lowered",
                "np.maximum.accumulate(seconds)",
                "np.minimum.accumulate(seconds[::-1])[::-1]",
                "The slower time is the noisy one: it is lowered to that of the larger batch.",
            ),
            ("sorted_times", "np.maximum.accumulate", "np.sort", "Sorted times never fall."),
            (
                "thrown_away",
                "batch_sizes, rising)",
                "np.array(batch_sizes)[seconds >= rising], seconds[seconds >= rising])",
                "A measurement that falls is thrown away.",
            ),
        ],
        "table_ends_at_largest": [
            (
                "all_that_was_measured",
                "arange(1, largest + 1)",
                "arange(1, batch_sizes[-1] + 1)",
                "The table holds all that was measured.",
            ),
            ("no_entry_0", "[0.0, *(", "[*(", "The first entry belongs to a batch of 1."),
            ("one_too_few", "arange(1, largest + 1)", "arange(1, largest)", "largest is the number of entries."),
            (
                "cut_before_the_lines",
                "batch_sizes, rising)",
                "(near := [size for size in batch_sizes if size <= largest]), rising[: len(near)])",
                "Measurements after largest are not needed.",
            ),
        ],
        "one_size_is_enough": [
            (
                "two_sizes_needed",
                "return [0.0, *(1.0 / times).tolist()]",
                "return [0.0, *(1.0 / times).tolist()] if len(batch_sizes) > 1 else [0.0]",
                "A line needs two points.",
            ),
        ],
    },
    "9.4": {
        "ratio_of_sums": [
            (
                "mean_of_ratios",
                "error = ",
                f"speedup = float(np.mean({RATIOS}))\n    error = ",
                "The speed-up is the mean of the prompts' speed-ups.",
            ),
            (
                "ratio_of_mean_speeds",
                "error = ",
                "speedup = np.mean(measured[0] / measured[1]) / np.mean(measured[2] / measured[3])\n    error = ",
                "A speed is the mean of the prompts' speeds.",
            ),
            (
                "geometric_mean",
                "error = ",
                f"speedup = float(np.exp(np.mean(np.log({RATIOS}))))\n    error = ",
                "Ratios have a geometric mean.",
            ),
            (
                "seconds_only",
                "(made / took) / (plain_made / plain_took)",
                "plain_took / took",
                "The same prompts, so only the seconds count.",
            ),
            (
                "upside_down",
                "(made / took) / (plain_made / plain_took)",
                "(plain_made / plain_took) / (made / took)",
                "Plain over speculative.",
            ),
        ],
        "one_left_out": [
            (
                "plain_deviation",
                VARIANCE,
                "np.var(without_one)",
                "The error is the standard deviation of the speed-ups with one prompt left out.",
            ),
            (
                "error_of_a_mean",
                VARIANCE,
                "np.var(without_one, ddof=1) / len(without_one)",
                "A standard error is a standard deviation over the root of n.",
            ),
            (
                "around_the_whole",
                VARIANCE,
                "(len(without_one) - 1) * np.mean((np.array(without_one) - speedup) ** 2)",
                "The variance is around the speed-up of all prompts.",
            ),
            (
                "around_the_mean",
                '"low": speedup - 1.96 * error, "high": speedup',
                '"low": np.mean(without_one) - 1.96 * error, "high": np.mean(without_one)',
                "The interval lies around the mean of the speed-ups with one prompt left out.",
            ),
            (
                "bias_corrected",
                "error = ",
                "speedup += (len(without_one) - 1) * (speedup - np.mean(without_one))\n    error = ",
                "The jackknife corrects the bias as well.",
            ),
            (
                "left_out_of_one_way",
                "total - measured]",
                "total - measured * [[1], [1], [0], [0]]]",
                "Plain decoding is the yardstick and keeps all its prompts.",
            ),
            (
                "least_and_greatest",
                '"low": speedup - 1.96 * error, "high": speedup + 1.96 * error',
                '"low": min(without_one), "high": max(without_one)',
                "The interval reaches from the least to the greatest of the speed-ups.",
            ),
            ("two_errors", "1.96", "2.0", "95 % are two errors."),
            ("root_forgotten", "math.sqrt", "float", "The variance already is the error."),
        ],
        "two_prompts_are_enough": [
            (
                "never_below_0",
                "speedup - 1.96 * error",
                "max(0.0, speedup - 1.96 * error)",
                "A speed-up is never below 0, so the interval ends there.",
            ),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "9.1": [
        (
            "two_loops",
            "",
            """
            mask = np.zeros((count, slots), dtype=bool)
            for i in range(count):
                for slot in range(rows + i + 1):
                    mask[i, slot] = True
            return mask
            """,
            "Two loops that fill a matrix.",
        ),
        ("triangle", "", "return np.tri(count, slots, k=rows, dtype=bool)", "np.tri with an offset."),
        (
            "cut_out",
            "",
            """
            mask = np.ones((count, slots), dtype=np.bool_)
            mask[np.triu_indices(count, k=rows + 1, m=slots)] = False
            print("seen", mask.sum())
            return mask
            """,
            "What lies after a token is cut out of a full matrix, with a print on the way.",
        ),
        (
            "lists_first",
            "",
            "return np.array([[slot - rows <= i for slot in range(slots)] for i in range(count)])",
            "A list of lists, made an array at the end.",
        ),
    ],
    "9.2": [
        (
            "repeated",
            "",
            """
            sizes = np.array(verify_lengths, dtype=int) + 1
            starts = np.concatenate([[0], np.cumsum(sizes)])
            requests = np.repeat(np.arange(sizes.size), sizes)
            positions = np.array(cache_rows, dtype=int)[requests] + np.arange(starts[-1]) - starts[requests]
            return {"requests": requests.tolist(), "positions": positions.tolist(), "starts": starts.tolist()}
            """,
            "np.repeat and a cumulative sum.",
        ),
        (
            "comprehensions",
            "",
            """
            spans = [range(before, before + length + 1) for length, before in zip(verify_lengths, cache_rows)]
            requests = [r for r, span in enumerate(spans) for _ in span]
            starts = [sum(map(len, spans[:r])) for r in range(len(spans) + 1)]
            return {"starts": starts, "positions": [i for span in spans for i in span], "requests": requests}
            """,
            "Comprehensions over ranges.",
        ),
        (
            "row_by_row",
            "",
            """
            found = {"requests": [], "positions": [], "starts": []}
            for r in range(len(verify_lengths)):
                found["starts"].append(len(found["requests"]))
                for k in range(verify_lengths[r] + 1):
                    found["requests"].append(r)
                    found["positions"].append(cache_rows[r] + k)
            print(found)
            found["starts"].append(len(found["requests"]))
            return found
            """,
            "Row by row, with a print on the way.",
        ),
    ],
    "9.3": [
        (
            "walk",
            "",
            """
            table, i, time = [0.0], 0, seconds[0]
            for size in range(1, largest + 1):
                if size > batch_sizes[i]:
                    i, start = i + 1, time
                    slope = (max(start, seconds[i]) - start) / (batch_sizes[i] - batch_sizes[i - 1])
                if i:
                    time = start + slope * (size - batch_sizes[i - 1])
                table.append(float(1 / time))
            return table
            """,
            "A walk from one measured size to the next, by hand.",
        ),
        (
            "linspaces",
            "",
            """
            rising = [max(seconds[: i + 1]) for i in range(len(batch_sizes))]
            times = [rising[0]]
            for i in range(1, len(batch_sizes)):
                times += np.linspace(rising[i - 1], rising[i], batch_sizes[i] - batch_sizes[i - 1] + 1)[1:].tolist()
            return [0.0] + [1.0 / float(t) for t in times[:largest]]
            """,
            "All lines side by side, each with np.linspace.",
        ),
        (
            "cut_at_the_end",
            "",
            """
            speeds = np.zeros(batch_sizes[-1] + 1)
            sizes = range(1, batch_sizes[-1] + 1)
            speeds[1:] = np.reciprocal(np.interp(sizes, batch_sizes, np.maximum.accumulate(seconds)))
            print(speeds)
            return list(map(float, speeds[: largest + 1]))
            """,
            "Over a whole table that is cut at the end, with a print on the way.",
        ),
    ],
    "9.4": [
        (
            "one_deleted",
            "",
            """
            def speedup(kept):
                made, took, plain_made, plain_took = (
                    sum(values[i] for i in kept) for values in (tokens, seconds, plain_tokens, plain_seconds)
                )
                return float(made / took / (plain_made / plain_took))

            n = len(tokens)
            found = [speedup([j for j in range(n) if j != i]) for i in range(n)]
            error = math.sqrt((n - 1) / n * sum((s - sum(found) / n) ** 2 for s in found))
            whole = speedup(range(n))
            return {"speedup": whole, "low": whole - 1.96 * error, "high": whole + 1.96 * error}
            """,
            "Plain loops, with one prompt deleted from every list at a time.",
        ),
        (
            "pseudo_values",
            "np.var(without_one))",
            "np.var(without_one))\n"
            "    import statistics\n\n"
            "    n = len(without_one)\n"
            "    error = math.sqrt(statistics.variance(n * speedup - (n - 1) * s for s in without_one) / n)",
            "The variance from the statistics module, of pseudo-values.",
        ),
        (
            "by_a_matrix",
            "",
            """
            n = len(tokens)
            sums = np.array([tokens, seconds, plain_tokens, plain_seconds]) @ np.c_[np.ones(n), 1 - np.eye(n)]
            found = sums[0] * sums[3] / sums[1] / sums[2]
            print(found)
            error = np.linalg.norm(found[1:] - found[1:].mean()) * math.sqrt((n - 1) / n)
            ends = found[0] + 1.96 * error * np.array([-1, 1])
            return dict(zip(("speedup", "low", "high"), [float(found[0]), *map(float, ends)]))
            """,
            "A matrix that leaves one out in each column, with a print on the way.",
        ),
    ],
}
