"""Limits of a learner's code: of time, by the means that the system has, and of memory and files, where it knows them.

On Windows there are neither timers that interrupt nor limits of resources; there a thread watches the clock.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

WALL_FACTOR = 3  # by the clock on the wall a call may take longer, since other processes share the machine
RING_SECONDS = 0.1  # an alarm rings again after that time, in case the function swallows the exception
RESOURCES = {"AS": 1 << 30, "CPU": 600, "FSIZE": 1 << 20, "NOFILE": 64, "CORE": 0}  # bytes, s, bytes, files, bytes

SetAlarms = Callable[[float], None]


class TimeLimit(BaseException):
    """Raised in the middle of a call that takes too long; no `except Exception` swallows it."""


def limit_resources() -> None:
    """Bound memory, processor time, file size and open files, where the system knows such limits."""
    try:
        import resource
    except ImportError:
        return
    for name, most in RESOURCES.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS knows the name of a limit that it does not set
            resource.setrlimit(kind, (limit, limit))


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimit after some seconds of work, if this is the main thread."""
    with alarms() as set_alarms:
        set_alarms(seconds)
        yield


@contextlib.contextmanager
def alarms() -> Iterator[SetAlarms]:
    """Let alarms raise TimeLimit, if this is the main thread; in another one they never ring.

    Yields:
        A function that sets the alarms to so many seconds of work, and turns them off at 0. Work is processor time, so
        that a busy machine changes nothing; code that sleeps is interrupted after WALL_FACTOR times as long.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda seconds: None
        return
    with _timers() if hasattr(signal, "setitimer") else _watch() as set_alarms:
        yield set_alarms


@contextlib.contextmanager
def _timers() -> Iterator[SetAlarms]:
    before = {number: signal.signal(number, _on_alarm) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        yield _set_timers
    finally:
        _set_timers(0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_alarm(signum: int, frame: FrameType | None) -> None:
    raise TimeLimit


def _set_timers(seconds: float) -> None:
    for timer, limit in ((signal.ITIMER_PROF, seconds), (signal.ITIMER_REAL, WALL_FACTOR * seconds)):
        signal.setitimer(timer, limit, RING_SECONDS)


@contextlib.contextmanager
def _watch() -> Iterator[SetAlarms]:
    """Let a thread look at the clocks, and interrupt the main thread as Ctrl-C does."""
    watch = _Watch()
    before = signal.signal(signal.SIGINT, watch.on_interrupt)
    watch.start()
    try:
        yield watch.set_alarm
    finally:
        watch.stop()
        signal.signal(signal.SIGINT, before)


class _Watch(threading.Thread):
    """Interrupts the main thread from the moment on that is set, until another is."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._stopped, self._lock = threading.Event(), threading.Lock()
        self._ends: tuple[float, float] | None = None  # processor time, clock on the wall
        self._rang = False

    def set_alarm(self, seconds: float) -> None:
        """Ring after so many seconds of work, or never; once this returns, no earlier alarm rings."""
        self._ends = None
        with self._lock:
            self._rang = False
        if seconds:
            self._ends = time.process_time() + seconds, time.monotonic() + WALL_FACTOR * seconds

    def on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Tell an alarm from Ctrl-C."""
        raise TimeLimit if self._rang else KeyboardInterrupt

    def run(self) -> None:
        """Look at the clocks until stop()."""
        while not self._stopped.wait(RING_SECONDS):
            with self._lock:
                ends = self._ends
                if ends and (time.process_time() >= ends[0] or time.monotonic() >= ends[1]):
                    self._rang = True
                    _thread.interrupt_main(signal.SIGINT)

    def stop(self) -> None:
        """End the thread."""
        self._ends = None
        self._stopped.set()
        self.join()
