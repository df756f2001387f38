"""The race on the terminal: who wrote which word, in slow motion; then the table and the files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from dspark_mini.backends import hardware, load_model, model_errors
from dspark_mini.corpus import DOMAINS, INDENT, NEWLINE
from dspark_mini.engine import Round
from dspark_mini.files import atomic_write
from dspark_mini.lm import prompts
from dspark_mini.race import PLAIN_NAME, Lap, Rules, Run, drafter_of, run_laps, summarise, verify_ratio
from dspark_mini.race_table import closing_lines, result_table
from dspark_mini.workspace import UserError

SHOWN_SECONDS = 1.5  # that plain decoding takes on the screen
PICTURES = (".png", ".svg")
OWN = "own"  # the domain's name for a prompt that the user wrote
ACCEPTED, REJECTED, TARGET = "green underline", "red strike", "bold"


@dataclass(frozen=True)
class Wishes:
    """What the user asked for.

    Raises:
        ValueError: an unknown domain, or a file that could not be written in the end.
    """

    rules: Rules = field(default_factory=Rules)
    domains: tuple[str, ...] = DOMAINS
    count: int = 4  # prompts a domain
    prompt: str | None = None
    backend: str = "numpy"
    device: str = "cpu"
    compiled: bool = False
    json_file: Path | None = None
    picture_file: Path | None = None

    def __post_init__(self) -> None:
        for domain in self.domains:
            if domain not in DOMAINS:
                raise ValueError(f"domain is {domain!r}; it must be one of {', '.join(DOMAINS)}.")
        for path in (self.json_file, self.picture_file):
            if path is not None and not path.parent.is_dir():
                raise ValueError(f"{path} cannot be written, because there is no folder {path.parent}.")
            if path is not None and path.is_dir():
                raise ValueError(f"{path} cannot be written, because it is a folder.")
        if self.picture_file is not None and len(self.rules.order) == 1:
            raise ValueError("picture shows drafters, so plain decoding alone has none.")
        if self.picture_file is not None and self.picture_file.suffix.lower() not in PICTURES:
            raise ValueError(f"{self.picture_file} must end in {' or '.join(PICTURES)}.")


def hold_race(wishes: Wishes, console: Console) -> None:
    """Race, show it, and write what was asked for.

    Args:
        wishes: what the user asked for.
        console: a terminal gets slow motion; anything else the same words without waiting.

    Raises:
        UserError: something that cannot be had, in one sentence.
    """
    console.print(legend())
    names = sorted({drafter_of(name) for name in wishes.rules.order[1:]})
    model = load_model(wishes.backend, wishes.device, names, wishes.compiled)
    machine = hardware(wishes.backend, wishes.device, model)
    runs: list[Run] = []
    with model_errors(wishes.device):
        texts = _texts(wishes, model)
        for domain, mine in texts.items():
            runs += _race_domain(wishes.rules, model, domain, mine, console)
        ratio = verify_ratio(model, next(iter(texts.values()))[0])
    console.print(result_table(runs))
    for line in closing_lines(runs, ratio, machine):
        console.print(escape(line), soft_wrap=True)
    _write_files(wishes, {"hardware": machine, "verify_ratio": ratio, "runs": runs}, console)


def _texts(wishes: Wishes, model: Any) -> dict[str, list[list[int]]]:
    """Return the prompts by domain."""
    if wishes.prompt is not None:
        return {OWN: [model.tokenizer.encode(wishes.prompt)] * wishes.count}
    return {name: prompts(model.tokenizer, name, wishes.count, wishes.rules.seed) for name in wishes.domains}


def _race_domain(rules: Rules, model: Any, domain: str, texts: list[list[int]], console: Console) -> list[Run]:
    """Race on the prompts of a domain, and show the first of them."""
    stream = [*domain.encode()]  # the coins of one domain, whichever others there are
    run_laps(model, texts[0], replace(rules, tokens=8), [*stream, 0])  # not counted: memory and clocks warm up
    laps = [run_laps(model, texts[0], rules, [*stream, 0])]
    show_laps(
        f"{domain}, the first of {len(texts)} {'tries' if domain == OWN else 'prompts'}",
        texts[0],
        laps[0],
        model.tokenizer.words,
        console,
    )
    if len(texts) > 1:  # no moving sign of it: drawing one would take time from those who are measured
        console.print(f"  and {len(texts) - 1} more, not shown …\n")
    laps += [run_laps(model, text, rules, [*stream, i]) for i, text in enumerate(texts[1:], start=1)]
    return summarise(model, domain, texts, laps, rules)


def legend() -> Text:
    """Explain the marks of the words; they can be told apart without colour and without styles."""
    return Text.assemble(
        *("   ", ("^word", TARGET), "       the target's own token: one forward each\n"),
        *("   ", ("word", ACCEPTED), "        drafted, and accepted\n"),
        *("   [", ("~word~", REJECTED), " +5]  drafted, and rejected, and with it five drafts behind it\n"),
    )


def round_text(this: Round, words: Sequence[str]) -> Text:
    """Write a round: accepted drafts, the rejected one and how many stood behind it, the target's own token."""
    own = this.emitted[this.accepted :]
    refused = [token for node, token in enumerate(this.drafted) if node not in this.path]
    lost = refused if own else []  # behind the end of the text nothing was decided
    text = Text()
    for token in this.emitted[: this.accepted]:
        text.append(_shown(token, words), ACCEPTED).append(" ")
    if lost:
        behind = f" +{len(lost) - 1}" if len(lost) > 1 else ""
        text.append("[").append(f"~{_shown(lost[0], words)}~", REJECTED).append(f"{behind}] ")
    for token in own:
        text.append(f"^{_shown(token, words)}", TARGET).append(" ")
    return text


