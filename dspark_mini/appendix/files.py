"""The files of a Hugging Face folder: JSON, and tensors in one or several safetensors files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

SCALE = "_scale"  # after the name of a tensor in int8


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ValueError: The file is missing or damaged.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path.parent} has no {path.name}, so it is not a Hugging Face model.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} cannot be read as JSON: it is not an object.")
    return data


class Tensors:
    """The safetensors files of a folder: names, shapes and sizes from the headers, and values when asked for.

    Args:
        folder: With one file, or several that an index names.

    Attributes:
        shapes: Shape of each tensor by its name.
        sizes: Bytes of each tensor in its file, with those of its scales.

    Weights in int8, with a scale per row beside them (NAME_scale), are one tensor: compressed-tensors' int-quantized.

    Raises:
        ValueError: There is no file, or one is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[str, int] = {}
        self._files: dict[str, Path] = {}
        for path in _weight_files(folder):
            with _opened(path) as file:
                for name in file.keys():  # noqa: SIM118
                    part, self._files[name] = file.get_slice(name), path
                    self.shapes[name] = shape = tuple(part.get_shape())
                    bits = "".join(filter(str.isdigit, part.get_dtype().split("_")[0])) or "8"  # BF16, I64, BOOL
                    self.sizes[name] = torch.Size(shape).numel() * int(bits) // 8
        if not any(self.sizes.values()):
            raise ValueError(f"The *.safetensors files in {folder} hold no numbers.")
        self._scales = {name: name + SCALE for name in self.shapes if name + SCALE in self.shapes}
        for name, scale in self._scales.items():
            if self.shapes.pop(scale) != (self.shapes[name][0], 1):
                raise ValueError(f"{scale} in {folder} must have a row per row of {name}, and one column.")
            self.sizes[name] += self.sizes.pop(scale)

    def read(self, names: Iterable[str], dtype: torch.dtype | None = None) -> dict[str, Tensor]:
        """Read tensors by their names, and convert them."""
        out: dict[str, Tensor] = {}
        wanted = set(names)
        wanted |= {scale for name, scale in self._scales.items() if name in wanted}
        for path in dict.fromkeys(self._files.values()):
            with _opened(path) as file:
                out |= {name: file.get_tensor(name) for name in wanted if self._files[name] == path}
        for name in wanted & self._scales.keys():
            out[name] = out[name].float() * out.pop(self._scales[name]).float()
        return {name: tensor.to(dtype) if dtype else tensor for name, tensor in out.items()}

    def problems(self, expected: Mapping[str, tuple[int, ...]], known: Iterable[str] = ()) -> Iterator[str]:
        """Yield a sentence for each tensor that is missing, misshapen or unknown.

        Args:
            expected: Shapes by name.
            known: Names that may be there as well.
        """
        for name, shape in expected.items():
            found = self.shapes.get(name)
            if found is None:
                yield f"The weights in {self.folder} lack the tensor {name}."
            elif found != shape:
                yield f"{name} in {self.folder} has the shape {found}; it must be {shape}."
        for name in self.shapes:
            if name not in expected and name not in known and not name.endswith("rotary_emb.inv_freq"):
                yield f"The weights in {self.folder} hold {name}, which such a model does not have."


def _weight_files(folder: Path) -> list[Path]:
    index, single = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if index.is_file():
        shards = read_json(index).get("weight_map")
        if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
            raise ValueError(f"{index} does not say weight_map, the file of each tensor.")
        return [folder / name for name in sorted(set(shards.values()))]
    paths = [single] if single.is_file() else sorted(folder.glob("*.safetensors"))
    if not paths:
        raise ValueError(f"{folder} has no *.safetensors file with the model's weights.")
    return paths


def as_int8(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors with every matrix of floating-point numbers in int8, and its scales, one per row, beside it."""
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        out[name] = tensor
        if tensor.ndim == 2 and tensor.is_floating_point():
            out[name + SCALE] = scale = (tensor.float().abs().amax(1, keepdim=True) / 127).clamp(min=1e-12)
            out[name] = (tensor.float() / scale).round().to(torch.int8)
    return out


def _opened(path: Path) -> Any:
    try:
        return safe_open(path, "pt")
    except FileNotFoundError:
        raise ValueError(f"{path} is missing, but model.safetensors.index.json names it.") from None
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or not a safetensors file: {error}.") from error
