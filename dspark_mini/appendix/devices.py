"""Check that torch is installed and can use a device."""

from __future__ import annotations

from dspark_mini.workspace import UserError


def require_torch(device: str) -> None:
    """Check that torch is installed and can use the device.

    Raises:
        UserError: It is not, or it cannot.
    """
    try:
        import torch
    except ImportError:
        raise UserError('This needs torch; `python -m pip install -e ".[torch]"` installs it.') from None
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device not in available:
        raise UserError(f"The device is {device!r}; it must be one of {', '.join(available)}.")
    if not available[device]:
        raise UserError(f"torch finds no {device} device on this machine; --device cpu works everywhere.")
