"""The two pipes to a child. It may send anything, so every wait has a deadline and every message a size limit."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from typing import Any

from grader.run.child.wire import MAX_REPLY, WireError, unpack


class ChildDied(Exception):
    """The child ended, or sent something that is not a message."""


class ChildTooSlow(Exception):
    """The child did not answer in time."""


class Channel:
    """Messages to a child and back. Deadlines are points of time.monotonic()."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout
        self.buffer, self.taken = bytearray(), 0  # bytes of all messages so far
        os.set_blocking(self.writer.fileno(), False)
        self.may_write, self.may_read = selectors.DefaultSelector(), selectors.DefaultSelector()
        self.may_write.register(self.writer, selectors.EVENT_WRITE)
        self.may_read.register(self.reader, selectors.EVENT_READ)

    def send(self, data: bytes, deadline: float) -> None:
        """Write messages that packed() has written down, in pieces, for as long as the child keeps reading."""
        left = memoryview(data)
        while left:
            if not self.may_write.select(max(0.0, deadline - time.monotonic())):
                raise ChildTooSlow
            try:
                left = left[os.write(self.writer.fileno(), left[: 1 << 16]) :]
            except OSError as error:
                raise ChildDied from error

    def receive(self, deadline: float) -> dict[str, Any]:
        """Read one message, which is always a dict."""
        while True:
            if time.monotonic() >= deadline:  # also where the child keeps talking
                raise ChildTooSlow
            try:
                message = unpack(self.buffer, MAX_REPLY)
            except WireError as error:
                raise ChildDied from error
            if message is not None:
                del self.buffer[: message[1]]
                self.taken += message[1]
                if not isinstance(message[0], dict):
                    raise ChildDied
                return message[0]
            if not self.may_read.select(max(0.0, deadline - time.monotonic())):
                raise ChildTooSlow
            data = os.read(self.reader.fileno(), 1 << 20)
            if not data:
                raise ChildDied
            self.buffer += data

    def is_quiet(self) -> bool:
        """Tell whether the pipe is empty and open: nothing has come that was not asked for."""
        return not self.buffer and not self.may_read.select(0)

    def close(self) -> None:
        """Close the pipes."""
        for it in (self.may_write, self.may_read, self.writer, self.reader):
            with contextlib.suppress(OSError):
                it.close()
