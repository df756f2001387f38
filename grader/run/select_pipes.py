"""The pipes to a sandboxed child, waited for without threads: what it has sent is seen at once. POSIX only."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time

from grader.run.channel import READ_BYTES, WRITE_BYTES, ChildDied, ChildTooSlow


class SelectPipes:
    """Pipes that the system is asked about."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout
        os.set_blocking(self.writer.fileno(), False)
        self.may_write, self.may_read = selectors.DefaultSelector(), selectors.DefaultSelector()
        self.may_write.register(self.writer, selectors.EVENT_WRITE)
        self.may_read.register(self.reader, selectors.EVENT_READ)

    def write(self, data: bytes, deadline: float) -> None:
        """Write all of it, for as long as the child keeps reading."""
        left = memoryview(data)
        while left:
            if not self.may_write.select(max(0.0, deadline - time.monotonic())):
                raise ChildTooSlow
            try:
                left = left[os.write(self.writer.fileno(), left[:WRITE_BYTES]) :]
            except OSError as error:
                raise ChildDied from error

    def read(self, deadline: float) -> bytes:
        """Read what is there, at least a byte; nothing at the end."""
        if not self.may_read.select(max(0.0, deadline - time.monotonic())):
            raise ChildTooSlow
        return os.read(self.reader.fileno(), READ_BYTES)

    def is_empty(self) -> bool:
        """Tell whether the child's side is open and nothing has come."""
        return not self.may_read.select(0)

    def close(self) -> None:
        """Close the pipes."""
        for it in (self.may_write, self.may_read, self.writer, self.reader):
            with contextlib.suppress(OSError):
                it.close()
