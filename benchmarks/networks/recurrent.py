"""A tagger of the LSTM kind."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["LstmTagger"]


class LstmTagger(nn.Module):
    """Words, two bidirectional layers, scores of every word's tags."""

    def __init__(self, words: int = 2000, width: int = 128, hidden: int = 256) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * hidden, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return scores of tags: (batch, length, tags)."""
        x, _ = self.lstm(self.words(tokens))
        scores: torch.Tensor = self.head(x)
        return scores
