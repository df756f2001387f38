"""What of torch this machine has."""

from __future__ import annotations

from dspark_mini.workspace import UserError


def require_torch(device: str) -> None:
    """Refuse what this machine cannot do.

    Raises:
        UserError: no torch, or no such device.
    """
    try:
        import torch
    except ImportError:
        raise UserError('This needs torch: `python -m pip install -e ".[torch]"` installs it.') from None
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device not in here:
        raise UserError(f"The device is {device!r}; it must be one of {', '.join(here)}.")
    if not here[device]:
        raise UserError(f"This machine has no {device} device that torch can use; --device cpu works everywhere.")
