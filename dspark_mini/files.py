"""Writing files atomically."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_write(target: Path) -> Iterator[Path]:
    """Yield a temporary path; it replaces the target when the block ends and is deleted if the block fails."""
    part = target.with_name(target.name + ".part")
    try:
        yield part
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
