"""Products with matrices: as they are, in the 4-bit codes of the GGUF file, or in 8 bits; by torch's own kernels."""

from __future__ import annotations

import contextlib

import torch
import torch.nn.functional as F
from torch import Tensor

TYPICAL_ROWS = 4  # tokens of a verification: the anchor and its drafts
GROUP = 32  # weights that share a scale and a minimum, as in GGUF's Q4_1
BFLOAT16 = 2**-7  # of the largest weight in a group; another matrix would lose up to 2 ** -4 by 4-bit codes


class Linear:
    """A product with a matrix (out, in), laid out in advance where oneDNN can; otherwise every block does that anew."""

    def __init__(self, weight: Tensor) -> None:
        self.weight, self.packed, self.bytes = weight, False, weight.nbytes
        with contextlib.suppress(RuntimeError, AttributeError):  # no such dtype on this processor; another torch
            self.weight, self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, TYPICAL_ROWS), True

    def __call__(self, x: Tensor) -> Tensor:
        if not self.packed:
            return F.linear(x, self.weight)
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, None, "none", [], "")


class FourBits:
    """A product with a matrix (out, in) of 4-bit codes.

    The kernel adds up in float32, and rounds its input and output to bfloat16.
    """

    def __init__(self, codes: Tensor, scales: Tensor, minima: Tensor) -> None:
        """Lay out codes (out, n, 32), scales and minima (out, n)."""
        self.codes = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes.flatten(1).int(), 1)
        centres = minima + 8 * scales  # the kernel's weights are (code - 8) · scale + centre
        self.scales = torch.stack((scales, centres), -1).transpose(0, 1).bfloat16().contiguous()  # (n, out, 2)
        self.bytes = self.codes.nbytes + self.scales.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x.bfloat16(), self.codes, GROUP, self.scales).to(x.dtype)


class EightBits:
    """A product with a matrix (out, in), rounded to 8-bit codes with a scale per row; see FourBits for the kernel.

    A weight loses at most 1/254 of the largest in its row.
    """

    def __init__(self, weight: Tensor) -> None:
        self.scales = (weight.float().abs().amax(1) / 127).clamp(min=1e-20).bfloat16()  # (out,)
        self.codes = (weight.float() / self.scales[:, None].float()).round_().clamp_(-127, 127).to(torch.int8)
        self.bytes = self.codes.nbytes + self.scales.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, -2).bfloat16()  # the kernel takes a matrix
        return torch.ops.aten._weight_int8pack_mm(rows, self.codes, self.scales).to(x.dtype).view(*x.shape[:-1], -1)


Product = Linear | FourBits | EightBits


def coded(weight: Tensor) -> Product:
    """Return a product with the 4-bit codes that a matrix once was; see eight_bits for another matrix."""
    found = _four_bits(weight.float().unflatten(1, (-1, GROUP))) if _fits(weight) else None
    return eight_bits(weight) if found is None else FourBits(*found)


def eight_bits(weight: Tensor) -> EightBits | Linear:
    """Return a product with 8-bit codes; with the matrix itself where the kernels do not take its size."""
    return EightBits(weight) if _fits(weight) else Linear(weight.contiguous())


def _fits(weight: Tensor) -> bool:
    return weight.shape[0] % 16 == 0 and weight.shape[1] % GROUP == 0


def _four_bits(groups: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Find codes (out, n, 32), scales and minima (out, n) again: in Q4_1 a group's least is 0, and its largest 15."""
    minima, maxima = groups.aminmax(dim=-1, keepdim=True)
    scales = (maxima - minima) / 15
    codes = ((groups - minima) / scales.clamp(min=1e-20)).round_()
    errors = (codes * scales + minima - groups).abs_()
    if (errors > BFLOAT16 * torch.maximum(maxima, -minima)).any():
        return None
    return codes, scales[..., 0], minima[..., 0]
