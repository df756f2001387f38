"""One torch thread per test process: with more, parallel test processes wait for each other."""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):  # without torch these tests are skipped
    import torch

    torch.set_num_threads(1)
