"""What the caches of all models share: rows in numbered slots, so that a rollback only moves the end."""

from __future__ import annotations

from collections.abc import Sequence

from dspark_mini.kinds import whole


class StaticCache:
    """A cache with a fixed number of slots, one per token.

    Attributes:
        slots: The most rows.
        rows: The number of rows in use; what lies in later slots is left over.
    """

    def __init__(self, slots: int) -> None:
        self.slots, self.rows = slots, 0

    @property
    def free(self) -> int:
        """The number of rows that can still be added."""
        return self.slots - self.rows

    def take(self, count: int) -> slice:
        """Reserve the next slots.

        Raises:
            ValueError: The cache has too few free slots.
        """
        if count > self.free:
            raise ValueError(f"The text has {self.rows + count} tokens, but the cache has {self.slots} slots.")
        self.rows += count
        return slice(self.rows - count, self.rows)

    def drop(self, rows: int) -> None:
        """Drop the last rows.

        Raises:
            ValueError: Fewer than 0 rows, or more than the cache holds.
        """
        self.rows -= whole("rows", rows, 0, self.rows)

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        """Of the last rows, keep those at the chosen offsets and drop the others.

        Args:
            count: The number of rows to choose from, counted from the end.
            chosen: Increasing offsets into these rows, from 0 to count − 1.

        Raises:
            ValueError: More rows than the cache holds, or offsets that do not increase or lie outside.
        """
        start, offsets = self.rows - whole("count", count, 0, self.rows), list(chosen)
        if offsets != sorted(set(offsets) & set(range(count))):
            raise ValueError(f"chosen is {offsets}; it must rise within 0..{count - 1}.")
        self.rows = start + len(offsets)
        if offsets != list(range(len(offsets))):
            self.move([start + offset for offset in offsets], slice(start, self.rows))

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        raise NotImplementedError
