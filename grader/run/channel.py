"""The two pipes to a child. It may send anything, so every wait has a deadline and every message a size limit."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError, wait
from typing import Any, Protocol

from grader.run.child.wire import MAX_REPLY, WireError, unpack

END_SECONDS = 1.0  # how long a pipe whose other side has ended is waited for
READ_BYTES, WRITE_BYTES = 1 << 20, 1 << 16


class ChildDied(Exception):
    """The child ended, or sent something that is not a message."""


class ChildTooSlow(Exception):
    """The child did not answer in time."""


class Pipes(Protocol):
    """A process's standard input and output. Deadlines are points of time.monotonic()."""

    def write(self, data: bytes, deadline: float) -> None:
        """Write all of it, for as long as the child keeps reading."""
        ...

    def read(self, deadline: float) -> bytes:
        """Read what is there, at least a byte; nothing at the end."""
        ...

    def is_empty(self) -> bool:
        """Tell whether the child's side is open and nothing has come."""
        ...

    def close(self) -> None:
        """Close the pipes of a process that has ended."""
        ...


class Channel:
    """Messages to a child and back."""

    def __init__(self, pipes: Pipes) -> None:
        self.pipes = pipes
        self.buffer, self.taken = bytearray(), 0  # bytes of all messages so far

    def send(self, data: bytes, deadline: float) -> None:
        """Write messages that packed() has written down."""
        self.pipes.write(data, deadline)

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
            data = self.pipes.read(deadline)
            if not data:
                raise ChildDied
            self.buffer += data

    def is_quiet(self) -> bool:
        """Tell whether the pipe is empty and open: nothing has come that was not asked for."""
        return not self.buffer and self.pipes.is_empty()

    def close(self) -> None:
        """Close the pipes."""
        self.pipes.close()


class ThreadPipes:
    """Pipes that threads wait for, which works on every system; on Windows nothing else does."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout
        self.writing: Future[None] | None = None
        self.reading = self._begin_to_read()  # always one step ahead, so that what nobody asked for is noticed

    def write(self, data: bytes, deadline: float) -> None:
        """Write all of it, for as long as the child keeps reading."""
        self.writing = _in_thread(lambda: _write_all(self.writer.fileno(), data))
        _result(self.writing, deadline)

    def read(self, deadline: float) -> bytes:
        """Read what is there, at least a byte; nothing at the end."""
        data: bytes = _result(self.reading, deadline)
        self.reading = self._begin_to_read()
        return data

    def is_empty(self) -> bool:
        """Tell whether the child's side is open and nothing has come, as far as is known already."""
        return not self.reading.done()

    def close(self) -> None:
        """Close the pipes of a process that has ended, but for one that another process still holds."""
        works: tuple[Future[Any] | None, ...] = (self.writing, self.reading)
        for file, work in zip((self.writer, self.reader), works):
            if work is None or wait([work], END_SECONDS).done:  # else a thread would use a descriptor that is gone
                with contextlib.suppress(OSError):
                    file.close()

    def _begin_to_read(self) -> Future[bytes]:
        return _in_thread(lambda: os.read(self.reader.fileno(), READ_BYTES))


def _in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Do something in a thread that nobody has to wait for, not even the end of Python."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _result(work: Future[Any], deadline: float) -> Any:
    try:
        return work.result(max(0.0, deadline - time.monotonic()))
    except TimeoutError:  # before OSError, of which it is one since Python 3.11
        raise ChildTooSlow from None
    except OSError as error:
        raise ChildDied from error


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left[:WRITE_BYTES]) :]
