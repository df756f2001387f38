"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Give a path to write to; what is written there takes the target's place at the end, and goes away on an error."""
    part = target.with_name(target.name + ".part")
    try:
        yield part
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
