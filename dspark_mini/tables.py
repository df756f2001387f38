"""Tables on the terminal, as every command shows them."""

from __future__ import annotations

from rich.table import Table


def plain_table(*headers: str) -> Table:
    """Return a table without lines, which folds a long name rather than cutting it."""
    table = Table(*headers, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    return table