def _shown(token: int, words: Sequence[str]) -> str:
    """Write a token so that it stays on the line."""
    return {NEWLINE: "↵", INDENT: "⇥"}.get(words[token], words[token])


def show_laps(
    title: str, prompt: Sequence[int], laps: Mapping[str, Lap], words: Sequence[str], console: Console
) -> None:
    """Show the texts of all methods on one prompt, method after method, each at its own pace, slowed down alike.

    Args:
        title: what to write above.
        prompt: its tokens.
        laps: the laps by method.
        words: of the tokens.
        console: only a terminal is made to wait.
    """
    slower = max(SHOWN_SECONDS / laps[PLAIN_NAME].seconds, 1.0)
    pace = f", shown {slower:.0f} times slower than it ran" if console.is_terminal else ""
    console.print(Text(f"{title}{pace}\n", "bold"), soft_wrap=True)
    console.print(_indented(Text(" ".join(_shown(token, words) for token in prompt) + " …")))
    console.print()
    for method, lap in laps.items():
        whole_text = _lap_text(method, lap, len(lap.trace.rounds), words)
        if console.is_terminal:
            with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
                for count in _paced(lap.trace.rounds, slower):
                    live.update(_lap_text(method, lap, count, words), refresh=True)
                live.update(whole_text, refresh=True)
        else:
            console.print(whole_text)
        console.print()


def _lap_text(method: str, lap: Lap, count: int, words: Sequence[str]) -> Group:
    """Write the first rounds of a lap, and above them what they made and took."""
    rounds = lap.trace.rounds[:count]
    tokens = sum(len(this.emitted) for this in rounds)
    taken = lap.seconds if count == len(lap.trace.rounds) else sum(sum(this.seconds.values()) for this in rounds)
    title = Text.assemble((method, "bold"), f": {tokens} tokens in {count} rounds, {1000 * taken:.0f} ms")
    return Group(title, _indented(Text().join(round_text(this, words) for this in rounds)))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _paced(rounds: Sequence[Round], slower: float) -> Iterator[int]:
    """Count the rounds, each when it is due."""
    due = time.monotonic()
    for count, this in enumerate(rounds, start=1):
        due += slower * sum(this.seconds.values())
        time.sleep(max(due - time.monotonic(), 0.0))
        yield count


def _write_files(wishes: Wishes, result: Mapping[str, Any], console: Console) -> None:
    """Write the JSON and the picture, each whole or not at all."""
    try:
        if wishes.json_file is not None:
            with atomic_write(wishes.json_file) as part:
                part.write_text(json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
        if wishes.picture_file is not None:
            from dspark_mini.viz.race import save_race  # the pictures take a while to load

            with atomic_write(wishes.picture_file) as part:
                save_race(result["runs"], part, wishes.picture_file.suffix.lower()[1:])
    except OSError as error:
        raise UserError(f"{error.filename} cannot be written: {error.strerror}.") from error
    for path in filter(None, (wishes.json_file, wishes.picture_file)):
        console.print(f"written: {escape(str(path))}", soft_wrap=True)
