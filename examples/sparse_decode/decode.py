"""Runs the decode step in eager and in both graph modes, and compares and measures them.

What it finds goes into a file, which report.py shows. The exit code is 1 if a mode does not agree.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch_npu  # noqa: F401 - the device "npu"
import torchair
from torch import Tensor

import attention
from model import PAGE, Cache, Config, Decoder
from reference import Reference

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 7
MODES = ("eager", "reduce-overhead", "max-autotune")
# Of logits, whose standard deviation is about 1 and the largest about 4: bfloat16 has 8 bits. If 64
# of the 2,048 selected tokens are missing, logits differ by twice as much.
TOLERANCE = 0.1


class Plan(NamedTuple):
    """Settings of a run."""

    config: Config
    lengths: tuple[int, ...]  # tokens of each sequence before the steps that are compared
    steps: int  # that are compared
    contexts: tuple[int, ...]  # tokens, for what is measured
    rounds: int


WHOLE = Plan(
    Config(),
    lengths=(3, 2047, 3000, 5000),
    steps=8,
    contexts=tuple(1024 * thousands for thousands in (4, 8, 16, 32, 64, 128)),
    rounds=12,
)
QUICK = Plan(
    Config(hidden=256, feed_forward=512, heads=16, vocabulary=1024, query_rank=256),
    lengths=(3, 2047, 2500),
    steps=4,
    contexts=(4096, 8192),
    rounds=3,
)


def compiled(decoder: Decoder, mode: str) -> Callable[..., Tensor]:
    """Return the decoder's step in a mode; all steps of as many sequences share a graph."""
    if mode == "eager":
        return decoder
    config = torchair.CompilerConfig()
    config.mode = mode
    backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(decoder, backend=backend, dynamic=False, fullgraph=True)


class Sequences(NamedTuple):
    """The sequences of the comparison, on the CPU, and what the reference makes of them."""

    caches: list[Cache]
    block_table: Tensor
    lengths: Tensor
    tokens: Tensor  # [steps, B]: what goes in, each the reference's choice after the one before
    logits: Tensor  # [steps, B, vocabulary], float32


def refer(plan: Plan, decoder: Decoder) -> Sequences:
    """Decode on the CPU, sequence by sequence."""
    generator = torch.Generator().manual_seed(SEED)
    pages = -(-(max(plan.lengths) + plan.steps) // PAGE)
    count = pages * len(plan.lengths)
    table = torch.randperm(count, generator=generator).view(-1, pages).int()
    caches = [Cache.random(plan.config, count, generator) for _ in decoder.layers]
    tokens, logits = [], []
    for number, length in enumerate(plan.lengths):
        step = Reference(decoder, caches, table[number], length)
        taken, answers = [number], []
        for _ in range(plan.steps):
            answers.append(step(taken[-1]))
            taken.append(int(answers[-1].argmax()))
        tokens.append(torch.tensor(taken[:-1]))
        logits.append(torch.stack(answers))
    lengths = torch.tensor(plan.lengths)
    return Sequences(caches, table, lengths, torch.stack(tokens, 1), torch.stack(logits, 1).float())


@torch.no_grad()
def run(step: Callable[..., Tensor], sequences: Sequences) -> Tensor:
    """Return the logits [steps, B, vocabulary] of a mode for the reference's tokens."""
    caches = [cache.to("npu") for cache in sequences.caches]
    block_table, positions = sequences.block_table.npu(), sequences.lengths.npu()
    answers = []
    for tokens in sequences.tokens:
        answers.append(step(tokens.npu(), positions, block_table, caches).cpu())
        positions += 1
    return torch.stack(answers).float()


class Agreement(NamedTuple):
    """How a mode compares."""

    of: int  # tokens
    same: int  # that are the reference's
    ties: int  # that are others, whose logits are as high within the tolerance
    reference: float  # largest difference of a logit from the reference
    eager: float  # from eager

    @classmethod
    def between(cls, logits: Tensor, reference: Tensor, eager: Tensor) -> Agreement:
        """Compare logits [steps, B, vocabulary]."""
        tokens = logits.argmax(-1, keepdim=True)
        same = tokens == reference.argmax(-1, keepdim=True)
        below = reference.amax(-1, keepdim=True) - reference.gather(-1, tokens)
        ties = ~same & (below <= TOLERANCE)
        differences = [float((logits - other).abs().max()) for other in (reference, eager)]
        return cls(same.numel(), int(same.sum()), int(ties.sum()), *differences)

    @property
    def holds(self) -> bool:
        """Whether all tokens and, within the tolerance, all logits agree."""
        differences = max(self.reference, self.eager)
        return self.same + self.ties == self.of and differences <= TOLERANCE


@torch.no_grad()
def tokens_per_second(
    steps: dict[str, Callable[..., Tensor]], caches: list[Cache], context: int, rounds: int
) -> dict[str, float]:
    """Decode one sequence behind a context in each mode; the fastest step counts.

    The modes take turns, so that other load on the machine meets all.
    """
    block_table = torch.arange(len(caches[0].latent) // PAGE, dtype=torch.int32)[None].npu()
    positions = torch.tensor([context - rounds - 1]).npu()
    tokens = {mode: torch.zeros_like(positions) for mode in steps}
    times: dict[str, list[float]] = {mode: [] for mode in steps}
    for _ in range(rounds + 1):  # the first one may compile
        for mode, step in steps.items():
            begin = time.perf_counter()
            tokens[mode] = step(tokens[mode], positions, block_table, caches).argmax(-1)
            torch.npu.synchronize()
            times[mode].append(time.perf_counter() - begin)
        positions += 1
    return {mode: 1 / min(taken[1:]) for mode, taken in times.items()}


def say(text: str) -> None:
    """Print what is under way."""
    print(text, flush=True)


def main() -> int:
    """Run everything; return 1 if a mode does not agree."""
    parser = argparse.ArgumentParser(description="A decode step with sparse attention.")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    plan = QUICK if options.quick else WHOLE

    decoder = Decoder(plan.config, max(plan.contexts))
    decoder.randomize(torch.Generator().manual_seed(SEED)).eval()
    millions = sum(weight.numel() for weight in decoder.parameters()) / 1e6
    say(f"{plan.config.layers} layers, {plan.config.heads} heads, {millions:.0f} M parameters")

    say(f"Decoding {len(plan.lengths)} sequences on the CPU, in plain PyTorch")
    sequences = refer(plan, decoder)
    decoder = copy.deepcopy(decoder).npu()
    steps = {mode: compiled(decoder, mode) for mode in MODES}
    logits, agreements = {}, {}
    for mode, step in steps.items():
        say(f"Decoding them in {mode}")
        logits[mode] = run(step, sequences)
        agreements[mode] = Agreement.between(logits[mode], sequences.logits, logits["eager"])
        if not agreements[mode].holds:
            print(f"{mode} does not agree: {agreements[mode]}", file=sys.stderr)
            return 1

    generator = torch.Generator().manual_seed(SEED)
    pages = max(plan.contexts) // PAGE
    caches = [Cache.random(plan.config, pages, generator).to("npu") for _ in decoder.layers]
    speeds, times = {}, []
    for context in plan.contexts:
        say(f"Measuring steps and attention with {context // 1024} K tokens")
        speeds[context] = tokens_per_second(steps, caches, context, plan.rounds)
        times.append(attention.measure(plan.config, caches[0], context, plan.rounds))

    results = {
        "agreement": {mode: agreement._asdict() for mode, agreement in agreements.items()},
        "tokens_per_second": speeds,
        "attention": [attention.as_row(row) for row in times],
    }
    options.results.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
