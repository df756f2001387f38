"""Write the pictures of the README: ``python -m dspark_mini.viz FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

from dspark_mini.lm import load, prompts
from dspark_mini.race import time_methods
from dspark_mini.race_options import RaceOptions
from dspark_mini.viz.animation import race_animation
from dspark_mini.viz.overview import readme_picture

OPTIONS = RaceOptions(("dflash", "dspark"), domains=("chat",), max_new_tokens=72)


def main() -> None:
    """Write each picture twice, for a light page and for a dark one; the race is run for it."""
    parser = argparse.ArgumentParser(prog="python -m dspark_mini.viz", description="Write the pictures of the README.")
    parser.add_argument("folder", type=Path, help="folder for overview-light.svg, race-light.svg and the dark ones")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    model = load(drafters=OPTIONS.methods)
    prompt = prompts(model.tokenizer, "chat", 1)[0]
    texts = [time_methods(model, prompt, OPTIONS, [*b"chat", 0]) for _ in range(2)][1]  # the first one warms up
    for name, dark in (("light", False), ("dark", True)):
        readme_picture(folder / f"overview-{name}.svg", dark)
        race_animation(texts, model.tokenizer.words, folder / f"race-{name}.svg", dark)


if __name__ == "__main__":
    main()
