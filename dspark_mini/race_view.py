"""Shows the race on the terminal: who wrote which word, in slow motion, then the table and the files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from dspark_mini.backends import hardware, load_model, model_errors
from dspark_mini.corpus import INDENT, NEWLINE
from dspark_mini.engine import Round
from dspark_mini.files import atomic_write
from dspark_mini.lm import prompts as domain_prompts
from dspark_mini.race import (
    PLAIN_NAME,
    RaceOptions,
    Run,
    TimedText,
    drafter_of,
    summarise,
    time_methods,
    verify_ratio,
)
from dspark_mini.race_table import closing_lines, result_table
from dspark_mini.workspace import UserError

PLAIN_SECONDS = 1.5  # plain decoding is slowed down to take at least this long on the screen
OWN = "own"  # domain of the user's own prompt
ACCEPTED, REJECTED, TARGET = "green underline", "red strike", "bold"


def run_race(options: RaceOptions, console: Console) -> None:
    """Run the race, show it, and write the files that were asked for.

    Args:
        options: What to race, where, and which files to write.
        console: A terminal shows the first texts in slow motion; anything else prints them at once.

    Raises:
        UserError: The model cannot be loaded, the prompt cannot be continued, or a file cannot be written.
    """
    drafters = sorted({drafter_of(method) for method in options.order[1:]})
    model = load_model(options.backend, options.device, drafters, options.compiled)
    machine = hardware(options.backend, options.device, model)
    runs: list[Run] = []
    with model_errors(options.device):
        by_domain = _prompts(options, model)
        console.print(legend())
        for domain, texts in by_domain.items():
            runs += _race_domain(options, model, domain, texts, console)
        ratio = verify_ratio(model, next(iter(by_domain.values()))[0])
    console.print(result_table(runs))
    for line in closing_lines(runs, ratio, machine):
        console.print(escape(line), soft_wrap=True)
    _write_files(options, {"hardware": machine, "verify_ratio": ratio, "runs": runs}, console)


def _prompts(options: RaceOptions, model: Any) -> dict[str, list[list[int]]]:
    """Return the prompts by domain."""
    if options.prompt is not None:
        return {OWN: [model.tokenizer.encode(options.prompt)] * options.prompts}
    return {
        domain: domain_prompts(model.tokenizer, domain, options.prompts, options.seed) for domain in options.domains
    }


def _race_domain(
    options: RaceOptions, model: Any, domain: str, prompts: list[list[int]], console: Console
) -> list[Run]:
    """Race on the prompts of a domain, and show the first."""
    stream = [*domain.encode()]  # the same random numbers whichever other domains run
    time_methods(model, prompts[0], replace(options, max_new_tokens=8), [*stream, 0])  # warm-up, not counted
    texts = [time_methods(model, prompts[0], options, [*stream, 0])]
    what = "your prompt, run" if domain == OWN else f"{domain}, prompt"
    show_texts(f"{what} 1 of {len(prompts)}", prompts[0], texts[0], model.tokenizer.words, console)
    if len(prompts) > 1:  # no progress bar: redrawing skews timings
        console.print(f"  (running {len(prompts) - 1} more without showing them …)\n")
    texts += [time_methods(model, prompt, options, [*stream, i]) for i, prompt in enumerate(prompts[1:], start=1)]
    return summarise(model, domain, prompts, texts, options)


def legend() -> Text:
    """Explain the marks, which are distinct without colours and styles."""
    return Text.assemble(
        *("   ", ("^word", TARGET), "        the target's own token, one per forward\n"),
        *("   ", ("word", ACCEPTED), "         drafted and accepted\n"),
        *("   [", ("~word~", REJECTED), " +5]  drafted and rejected, together with the five drafts after it\n"),
    )


def round_text(round_: Round, words: Sequence[str]) -> Text:
    """Write a round: accepted drafts, the first rejected one with the number of others, the target's own token."""
    own = round_.emitted[round_.accepted :]
    rejected = [token for node, token in enumerate(round_.drafted) if node not in round_.path]
    text = Text()
    for token in round_.emitted[: round_.accepted]:
        text.append(_shown(token, words), ACCEPTED).append(" ")
    if rejected and own:  # without a token of the target's the text ended, and nothing after its end was rejected
        others = f" +{len(rejected) - 1}" if len(rejected) > 1 else ""
        text.append("[").append(f"~{_shown(rejected[0], words)}~", REJECTED).append(f"{others}] ")
    for token in own:
        text.append(f"^{_shown(token, words)}", TARGET).append(" ")
    return text


def _shown(token: int, words: Sequence[str]) -> str:
    """Write a token without breaking the line."""
    return {NEWLINE: "↵", INDENT: "⇥"}.get(words[token], words[token])


def show_texts(
    title: str, prompt: Sequence[int], texts: Mapping[str, TimedText], words: Sequence[str], console: Console
) -> None:
    """Show the texts of all methods on one prompt, one after the other; a terminal shows them in slow motion.

    Args:
        title: Heading.
        prompt: Token ids of the prompt.
        texts: The timed texts by method.
        words: The vocabulary.
        console: Where to print.
    """
    slowdown = max(PLAIN_SECONDS / texts[PLAIN_NAME].seconds, 1.0)
    pace = f", shown {slowdown:.0f} times slower than it ran" if console.is_terminal else ""
    console.print(Text(f"{title}{pace}\n", "bold"), soft_wrap=True)
    console.print(_indented(Text(" ".join(_shown(token, words) for token in prompt) + " …")))
    console.print()
    for method, text in texts.items():
        complete = _progress(method, text, len(text.trace.rounds), words)
        if console.is_terminal:
            with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
                for count in _paced(text.trace.rounds, slowdown):
                    live.update(_progress(method, text, count, words), refresh=True)
                live.update(complete, refresh=True)
        else:
            console.print(complete)
        console.print()


def _progress(method: str, text: TimedText, count: int, words: Sequence[str]) -> Group:
    """Write the first rounds of a text, under a line with their tokens and time."""
    rounds = text.trace.rounds[:count]
    tokens = sum(len(r.emitted) for r in rounds)
    seconds = text.seconds if count == len(text.trace.rounds) else sum(sum(r.seconds.values()) for r in rounds)
    counts = f": {_counted(tokens, 'token')} in {_counted(count, 'round')}, {1000 * seconds:.0f} ms"
    return Group(Text.assemble((method, "bold"), counts), _indented(Text().join(round_text(r, words) for r in rounds)))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _paced(rounds: Sequence[Round], slowdown: float) -> Iterator[int]:
    """Yield the number of finished rounds, each when its time has come."""
    due = time.monotonic()
    for count, round_ in enumerate(rounds, start=1):
        due += slowdown * sum(round_.seconds.values())
        time.sleep(max(due - time.monotonic(), 0.0))
        yield count


def _write_files(options: RaceOptions, results: Mapping[str, Any], console: Console) -> None:
    """Write the JSON file and the picture, each atomically."""
    try:
        if options.json_file is not None:
            with atomic_write(options.json_file) as part:
                part.write_text(json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
        if options.picture_file is not None:
            from dspark_mini.viz.race import save_race  # matplotlib takes a while to import

            with atomic_write(options.picture_file) as part:
                save_race(results["runs"], part, options.picture_file.suffix.lower()[1:])
    except OSError as error:
        raise UserError(f"{error.filename} cannot be written: {error.strerror}.") from error
    for path in filter(None, (options.json_file, options.picture_file)):
        console.print(f"written: {escape(str(path))}", soft_wrap=True)
