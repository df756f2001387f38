"""The commands of the appendix: `dspark-mini appendix train` and `reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    require_torch(device)
    from dspark_mini.appendix import plan

    jobs = plan.shipped() + (plan.evidence() if everything or only else [])
    unknown = set(only or ()) - {job.name for job in jobs}
    if unknown:
        raise UserError(f"There is no drafter {min(unknown)!r}; there are {', '.join(job.name for job in jobs)}.")
    chosen = [job for job in jobs if not only or job.name in only]
    try:
        plan.train(folder, chosen, device, typer.echo, faster)
    except ValueError as error:
        raise UserError(str(error)) from error


@app.command()
def reproduce(
    folder: Folder = MADE,
    into: Annotated[Path, typer.Option(help="The folder for evidence.json and the pictures.")] = EVIDENCE,
    prompts: Annotated[int, typer.Option(min=1, help="Prompts of each domain.")] = 100,
    only: Annotated[list[str] | None, typer.Option(help="Only this one, such as table_1; can be given again.")] = None,
) -> None:
    """Repeat the paper's experiments on the small models; what is there already is kept."""
    require_torch("cpu")
    from dspark_mini.backends import restart_on_one_thread

    restart_on_one_thread()
    from dspark_mini.appendix import evidence

    try:
        settings = evidence.Settings(folder, prompts, only=tuple(only or evidence.EXPERIMENTS))
        with evidence.progress_line() as progress:
            evidence.reproduce(into, settings, progress)
    except ValueError as error:
        raise UserError(str(error)) from error
    typer.echo(f"{into / 'evidence.json'} is written, with a picture for each experiment beside it.")


def require_torch(device: str) -> None:
    """Refuse what this machine cannot do.

    Raises:
        UserError: no torch, or no such device.
    """
    try:
        import torch
    except ImportError:
        raise UserError('This needs torch: `python -m pip install -e ".[torch]"` installs it.') from None
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device not in here:
        raise UserError(f"The device is {device!r}; it must be one of {', '.join(here)}.")
    if not here[device]:
        raise UserError(f"This machine has no {device} device that torch can use; --device cpu works everywhere.")
