"""Train a small transformer on one or several ranks, and write the loss of each step.

    torchrun --standalone --nproc-per-node 2 train.py --parallel ddp    # one NPU for each rank
    TORCH_DEVICE_BACKEND_AUTOLOAD=0 python train.py --device cpu        # the same in one process

All ranks together see the same data as one process does, so the losses are the same. Nothing here
knows of the twin: the script is written for torch_npu.
"""

import argparse
import importlib
import json
import os
from pathlib import Path

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn import functional

STEPS = 20
BATCH = 8  # of all ranks together
LENGTH = 16
TOKENS = 50
WIDTH = 32


class Block(nn.Module):
    """Causal attention and a feed-forward part, each after a norm."""

    def __init__(self, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, WIDTH) to the same shape."""
        batch, length, _ = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Token and position embeddings, blocks, and scores of the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(TOKENS, WIDTH)
        self.position = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map tokens (batch, LENGTH) to scores (batch, LENGTH, TOKENS)."""
        x = self.token(tokens) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def parallel(model: nn.Module, way: str, place: int) -> nn.Module:
    """Return the model as the ranks train it together; `place` is the device of this rank."""
    if way == "ddp":
        return nn.parallel.DistributedDataParallel(model, device_ids=[place])
    if way == "fsdp":
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        return model
    if way == "fsdp1":
        return FullyShardedDataParallel(model, device_id=place)
    return model


def batch(step: int, rank: int, ranks: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a rank's share of the step's sequences: tokens, and the tokens after them."""
    generator = torch.Generator().manual_seed(step)
    start = torch.randint(TOKENS, (BATCH, 1), generator=generator)
    stride = torch.randint(1, 4, (BATCH, 1), generator=generator)
    tokens = (start + stride * torch.arange(LENGTH + 1)) % TOKENS
    mine = tokens.chunk(ranks)[rank].to(device)
    return mine[:, :-1], mine[:, 1:]


def train(way: str, device: str) -> list[float]:
    """Return the loss of each step, over the data of all ranks."""
    rank, place, ranks = (
        int(os.environ.get(name, default))
        for name, default in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1"))
    )
    if device == "npu":
        importlib.import_module("torch_npu")
        torch.npu.set_device(place)
    if way != "none":
        dist.init_process_group("hccl" if device == "npu" else "gloo")
    torch.manual_seed(1)
    model = parallel(Model().to(device), way, place)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(STEPS):
        tokens, following = batch(step, rank, ranks, device)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        total = loss.detach().clone()
        if way != "none":
            dist.all_reduce(total)
        losses.append(total.item() / ranks)
    if way != "none":
        dist.destroy_process_group()
    return losses


def main() -> None:
    """Read the options, train, and let rank 0 report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parallel", choices=("none", "ddp", "fsdp", "fsdp1"), default="none")
    parser.add_argument("--device", choices=("npu", "cpu"), default="npu")
    parser.add_argument("--losses", type=Path, help="where rank 0 writes them, as JSON")
    options = parser.parse_args()
    losses = train(options.parallel, options.device)
    if int(os.environ.get("RANK", "0")) == 0:
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
        if options.losses is not None:
            options.losses.write_text(json.dumps(losses), encoding="utf-8")


if __name__ == "__main__":
    main()
