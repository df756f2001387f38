"""JupyterLab for the learner: started in the lessons' folder, stopped with Ctrl-C."""

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


def open_lab(folder: Path, browser: bool, say: Callable[[str], None]) -> None:
    """Run JupyterLab in a folder until it ends or the user presses Ctrl-C.

    Args:
        folder: the folder that the lab shows.
        browser: open the page in the user's browser.
        say: called with the address once the lab answers.

    Raises:
        UserError: JupyterLab is not installed, or it did not start.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise UserError('JupyterLab is not installed: type `pip install -e ".[learn]"` in the folder of dspark_mini.')
    port, token = _free_port(), secrets.token_urlsafe(16)
    address = f"http://localhost:{port}/lab?token={token}"
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--log-level=ERROR",
        "--LabApp.log_level=ERROR",
        *root,
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
    ]
    # The token goes through the environment, because other users can read a command line.
    lab = subprocess.Popen(command, env=os.environ | {"JUPYTER_TOKEN": token}, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, _stop)
    try:
        _wait_until_it_answers(lab, port)
        say(address)
        if browser:
            webbrowser.open(address)
        lab.wait()
    except KeyboardInterrupt:
        pass
    finally:
        lab.terminate()
        lab.wait()


def _wait_until_it_answers(lab: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and lab.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.2)
    raise UserError("JupyterLab did not start; `jupyter lab` in the same folder shows its own messages.")


def _free_port() -> int:
    """Return 8888 where it is free, else any free port."""
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
