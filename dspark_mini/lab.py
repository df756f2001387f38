"""Runs JupyterLab in the learner's directory until Ctrl-C."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener

from dspark_mini.language import _
from dspark_mini.workspace import UserError

START_SECONDS = 90.0
HOST = "127.0.0.1"  # at localhost, a browser may find another server first, on [::1]
SETTINGS = Path(__file__).parent / "jupyter"  # no pop-up about news; names of files are not cut off for their dates


def open_lab(
    folder: Path, browser: bool, first_notebook: Callable[[], Path | None], on_ready: Callable[[str], None]
) -> None:
    """Run JupyterLab in a directory until it exits or the user presses Ctrl-C.

    Args:
        folder: Root directory of JupyterLab.
        browser: Open the page in the user's browser.
        first_notebook: Returns the notebook to open, in that directory; called while JupyterLab starts.
        on_ready: Called with the address once JupyterLab answers.

    Raises:
        UserError: JupyterLab is not installed or did not start.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise UserError(
            _('JupyterLab is not installed; run `pip install -e ".[learn]"` in the dspark_mini repository.')
        )
    port, token = _free_port(), secrets.token_urlsafe(16)
    lab = subprocess.Popen(_lab_command(folder, port), env=_lab_environment(token), stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, _stop)
    try:
        notebook = first_notebook()
        page = f"/tree/{quote(notebook.name)}" if notebook else ""
        _wait_for_answer(lab, f"http://{HOST}:{port}/api/status?token={token}")
        address = f"http://{HOST}:{port}/lab{page}?token={token}"
        on_ready(address)
        if browser:
            webbrowser.open(address)
        lab.wait()
    except KeyboardInterrupt:
        pass
    finally:
        lab.terminate()
        lab.wait()


def _lab_environment(token: str) -> dict[str, str]:
    """Return the variables of the server, which its terminals and kernels inherit."""
    return os.environ | {
        "JUPYTER_TOKEN": token,  # not on the command line, which other users can read
        "JUPYTER_CONFIG_PATH": _in_front(str(SETTINGS), "JUPYTER_CONFIG_PATH"),
        "PATH": _in_front(str(Path(sys.executable).parent), "PATH"),  # so that `dspark-mini` is found
    }


def _in_front(folder: str, variable: str) -> str:
    return os.pathsep.join(filter(None, (folder, os.environ.get(variable))))


def _lab_command(folder: Path, port: int) -> list[str]:
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    quiet = ["--no-browser", "--log-level=ERROR", "--LabApp.log_level=ERROR"]
    server = [f"--ServerApp.root_dir={folder.resolve()}", f"--ServerApp.ip={HOST}", f"--ServerApp.port={port}"]
    server += ["--ServerApp.port_retries=0"]
    # The layout of a user's other projects is left alone, and none of their tabs are opened here.
    layout = [f"--LabApp.workspaces_dir={folder.resolve() / '.jupyterlab'}"]
    return [sys.executable, "-m", "jupyterlab", *quiet, *root, *server, *layout, *_terminal()]


def _terminal() -> list[str]:
    """Name the user's shell, so that it is not started as a login shell, which would set PATH anew."""
    if os.name != "posix":
        return []
    return [f"--ServerApp.terminado_settings=shell_command={shlex.quote(os.environ.get('SHELL') or 'sh')}"]


def _wait_for_answer(lab: subprocess.Popen[bytes], address: str) -> None:
    """Wait until this server answers, and not another one that took the port: only this one knows the token."""
    deadline, opener = time.monotonic() + START_SECONDS, build_opener(ProxyHandler({}))
    while time.monotonic() < deadline and lab.poll() is None:
        with contextlib.suppress(OSError), opener.open(address, timeout=1.0):
            return
        time.sleep(0.2)
    raise UserError(_("JupyterLab did not start; run `jupyter lab` in the same directory to see its own messages."))


def _free_port() -> int:
    """Return 8888 if it is free, else any free port."""
    for port in (8888, 0):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UserError(_("There is no free port for JupyterLab."))


def _stop(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
