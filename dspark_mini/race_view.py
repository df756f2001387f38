"""Shows the race on the terminal: who wrote which word, in slow motion, then the table and the files."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.constrain import Constrain
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from dspark_mini.backends import hardware, load_model, load_smollm, model_errors
from dspark_mini.corpus import INDENT, NEWLINE
from dspark_mini.files import atomic_write
from dspark_mini.language import _
from dspark_mini.lm import load
from dspark_mini.lm import prompts as domain_prompts
from dspark_mini.odds import RoundOdds
from dspark_mini.race import (
    MOST_PROMPTS,
    RACE_SECONDS,
    Run,
    drafter_of,
    enough,
    odds_of_methods,
    summarise,
    time_methods,
    verify_ratio,
)
from dspark_mini.race_options import PLAIN_NAME, SMOLLM, RaceOptions
from dspark_mini.race_own import lend_to_model
from dspark_mini.race_table import closing_lines, result_table
from dspark_mini.terminal import say
from dspark_mini.trace import Round, Trace
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
    if options.model == SMOLLM:
        model = load_smollm(drafters, options.temperature)
    else:
        model = load_model(options.backend, options.device, drafters, options.compiled)
    if options.functions is not None:
        lend_to_model(model, options.functions)
    machine = hardware(options.backend, options.device, model)
    runs: list[Run] = []
    with model_errors(options.device):
        by_domain = _prompts(options, model)
        for domain, texts in by_domain.items():  # warm-up, not counted; it refuses what cannot run
            time_methods(model, texts[0], replace(options, max_new_tokens=8), [*domain.encode(), 0])
        console.print(legend())
        for number, (domain, texts) in enumerate(by_domain.items()):
            runs += _race_domain(options, model, domain, texts, console, slowly=number == 0)
        ratio = verify_ratio(model, next(iter(by_domain.values()))[0])
    console.print(result_table(runs))
    for line in closing_lines(runs, ratio, machine):
        say(line, console)
    _write_files(options, {"hardware": machine, "verify_ratio": ratio, "runs": runs}, console)


def list_words(console: Console) -> None:
    """Print the words that a prompt of the user's own may have."""
    words = load(drafters=()).tokenizer.words
    say(" ".join(word for word in words if _shown(word) == word), console)


def _prompts(options: RaceOptions, model: Any) -> dict[str, list[list[int]]]:
    """Return the prompts by domain."""
    count = options.prompts or MOST_PROMPTS
    if options.model == SMOLLM:
        from dspark_mini.appendix.smollm.prompts import domain_questions

        asked = {domain: domain_questions(domain, count) for domain in options.domains}
        asked = asked if options.prompt is None else {OWN: [options.prompt] * count}
        return {domain: [model.tokenizer.question(text) for text in texts] for domain, texts in asked.items()}
    if options.prompt is None:
        return {domain: domain_prompts(model.tokenizer, domain, count, options.seed) for domain in options.domains}
    try:
        return {OWN: [model.tokenizer.encode(options.prompt)] * count}
    except ValueError as error:
        raise UserError(f"{error} `dspark-mini race --words` lists them.") from error


def _race_domain(
    options: RaceOptions, model: Any, domain: str, prompts: list[list[int]], console: Console, slowly: bool
) -> list[Run]:
    """Race on the prompts of a domain, and show the first; in slow motion only where that is asked for."""
    stream = [*domain.encode()]  # the same random numbers whichever other domains run
    texts = [time_methods(model, prompts[0], options, [*stream, 0])]
    what = _("your prompt") if domain == OWN else _("{domain}, first prompt", domain=domain)
    show_texts(what, prompts[0], texts[0], model.tokenizer.words, console, slowly)
    if slowly and options.html_file is not None:
        odds = odds_of_methods(model, prompts[0], options, [*stream, 0], texts[0])
        _write_page(options.html_file, what, prompts[0], texts[0], odds, model.tokenizer.words)
    deadline = time.monotonic() + RACE_SECONDS / (1 if domain == OWN else len(options.domains))
    if not enough(1, options, deadline):  # no progress bar: redrawing skews timings
        again = _("it again") if domain == OWN else _("more prompts")
        console.print(_("  (running {again} without showing the texts …)\n", again=again))
    while not enough(len(texts), options, deadline):
        texts.append(time_methods(model, prompts[len(texts)], options, [*stream, len(texts)]))
    return summarise(model, domain, prompts[: len(texts)], texts, options)


def legend() -> Text:
    """Explain the marks, which are distinct without colours and styles."""
    return Text.assemble(
        *("   ", ("^word", TARGET), _("        the target's own token, one per forward\n")),
        *("   ", ("word", ACCEPTED), _("         drafted and accepted\n")),
        *("   [", ("~word~", REJECTED), _(" +5]  drafted and rejected, together with the five drafts after it\n")),
    )


