"""`dspark-mini race`: its options on the command line, and what it says where solutions are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from dspark_mini.corpus import DOMAINS
from dspark_mini.terminal import WorkFolder, console, say
from dspark_mini.workspace import WORK, UserError

if TYPE_CHECKING:
    from dspark_mini.race_options import RaceOptions

METHOD = (
    "autoregressive, dflash, dspark, dspark-gated, dspark-rnn, domino, dspark-tree or (greedy only) policy; of smollm2 "
    "lookup, dspark or lookup+dspark; repeatable. Plain decoding always runs."
)
WORDS = "List the words for --prompt, and do nothing else."
MINE = "Run on your own functions, greedily by default, with your policy of 10.1."
PAGE = "Write a page to this file on which the first texts can be played."


def _list_words(wanted: bool) -> None:
    from dspark_mini.race_view import list_words

    if wanted:
        list_words(console)
        raise typer.Exit


Model = Annotated[str, Option(help="small; or smollm2, a real pretrained model that `appendix smollm` installs.")]
Domains = Annotated[list[str] | None, Option("--domain", help="math, code or chat; repeatable. Default: all.")]
Prompts = Annotated[int | None, Option(min=1, help="Prompts per domain. Default: as many as fit into about 20 s.")]
Prompt = Annotated[str | None, Option(help="Your own prompt instead, such as '<math> add 1 2 3 + 4 5 6 .'")]
Words = Annotated[bool, Option("--words", callback=_list_words, help=WORDS)]
Methods = Annotated[list[str] | None, Option("--method", help=METHOD)]
Mine = Annotated[bool, Option("--mine", help=MINE)]
Temperature = Annotated[
    float | None, Option(min=0.0, help="Sampling temperature; 0 is greedy. Default: 1; 0 with --mine or smollm2.")
]
Tokens = Annotated[int, Option(min=1, max=256, help="Most tokens per text.")]
Seed = Annotated[int, Option(min=0, help="Seed of prompts and sampling.")]
Backend = Annotated[str, Option(help="numpy or torch.")]
Device = Annotated[str, Option(help="cpu; with torch also cuda or mps.")]
Compiled = Annotated[bool, Option("--compile", help="Compile the target's forward; torch only.")]
JsonFile = Annotated[Path | None, Option("--json", help="Write all results to this file.")]
Picture = Annotated[Path | None, Option("--picture", help="Draw them in a .png or .svg file.")]
Page = Annotated[Path | None, Option("--html", help=PAGE)]


def race(
    model: Model = "small",
    domains: Domains = None,
    prompts: Prompts = None,
    prompt: Prompt = None,
    words: Words = False,
    methods: Methods = None,
    mine: Mine = False,
    folder: WorkFolder = WORK,
    temperature: Temperature = None,
    tokens: Tokens = 160,
    seed: Seed = 0,
    backend: Backend = "numpy",
    device: Device = "cpu",
    compiled: Compiled = False,
    json_file: JsonFile = None,
    picture_file: Picture = None,
    html_file: Page = None,
) -> None:
    """Race plain decoding against the drafters of the small model, or of a real one."""
    from dspark_mini.backends import model_errors, restart_on_one_thread

    restart_on_one_thread()
    from dspark_mini.race_options import SMOLLM, SMOLLM_DRAFTERS, RaceOptions, defaults
    from dspark_mini.race_view import run_race

    if model == SMOLLM:
        if mine or compiled or device != "cpu":
            raise UserError("--model smollm2 runs in torch on the CPU, without --mine, --device and --compile.")
        methods, prompts, backend = methods or list(SMOLLM_DRAFTERS), prompts or 1, "torch"
        temperature = temperature or 0.0
    what = (*defaults(methods, temperature, mine), tokens, seed, tuple(domains or DOMAINS), prompts, prompt)
    with model_errors(device):
        options = RaceOptions(*what, backend, device, compiled, None, json_file, picture_file, html_file, model)
    if mine:
        options = _on_own_functions(options, folder)
    with _missing_solutions():
        run_race(options, console)


@contextmanager
def _missing_solutions() -> Iterator[None]:
    """Explain a race that runs into a stub of a learner's bundle."""
    try:
        yield
    except NotImplementedError as error:
        if "lesson" not in str(error):  # only such a stub mentions a lesson
            raise
        raise UserError(
            "The race needs the reference solutions, which this copy of dspark_mini does not contain; "
            "`dspark-mini race --mine` runs on your own functions."
        ) from None


def _on_own_functions(options: RaceOptions, folder: Path) -> RaceOptions:
    """Let a race run on the learner's functions, and say which these are."""
    try:
        from grader.own_functions import on_own_functions
    except ModuleNotFoundError:
        raise UserError(
            "`--mine` needs the directory grader/, which the wheel does not contain; install from the repository."
        ) from None
    options, lines = on_own_functions(options, folder)
    for line in lines:
        say(line)
    return options
