"""A process that grades submissions one after another; a crash costs only the submission at hand.

It reads requests from standard input, one line of JSON each, and answers each with one line. When standard input
ends, its parent is gone, and it ends too, with whatever it started.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from grader.read.submissions import Source
from grader.run.grading import grade, not_graded
from grader.run.kit import use_secret
from grader.run.process import Sandbox
from grader.run.sandbox import NoSandbox

GRACE_SECONDS = 3.0
JOB_SECONDS = 1800  # far beyond a submission's own budget: only a fault of the grader itself takes so long


def main(library: str, scratch: str, sandbox: str) -> None:
    """Grade what the requests on standard input name.

    Args:
        library: folder from child_library().
        scratch: folder for temporary files, which whoever started the process clears away.
        sandbox: How to isolate the submissions' code, as JSON.
    """
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, lambda *_: sys.exit(1))  # an exception, so that the learner's process is ended too
    tempfile.tempdir = scratch
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever else is printed is not an answer
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        request = json.loads(requests.get())
        use_secret(request["secret"])
        source = Source(request["name"], Path(request["path"]), request["unreadable"])
        signal.alarm(JOB_SECONDS)
        answers.write(json.dumps(graded(source, Path(library), json.loads(sandbox))) + "\n")
        answers.flush()
        signal.alarm(0)


def graded(source: Source, library: Path, sandbox: Sandbox) -> dict[str, Any]:
    """Grade one submission; where grading itself fails, the result says so."""
    try:
        return grade(source, library, sandbox).to_json()
    except NoSandbox as error:
        return not_graded(source, str(error)).to_json()
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"line {frame.lineno} of {Path(frame.filename).name}"
        return not_graded(source, f"Grading it failed: {type(error).__name__} in {where}.").to_json()


def _listen(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)
