"""Text and token ids: the tokenizer of a Hugging Face folder, and SmolLM2's chat template."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from dspark_mini.appendix import huggingface

SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
END = "<|im_end|>"


class Text(huggingface.Text):
    """Tokenizer of a chat model.

    Args:
        folder: Hugging Face folder with tokenizer.json.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if (end := self.tokenizer.token_to_id(END)) is None:
            raise ValueError(f"{folder / 'tokenizer.json'} has no token {END}.")
        self.end: int = end

    @cached_property
    def words(self) -> list[str]:
        """What the race shows of each token: its text without the space before it; of spaces alone ␣, or its name."""
        texts = [self.decode([i]).replace("\n", "↵") for i in range(self.tokenizer.get_vocab_size())]
        return [text.strip() or "␣" * len(text) or str(self.tokenizer.id_to_token(i)) for i, text in enumerate(texts)]

    def question(self, prompt: str) -> list[int]:
        """Return the ids up to the first token of the assistant's answer."""
        return self.encode(f"{SYSTEM}<|im_start|>user\n{prompt}{END}\n<|im_start|>assistant\n")

    def user_turn(self, opener: str) -> list[int]:
        """Return the ids of a conversation in which the user has written only an opener."""
        return self.encode(f"{SYSTEM}<|im_start|>user\n{opener}")
