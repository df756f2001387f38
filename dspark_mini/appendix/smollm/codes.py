"""Matrices of 4-bit codes, as the GGUF file stores them, multiplied by torch's own int4 kernel."""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 32  # weights that share a scale, and with 4 bits a minimum, as in GGUF's Q4_1 and Q8_0
BFLOAT16 = 2**-7  # of the largest weight in a group; another matrix would lose up to 2 ** -4 by 4-bit codes


class CodedLinear:
    """A product with a matrix (out, in) of codes: of 4 bits if its weights once were such codes, else of 8.

    8 bits lose no more than bfloat16 does of a group's largest weight. The kernel adds up in float32, and rounds its
    input and output to bfloat16.
    """

    def __init__(self, weight: Tensor) -> None:
        groups = weight.float().unflatten(1, (-1, GROUP))  # (out, n, 32)
        codes, scales, minima = _four_bits(groups) or _eight_bits(groups)
        self.copies = codes[0].numel() // weight.shape[1]  # of the input: 2 for 8 bits
        self.codes = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes.flatten(1).int(), 1)
        centres = minima + 8 * scales  # the kernel's weights are (code - 8) · scale + centre
        self.scales = torch.stack((scales, centres), -1).transpose(0, 1).bfloat16().contiguous()  # (n, out, 2)
        self.bytes = self.codes.nbytes + self.scales.nbytes

    def __call__(self, x: Tensor) -> Tensor:
        rounded = torch.cat([x.bfloat16()] * self.copies, -1)
        return torch.ops.aten._weight_int4pack_mm_for_cpu(rounded, self.codes, GROUP, self.scales).float()


def fits(weight: Tensor) -> bool:
    """Say whether the kernel takes a matrix of this size."""
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


def _eight_bits(groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return codes (out, 2 n, 32), scales and minima (out, 2 n): a code of 8 bits is 16 · high + low - 128.

    The highs and the lows are neighbouring matrices, multiplied by the same input. As in Q8_0, 127 is the largest.
    """
    scales = groups.abs().amax(-1, keepdim=True) / 127
    codes = (groups / scales.clamp(min=1e-20)).round_().add_(128)
    high = (codes / 16).floor_()
    low, scales = codes - 16 * high, scales[..., 0]
    minima = torch.cat((-128 * scales, torch.zeros_like(scales)), 1)
    return torch.cat((high, low), 1), torch.cat((16 * scales, scales), 1), minima
