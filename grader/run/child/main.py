"""The child: load the learner's code, then answer calls until the grader hangs up."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any, BinaryIO

from grader.run.child.calling import Call, LocalCaller, Outcome
from grader.run.child.loader import new_namespace, run_piece
from grader.run.child.wire import MAX_REPLY, Opaque, WireError, packed, receive, send

FLAGS = ("changed", "timed_out", "changed_results")  # of an outcome
MAX_MESSAGE = 500  # characters
FLUSH_SECONDS = 0.05  # replies of quick calls travel together
LIMITS = {"AS": 1 << 30, "CPU": 600, "FSIZE": 1 << 20, "NOFILE": 64, "CORE": 0}  # bytes, seconds, bytes, files, bytes


def main(requests: BinaryIO, replies: BinaryIO) -> None:
    """Serve one submission.

    Args:
        requests: Messages from the grader: one with the code, then two per batch of calls, a header and the calls.
        replies: Messages back; each answers one call and repeats its number.
    """
    limit_resources()
    namespace = new_namespace()
    errors = load(receive(requests)["pieces"], namespace, replies)
    send(replies, {"loaded": errors, "defined": [name for name, value in namespace.items() if callable(value)]})
    while True:
        try:
            request, calls = receive(requests), receive(requests)
        except WireError:
            return
        answer(request, calls, namespace, replies)


def answer(request: dict[str, Any], calls: list[Any], namespace: dict[str, Any], replies: BinaryIO) -> None:
    """Make the calls of one request and reply to each in order, up to the first that hangs."""
    caller = LocalCaller(namespace[request["function"]], in_child=True)
    flushed = time.monotonic()
    outcomes = caller.each([Call(tuple(args), kwargs) for args, kwargs in calls])
    for number, outcome in enumerate(outcomes, request["number"]):
        replies.write(packed_reply(number, outcome))
        if time.monotonic() - flushed > FLUSH_SECONDS:
            replies.flush()
            flushed = time.monotonic()
    replies.flush()


def packed_reply(number: int, outcome: Outcome) -> bytes:
    """Write an outcome down, without the fields that say nothing; a value too large for the wire goes as its type."""
    fields: dict[str, Any] = {name: True for name in FLAGS if getattr(outcome, name)}
    if outcome.error is not None:
        fields |= {"error": outcome.error, "message": outcome.message[:MAX_MESSAGE], "line": outcome.line}
    try:
        return packed({"number": number, "value": outcome.value, **fields}, MAX_REPLY)
    except (WireError, TypeError, ValueError, RecursionError, MemoryError):
        return packed({"number": number, "value": Opaque(outcome.value.type_name), **fields}, MAX_REPLY)


def load(pieces: list[dict[str, Any]], namespace: dict[str, Any], replies: BinaryIO) -> dict[int, Any]:
    """Run every piece of code, saying before each which one it is; return the errors by index."""
    errors: dict[int, Any] = {}
    for index, piece in enumerate(pieces):

        def say_where(index: int = index) -> None:
            send(replies, {"running": index})

        say_where()
        error = run_piece(piece["source"], piece["label"], namespace, piece["statements"], say_where)
        if error is not None:
            errors[index] = {"error": error.error, "message": error.message[:MAX_MESSAGE], "line": error.line}
    return errors


def limit_resources() -> None:
    """Bound memory, processor time, file size and open files, where the system knows such limits."""
    try:
        import resource
    except ImportError:
        return
    for name, most in LIMITS.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS knows the name of a limit that it does not set
            resource.setrlimit(kind, (limit, limit))


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep standard input and output for the wire, and give the learner's code empty ones instead."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    return requests, replies


if __name__ == "__main__":
    main(*take_streams())
