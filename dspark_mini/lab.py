"""Runs JupyterLab in the learner's directory until Ctrl-C."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from dspark_mini.workspace import UserError

START_SECONDS = 90.0


def open_lab(folder: Path, browser: bool, on_ready: Callable[[str], None]) -> None:
    """Run JupyterLab in a directory until it exits or the user presses Ctrl-C.

    Args:
        folder: Root directory of JupyterLab.
        browser: Open the page in the user's browser.
        on_ready: Called with the address once JupyterLab answers.

    Raises:
        UserError: JupyterLab is not installed or did not start.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise UserError('JupyterLab is not installed; run `pip install -e ".[learn]"` in the dspark_mini repository.')
    port, token = _free_port(), secrets.token_urlsafe(16)
    address = f"http://localhost:{port}/lab?token={token}"
    # The token goes through the environment, because other users can read a command line.
    environment = os.environ | {"JUPYTER_TOKEN": token}
    lab = subprocess.Popen(_lab_command(folder, port), env=environment, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, _stop)
    try:
        _wait_for_answer(lab, port)
        on_ready(address)
        if browser:
            webbrowser.open(address)
        lab.wait()
    except KeyboardInterrupt:
        pass
    finally:
        lab.terminate()
        lab.wait()


def _lab_command(folder: Path, port: int) -> list[str]:
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    quiet = ["--no-browser", "--log-level=ERROR", "--LabApp.log_level=ERROR"]
    server = [f"--ServerApp.root_dir={folder.resolve()}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    return [sys.executable, "-m", "jupyterlab", *quiet, *root, *server]


def _wait_for_answer(lab: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and lab.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.2)
    raise UserError("JupyterLab did not start; run `jupyter lab` in the same directory to see its own messages.")


def _free_port() -> int:
    """Return 8888 if it is free, else any free port."""
    for port in (8888, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("localhost", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UserError("There is no free port for JupyterLab.")


def _stop(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
