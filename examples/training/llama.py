"""Train a small Llama-style model: torch_npu's fused operators, or plain PyTorch on the CPU."""

from __future__ import annotations

import functools
import itertools

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import loop
from models import Block, Decoder, GatedNetwork

WORDS, WIDTH, HEADS, GROUPS, LAYERS = 512, 128, 4, 2, 3
BATCH, LENGTH = 4, 64
DOCUMENTS = (
    20,
    44,
    64,
    37,
    27,
    11,
    53,
)  # tokens each, packed into sequences of 64; they cover BATCH


def build():
    """Return the model."""
    blocks = (Block(WIDTH, HEADS, GROUPS, GatedNetwork(WIDTH, 3 * WIDTH)) for _ in range(LAYERS))
    return Decoder(WORDS, WIDTH, blocks)


def loss(model, batch, *, ends, recompute):
    """Return the cross entropy of the next words."""
    tokens, targets = batch
    call = functools.partial(checkpoint, use_reentrant=False) if recompute else lambda f, *x: f(*x)
    scores = model(tokens, ends, call)
    return functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())


def options():
    """Return what the script understands."""
    parser = loop.options(__doc__)
    parser.add_argument("--packed", action="store_true", help="several documents per sequence")
    parser.add_argument("--recompute", action="store_true", help="activation checkpointing")
    return parser


def prepare(chosen):
    """Return the trainer and its batches."""
    torch.manual_seed(chosen.seed)
    model = build().to(chosen.device)
    ends = list(itertools.accumulate(DOCUMENTS)) if chosen.packed else None
    trainer = loop.Trainer(
        model,
        loop.adamw(model, chosen),
        functools.partial(loss, ends=ends, recompute=chosen.recompute),
        chosen,
    )
    generator = torch.Generator().manual_seed(chosen.seed + 1)
    return trainer, loop.sentences(chosen.steps, (BATCH, LENGTH), WORDS, generator)


def main():
    """Train."""
    chosen = options().parse_args()
    trainer, batches = prepare(chosen)
    loop.report(trainer, trainer.run(batches), chosen)


if __name__ == "__main__":
    main()
