"""The child: load the learner's code, then answer calls until the grader hangs up."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, BinaryIO

from grader.run.child.calling import Call, LocalCaller, Outcome
from grader.run.child.imports import OnlyImportable
from grader.run.child.limits import limit_resources
from grader.run.child.loader import new_namespace, run_piece
from grader.run.child.wire import MAX_REPLY, Opaque, WireError, packed, receive, send

FLAGS = ("changed", "timed_out", "changed_results")  # of an outcome
MAX_MESSAGE = 500  # characters
FLUSH_SECONDS = 0.05  # replies of quick calls travel together


def main(requests: BinaryIO, replies: BinaryIO) -> None:
    """Serve one submission.

    Args:
        requests: Messages from the grader: one with the code, then two per batch of calls, a header and the calls.
        replies: Messages back; each answers one call and repeats its number.
    """
    limit_resources()
    sys.meta_path.insert(0, OnlyImportable)
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
        source, label, statements = piece["source"], piece["label"], piece["statements"]
        error = run_piece(source, label, namespace, statements, say_where, piece["skipped"])
        if error is not None:
            errors[index] = {"error": error.error, "message": error.message[:MAX_MESSAGE], "line": error.line}
    return errors


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep standard input and output for the wire, and give the learner's code empty ones instead."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", errors="replace") for n in (1, 2))
    return requests, replies


if __name__ == "__main__":
    main(*take_streams())
