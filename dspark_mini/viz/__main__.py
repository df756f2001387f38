"""Write the pictures of the README: ``python -m dspark_mini.viz FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

from dspark_mini.viz.overview import readme_picture


def main() -> None:
    """Write both pictures, for a light page and for a dark one."""
    parser = argparse.ArgumentParser(prog="python -m dspark_mini.viz", description="Write the pictures of the README.")
    parser.add_argument("folder", type=Path, help="folder for overview-light.svg and overview-dark.svg")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    readme_picture(folder / "overview-light.svg")
    readme_picture(folder / "overview-dark.svg", dark=True)


if __name__ == "__main__":
    main()
