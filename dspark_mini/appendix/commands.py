"""The commands of the appendix: `dspark-mini appendix train` and `reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dspark_mini.appendix.devices import require_torch
from dspark_mini.workspace import UserError

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="The models in torch: train them, and see what the paper saw."
)
Folder = Annotated[Path, typer.Option("--folder", help="Where checkpoints and weights lie.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or mps.")]
MADE, EVIDENCE = Path("build/appendix"), Path("build/evidence")


@app.command()
def train(
    folder: Folder = MADE,
    device: Device = "cpu",
    everything: Annotated[bool, typer.Option("--all", help="Also the drafters that only the evidence needs.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Only this drafter; can be given again.")] = None,
    faster: Annotated[int, typer.Option(min=1, help="Divide all steps, for a quick try.")] = 1,
) -> None:
    """Train the target and its drafters; stopped, the same command goes on."""
    from dspark_mini.backends import plain_words

    require_torch(device)
    from dspark_mini.appendix import plan

    jobs = plan.shipped() + (plan.evidence() if everything or only else [])
    unknown = set(only or ()) - {job.name for job in jobs}
    if unknown:
        raise UserError(f"There is no drafter {min(unknown)!r}; there are {', '.join(job.name for job in jobs)}.")
    chosen = [job for job in jobs if not only or job.name in only]
    with plain_words(device):
        plan.train(folder, chosen, device, typer.echo, faster)


@app.command()
def reproduce(
    folder: Folder = MADE,
    into: Annotated[Path, typer.Option(help="The folder for evidence.json and the pictures.")] = EVIDENCE,
    prompts: Annotated[int, typer.Option(min=2, help="Prompts of each domain.")] = 100,
    only: Annotated[list[str] | None, typer.Option(help="Only this one, such as table_1; can be given again.")] = None,
) -> None:
    """Repeat the paper's experiments on the small models; what is there already is kept."""
    from dspark_mini.backends import plain_words, restart_on_one_thread

    restart_on_one_thread()
    require_torch("cpu")
    from dspark_mini.appendix import evidence

    with plain_words("cpu"):
        settings = evidence.Settings(folder, prompts, only=tuple(only or evidence.EXPERIMENTS))
        with evidence.progress_line() as progress:
            evidence.reproduce(into, settings, progress)
    typer.echo(f"{into / 'evidence.json'} is written, with a picture for each experiment beside it.")
