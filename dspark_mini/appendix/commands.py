"""The commands `dspark-mini appendix train`, `reproduce`, `bench`, `report`, `inspect` and `smollm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dspark_mini.appendix.devices import require_torch
from dspark_mini.appendix.smollm.commands import app as smollm
from dspark_mini.workspace import UserError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train the models in torch, and repeat the paper's experiments on them.",
)
Folder = Annotated[Path, typer.Option("--folder", help="Directory of checkpoints and weights.")]
app.add_typer(smollm, name="smollm")
WEIGHTS, EVIDENCE = Path("build/appendix"), Path("build/evidence")


@app.command()
def train(
    folder: Folder = WEIGHTS,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    everything: Annotated[
        bool, typer.Option("--all", help="Also train the drafters that `reproduce` compares.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(help="Train only this drafter; can be repeated.")] = None,
    faster: Annotated[int, typer.Option(min=1, help="Divide all training steps by this, for a quick try.")] = 1,
) -> None:
    """Train the target and its drafters; run it again to continue after a stop."""
    from dspark_mini.backends import model_errors

    require_torch(device)
    from dspark_mini.appendix import plan

    jobs = plan.shipped() + (plan.evidence() if everything or only else [])
    names = [job.name for job in jobs]
    unknown = sorted(set(only or ()) - set(names))
    if unknown:
        raise UserError(f"There is no drafter {unknown[0]!r}; --only takes {', '.join(names)}.")
    with model_errors(device):
        plan.train(folder, [job for job in jobs if not only or job.name in only], device, typer.echo, faster)


@app.command()
def reproduce(
    folder: Folder = WEIGHTS,
    into: Annotated[Path, typer.Option(help="Directory for evidence.json and the pictures.")] = EVIDENCE,
    prompts: Annotated[int, typer.Option(min=2, help="Prompts per domain.")] = 100,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only this experiment, such as table_1; can be repeated.")
    ] = None,
) -> None:
    """Repeat the paper's experiments on the small models; results that are already there are kept."""
    from dspark_mini.backends import model_errors, restart_on_one_thread

    restart_on_one_thread()
    require_torch("cpu")
    from dspark_mini.appendix.evidence import experiments
    from dspark_mini.appendix.evidence.settings import EXPERIMENTS, Settings

    with model_errors("cpu"):
        experiments.reproduce(into, Settings(folder, prompts, only=tuple(only or EXPERIMENTS)), typer.echo)
    typer.echo(f"Results are in {into / 'evidence.json'}, with a picture of each experiment next to it.")


@app.command()
def bench(
    out: Annotated[Path, typer.Option(help="Directory for bench.json and the pictures.")] = Path("build/bench"),
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="About how long it may take. Default: 10, and 2 on the CPU.")
    ] = None,
) -> None:
    """Measure all that a GPU is needed for: race, equal texts, sampling's law, forwards, and the scheduler."""
    from dspark_mini.backends import model_errors, restart_on_one_thread

    restart_on_one_thread()
    require_torch(device)
    from dspark_mini.appendix.bench import measure

    with model_errors(device):
        measure(out, device, (2.0 if device == "cpu" else 10.0) if minutes is None else minutes, typer.echo)
    typer.echo(f"Results are in {out / 'bench.json'}, with pictures for light and dark pages next to it.")


@app.command()
def report(
    results: Annotated[
        Path | None, typer.Option(help="Directory of evidence.json, race-*.json and bench*.json. Default: the kit's.")
    ] = None,
    docs: Annotated[Path, typer.Option(help="Text with the marks between which to write.")] = Path("docs/results.md"),
    check: Annotated[bool, typer.Option("--check", help="Only say whether the text agrees with the results.")] = False,
) -> None:
    """Write what was measured into docs/results.md, from the JSON files that hold it."""
    require_torch("cpu")
    from dspark_mini.appendix.evidence.documents import RESULTS, updated_text, write_report

    try:
        if not check:
            write_report(results or RESULTS, docs)
        elif updated_text(results or RESULTS, docs) != docs.read_text(encoding="utf-8"):
            raise UserError(f"{docs} differs from the results; `dspark-mini appendix report` updates it.")
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from error
    typer.echo(f"{docs} agrees with the results.")


@app.command()
def inspect(
    folder: Annotated[Path, typer.Argument(help="Drafter of DeepSpec or Speculators, or Llama or Qwen3 target.")],
    context: Annotated[int, typer.Option(min=0, help="Tokens of the text before the round.")] = 1024,
) -> None:
    """Say what a checkpoint is, what it lacks, and what a round costs in bytes and multiply-adds."""
    from dspark_mini.backends import model_errors

    require_torch("cpu")
    from dspark_mini.appendix.inspection import lines

    with model_errors("cpu"):
        for line in lines(folder, context):
            typer.echo(line)