def round_text(round_: Round, words: Sequence[str]) -> Text:
    """Write a round: accepted drafts, the first rejected one with the number of others, the target's own token."""
    own = round_.emitted[round_.accepted :]
    rejected = [token for node, token in enumerate(round_.drafted) if node not in round_.path]
    text = Text()
    for token in round_.emitted[: round_.accepted]:
        text.append(_shown(words[token]), ACCEPTED).append(" ")
    if rejected and own:  # without a token of the target's the text ended, and nothing after its end was rejected
        others = f" +{len(rejected) - 1}" if len(rejected) > 1 else ""
        text.append("[").append(f"~{_shown(words[rejected[0]])}~", REJECTED).append(f"{others}] ")
    for token in own:
        text.append(f"^{_shown(words[token])}", TARGET).append(" ")
    return text


def _shown(word: str) -> str:
    """Write a word without breaking the line."""
    return {NEWLINE: "↵", INDENT: "⇥"}.get(word, word)


def show_texts(
    title: str,
    prompt: Sequence[int],
    texts: Mapping[str, Trace],
    words: Sequence[str],
    console: Console,
    slowly: bool = True,
) -> None:
    """Show the texts of all methods on one prompt, one after the other; a terminal can show them in slow motion.

    Args:
        title: Heading.
        prompt: Token ids of the prompt.
        texts: The texts by method.
        words: The vocabulary.
        console: Where to print.
        slowly: In slow motion, if it is a terminal.
    """
    slowdown = max(PLAIN_SECONDS / texts[PLAIN_NAME].duration, 1.0)
    slowly = slowly and console.is_terminal
    pace = _(", shown {slowdown:.0f} times slower than it ran", slowdown=slowdown) if slowly else ""
    console.print(Text(f"{title}{pace}\n", "bold"), soft_wrap=True)
    console.print(_indented(Text(" ".join(_shown(words[token]) for token in prompt) + " …")))
    console.print()
    for method, text in texts.items():
        if slowly:
            _show_slowly(method, text, words, console, slowdown)
        else:
            console.print(_progress(method, text, len(text.rounds), words))
        console.print()


def _show_slowly(method: str, text: Trace, words: Sequence[str], console: Console, slowdown: float) -> None:
    """Redraw a text after each of its rounds."""
    width = console.width - 3  # the ^C that a terminal prints must not begin a new line, which the next redraw misses
    live = Live(console=console, auto_refresh=False, vertical_overflow="visible")
    with _interrupts_held() as raise_interrupt, live:
        for count in _paced(text.rounds, slowdown):
            live.update(Constrain(_progress(method, text, count, words), width), refresh=True)
            raise_interrupt()


@contextmanager
def _interrupts_held() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back until the yielded function is called: in the middle of a redraw it would leave a text twice."""
    pressed: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda signum, frame: pressed.append(signum))

    def raise_interrupt() -> None:
        if pressed:
            raise KeyboardInterrupt

    try:
        yield raise_interrupt
    finally:
        signal.signal(signal.SIGINT, handler)
    raise_interrupt()


def _progress(method: str, text: Trace, count: int, words: Sequence[str]) -> Group:
    """Write the first rounds of a text, under a line with their tokens and time."""
    rounds = text.rounds[:count]
    tokens = sum(len(r.emitted) for r in rounds)
    counts = _(
        ": {tokens} in {rounds}, {ms:.0f} ms",
        tokens=_("1 token") if tokens == 1 else _("{count} tokens", count=tokens),
        rounds=_("1 round") if count == 1 else _("{count} rounds", count=count),
        ms=1000 * sum(r.duration for r in rounds),
    )
    return Group(Text.assemble((method, "bold"), counts), _indented(Text().join(round_text(r, words) for r in rounds)))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _paced(rounds: Sequence[Round], slowdown: float) -> Iterator[int]:
    """Yield the number of finished rounds, each when its time has come."""
    due = time.monotonic()
    for count, round_ in enumerate(rounds, start=1):
        due += slowdown * round_.duration
        time.sleep(max(due - time.monotonic(), 0.0))
        yield count


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn an error of the system into a UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{error.filename} cannot be written: {error.strerror}.") from error


def _write_page(
    path: Path,
    title: str,
    prompt: Sequence[int],
    texts: Mapping[str, Trace],
    odds: Mapping[str, Sequence[RoundOdds]],
    words: Sequence[str],
) -> None:
    """Write the page on which the texts of one prompt can be played and opened."""
    from dspark_mini.viz.explore import explore  # matplotlib takes a while to import

    page = explore(texts, words, prompt, odds, title)
    with file_errors(), atomic_write(path) as part:
        part.write_text(page.html, "utf-8")


def _write_files(options: RaceOptions, results: Mapping[str, Any], console: Console) -> None:
    """Write the JSON file and the picture, each atomically."""
    with file_errors():
        if options.json_file is not None:
            with atomic_write(options.json_file) as part:
                part.write_text(json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
        if options.picture_file is not None:
            from dspark_mini.viz.race import save_race  # matplotlib takes a while to import

            with atomic_write(options.picture_file) as part:
                save_race(results["runs"], part, options.picture_file.suffix.lower()[1:])
    for path in filter(None, (options.json_file, options.picture_file, options.html_file)):
        console.print(f"written: {escape(str(path))}", soft_wrap=True)
