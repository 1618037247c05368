"""The loop that all scripts share: options, mixed precision, loss scaling, clipping, schedule."""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import time
from pathlib import Path

import torch
from torch import nn

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def options(description):
    """Return a parser for what every script understands."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=("npu", "cpu"), default="npu")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rate", type=float, default=2e-3, help="the highest learning rate")
    parser.add_argument("--amp", choices=DTYPES, help="autocast to this type")
    parser.add_argument(
        "--optimizer",
        choices=("npu", "fused", "foreach"),
        default="npu",
        help="torch_npu's, or torch's in one of its forms",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--losses", type=Path, help="write the losses to this JSON file")
    return parser


def operators(device):
    """Return torch_npu's fused operators for NPU, and plain PyTorch for the CPU."""
    return importlib.import_module("fused" if str(device).startswith("npu") else "plain")


def decayed(model, decay):
    """Return two groups of parameters: matrices decay, vectors (norms, biases) do not."""
    groups = {True: [], False: []}
    for parameter in model.parameters():
        groups[parameter.dim() > 1].append(parameter)
    return [
        {"params": groups[True], "weight_decay": decay},
        {"params": groups[False], "weight_decay": 0.0},
    ]


def adamw(model, chosen, decay=0.1):
    """Return the AdamW that the options ask for."""
    groups = decayed(model, decay)
    if chosen.optimizer == "npu":
        return operators(chosen.device).adamw(groups, chosen.rate)
    return torch.optim.AdamW(groups, lr=chosen.rate, betas=(0.9, 0.95), **{chosen.optimizer: True})


def warm_cosine(steps, warm=0.1):
    """Return a schedule that climbs for a tenth of the steps and falls to a tenth of the rate."""

    def factor(step):
        climb = max(1, round(warm * steps))
        if step < climb:
            return (step + 1) / climb
        done = (step - climb) / max(1, steps - climb)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * done))

    return factor


class Trainer:
    """One model in training: what a step does, and which loss each step had.

    Parameters
    ----------
    loss
        A function of (model, batch) that returns the loss.
    after
        Called after each update, as for a moving average of the weights.
    """

    def __init__(self, model, optimizer, loss, chosen, *, clip=1.0, after=lambda: None):
        self.model, self.optimizer, self.loss, self.after = model, optimizer, loss, after
        self.device, self.dtype, self.clip = chosen.device, DTYPES.get(chosen.amp), clip
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_cosine(chosen.steps))
        self.scaler = torch.amp.GradScaler(
            chosen.device, init_scale=2.0**12, enabled=self.dtype is torch.float16
        )
        self.losses = []

    def step(self, batch):
        """Train on one batch, without waiting for the device."""
        batch = [part.to(self.device, non_blocking=True) for part in batch]
        with torch.autocast(self.device, self.dtype, enabled=self.dtype is not None):
            loss = self.loss(self.model, batch)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        self.clip_gradients()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.schedule.step()
        self.after()
        self.losses.append(loss.detach())

    def clip_gradients(self):
        """Limit the norm of all gradients together."""
        if hasattr(self.optimizer, "clip_grad_norm_fused_"):
            self.optimizer.clip_grad_norm_fused_(self.clip)
        else:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)

    def run(self, batches):
        """Train on all batches; return seconds per step, without the first one."""
        begin = time.perf_counter()
        for count, batch in enumerate(batches):
            self.step(batch)
            if count == 0:
                self.wait()
                begin = time.perf_counter()
        self.wait()
        return (time.perf_counter() - begin) / max(1, len(self.losses) - 1)

    def wait(self):
        """Wait for the device."""
        if self.device == "npu":
            torch.npu.synchronize()


def report(trainer, seconds, chosen, **more):
    """Print the losses; write them where the options say so."""
    losses = [loss.item() for loss in trainer.losses]
    for first in range(0, len(losses), 5):
        line = " ".join(f"{loss:9.5f}" for loss in losses[first : first + 5])
        print(f"step {first:3}  {line}")
    print(f"{seconds * 1e3:.1f} ms per step on {chosen.device}")
    for name, value in more.items():
        print(f"{name.replace('_', ' ')}: {value:.5f}")
    if chosen.losses:
        found = {"amp": chosen.amp, "losses": losses, "seconds": seconds, **more}
        chosen.losses.parent.mkdir(parents=True, exist_ok=True)
        chosen.losses.write_text(json.dumps(found) + "\n", encoding="utf-8")


@functools.cache
def rotation(length, size, device, base=10000.0):
    """Return cosines and sines of rotary positions (1, S, 1, D)."""
    speeds = base ** -(torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), speeds).repeat(1, 2)
    return tuple(f(angles)[None, :, None].to(device) for f in (torch.cos, torch.sin))


def sentences(steps, shape, words, generator):
    """Yield (tokens, next tokens): each word has one that mostly follows it."""
    follows = torch.randperm(words, generator=generator)
    for _ in range(steps):
        tokens = torch.empty(shape[0], shape[1] + 1, dtype=torch.int64)
        tokens[:, 0] = torch.randint(words, shape[:1], generator=generator)
        for place in range(shape[1]):
            surprise = torch.randint(words, shape[:1], generator=generator)
            usual = torch.rand(shape[:1], generator=generator) < 0.8  # noqa: PLR2004 - mostly
            tokens[:, place + 1] = torch.where(usual, follows[tokens[:, place]], surprise)
        yield tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
