"""Train a small mixture of experts: torch_npu's fused operators, or plain PyTorch on the CPU."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

import loop
from loop import operators
from models import Block, Decoder, GatedNetwork

WORDS, WIDTH, HEADS, GROUPS, LAYERS = 512, 128, 4, 4, 2
EXPERTS, CHOSEN, INNER = 8, 2, 96
BATCH, LENGTH = 4, 48
BALANCE = 0.01  # how much an uneven load counts


class Experts(nn.Module):
    """Each token goes to two of eight gated networks, and to one that all share."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.empty(EXPERTS, WIDTH, 2 * INNER))
        self.down = nn.Parameter(torch.empty(EXPERTS, INNER, WIDTH))
        self.shared = GatedNetwork(WIDTH, INNER)
        self.balance = None

    def forward(self, x):
        """Send tokens to their experts, and bring back the weighted sum."""
        tokens, ops = x.flatten(0, 1), operators(x.device)
        with torch.autocast(x.device.type, enabled=False):  # choices are made in float32
            logits = functional.linear(tokens.float(), self.router.weight)
        experts = ops.chosen_experts(logits, CHOSEN)
        likely = logits.softmax(-1)
        weights = likely.gather(-1, experts.long())
        weights = weights / weights.sum(-1, keepdim=True)

        counts = functional.one_hot(experts.long().flatten(), EXPERTS).sum(0)
        self.balance = EXPERTS * (likely.mean(0) * counts / counts.sum()).sum()

        inputs = tokens.to(self.shared.up(tokens[:1]).dtype)  # what autocast computes products in
        rows, places = ops.permute(inputs, experts)
        ends = counts.cumsum(0)
        hidden = ops.swiglu(ops.grouped_matmul(rows, self.up, ends))
        rows = ops.grouped_matmul(hidden, self.down, ends)
        routed = ops.unpermute(rows, places, weights.to(rows.dtype))
        return (routed + self.shared(tokens)).view(x.shape)


def build():
    """Return the model."""
    blocks = (Block(WIDTH, HEADS, GROUPS, Experts()) for _ in range(LAYERS))
    return Decoder(WORDS, WIDTH, blocks)


def loss(model, batch):
    """Return the cross entropy of the next words, and a little for an uneven load."""
    tokens, targets = batch
    scores = model(tokens)
    uneven = sum(block.network.balance for block in model.blocks)
    return (
        functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten()) + BALANCE * uneven
    )


def options():
    """Return what the script understands."""
    return loop.options(__doc__)


def prepare(chosen):
    """Return the trainer and its batches."""
    torch.manual_seed(chosen.seed)
    model = build().to(chosen.device)
    trainer = loop.Trainer(model, loop.adamw(model, chosen), loss, chosen)
    generator = torch.Generator().manual_seed(chosen.seed + 1)
    return trainer, loop.sentences(chosen.steps, (BATCH, LENGTH), WORDS, generator)


def main():
    """Train."""
    chosen = options().parse_args()
    trainer, batches = prepare(chosen)
    loop.report(trainer, trainer.run(batches), chosen)


if __name__ == "__main__":
    main()
