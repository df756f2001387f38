"""One thread for torch: more would only wait for each other where tests run in parallel."""

from __future__ import annotations

try:
    import torch
except ImportError:  # the tests of the appendix are skipped
    pass
else:
    torch.set_num_threads(1)
