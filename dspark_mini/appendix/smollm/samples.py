"""Texts and features of the shards, read row by row as training needs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dspark_mini.appendix.blocks import Blocks

FEATURE_LAYERS = (9, 18, 27)  # of the target, from 0
COUNTED_TEXTS, COUNTED_EVERY = 1000, 4  # texts and positions whose probabilities are added up


class Shard:
    """One shard, whose features stay in their file until a row is read."""

    def __init__(self, data: Path, features: Path) -> None:
        with safe_open(data, "pt") as file:
            self.tokens, lengths = file.get_tensor("tokens"), file.get_tensor("lengths")
            self.prompt_lengths = file.get_tensor("prompt_lengths").tolist()
        self.lengths = lengths.tolist()
        self.starts = (lengths.cumsum(0) - lengths).tolist()
        self.features: Any = safe_open(features, "pt").__enter__()  # type: ignore[no-untyped-call]

    def row(self, index: int) -> dict[str, Tensor]:
        """Return tokens, features, hidden states and logsumexp of one text."""
        places = slice(self.starts[index], self.starts[index] + self.lengths[index])
        row = {name: self.features.get_slice(name)[places].float() for name in ("features", "hidden", "logsumexp")}
        return {"tokens": self.tokens[places].long(), **row}


def shard_rows(path: Path) -> list[dict[str, Any]]:
    """Return family, source or kind, prompt and temperature of each text in a shard."""
    with safe_open(path, "pt") as file:
        rows: list[dict[str, Any]] = json.loads(file.metadata()["rows"])
    return rows


class Samples:
    """All shards that exist by now; call `refresh` to see new ones.

    Args:
        folder: Directory with shards/ and features/.

    Raises:
        ValueError: There is no shard.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.shards = folder, dict[str, Shard]()
        self.refresh()
        if not self.shards:
            raise ValueError(
                f"{folder} has no texts; `dspark-mini appendix smollm generate` writes them, held-out ones with "
                "--held-out."
            )

    def refresh(self) -> None:
        """Open the shards that have been written since the last call."""
        for path in sorted((self.folder / "shards").glob("*.safetensors")):
            if path.name not in self.shards:
                try:
                    self.shards[path.name] = Shard(path, self.folder / "features" / path.name)
                except (SafetensorError, OSError) as error:
                    raise ValueError(f"{path}, or its features, cannot be read: {error}. Delete both files.") from error

    def __len__(self) -> int:
        """Return the number of texts."""
        return sum(len(shard.lengths) for shard in self.shards.values())

    def draw(self, rows: int, anchors: int, block_size: int, generator: torch.Generator) -> tuple[Blocks, Tensor]:
        """Draw texts and anchors in their answers, with repetition.

        Returns:
            Blocks, whose logits are the target's last hidden states instead (B, T, d), and their logsumexp (B, T).
        """
        shards, chosen, places = list(self.shards.values()), list[dict[str, Tensor]](), list[Tensor]()
        while len(chosen) < rows:
            shard = shards[int(torch.randint(len(shards), (1,), generator=generator))]
            index = int(torch.randint(len(shard.lengths), (1,), generator=generator))
            low, high = shard.prompt_lengths[index], shard.lengths[index] - block_size
            if high > low:
                chosen.append(shard.row(index))
                places.append(torch.randint(low, high, (anchors,), generator=generator))
        batch = {
            name: torch.nn.utils.rnn.pad_sequence([row[name] for row in chosen], batch_first=True) for name in chosen[0]
        }
        blocks = Blocks(batch["tokens"], batch["features"], batch["hidden"], torch.stack(places))
        return blocks, batch["logsumexp"]

    @torch.inference_mode()
    def frequent_tokens(self, count: int, head: Tensor) -> list[int]:
        """Return the ids of the tokens that the target's own probabilities make most frequent in these texts.

        Sums of probabilities find in few texts what counts of tokens find only in many.

        Args:
            count: Number of ids.
            head: (V, d) the target's LM head.
        """
        total = torch.zeros(len(head))
        places = [(shard, row) for shard in self.shards.values() for row in range(len(shard.lengths))]
        for shard, index in places[:: max(1, len(places) // COUNTED_TEXTS)]:
            row, answer = shard.row(index), slice(shard.prompt_lengths[index] - 1, -1, COUNTED_EVERY)
            total += (row["hidden"][answer] @ head.T - row["logsumexp"][answer, None]).exp().sum(0)
            total += torch.bincount(row["tokens"], minlength=len(head)) / 16
        return sorted(total.topk(count).indices.tolist())
