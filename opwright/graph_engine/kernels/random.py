"""Operators that draw random numbers.

Each element is a hash of seed, offset and its index, computed with tensors: the same seed and
offset give the same numbers in every run, and neither has to be known on the host. The numbers are
not those of the device.
"""

from __future__ import annotations

import math

import torch

from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

FLOAT = 0
INT64 = 9
BITS_OF_FLOAT = 24  # so that what is drawn is below 1 in float32 as well
# Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), as signed numbers.
STEP = 0x9E3779B97F4A7C15 - (1 << 64)
MIXERS = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
LAST_SHIFT = 31
MASK_ALIGNMENT = 128  # elements


def shift(x: torch.Tensor, count: int) -> torch.Tensor:
    """Return 64-bit integers shifted to the right, filled with zeros."""
    return (x >> count) & ((1 << (64 - count)) - 1)


def mix(x: torch.Tensor) -> torch.Tensor:
    """Return integers whose bits all depend on all bits of `x`."""
    for count, factor in MIXERS:
        x = (x ^ shift(x, count)) * factor
    return x ^ shift(x, LAST_SHIFT)


def uniform(count: int, *keys: torch.Tensor) -> torch.Tensor:
    """Return float64 numbers in [0, 1) that follow from the keys: integers of any shape."""
    state = torch.zeros((), dtype=torch.int64)
    for key in keys:
        for word in key.reshape(-1).to(torch.int64).unbind():
            state = mix(state + STEP + word)
    drawn = mix(state + STEP * torch.arange(1, count + 1))
    return shift(drawn, 64 - BITS_OF_FLOAT).to(torch.float64) * 2.0**-BITS_OF_FLOAT


def draw_normal(count: int, *keys: torch.Tensor) -> torch.Tensor:
    """Return normally distributed float64 numbers (Box and Muller)."""
    first, second = uniform(2 * count, *keys).chunk(2)
    return torch.sqrt(-2 * torch.log1p(-first)) * torch.cos(2 * math.pi * second)


@kernel(
    "StatelessRandomUniformV2",
    source="ops-math:random/stateless_random_uniform_v2/op_graph/stateless_random_uniform_v2_proto.h",
)
def stateless_random_uniform_v2(
    shape: list[int],
    key: torch.Tensor,
    counter: torch.Tensor,
    alg: torch.Tensor,
    *,
    dtype: int = FLOAT,
) -> torch.Tensor:
    """Draw from [0, 1)."""
    del alg
    drawn = uniform(math.prod(shape), key, counter)
    wanted = from_runtime(dtype, where="StatelessRandomUniformV2")
    # Rounding to fewer bits must not give 1.
    largest = 1 - torch.finfo(wanted).eps / 2
    return drawn.clamp(max=largest).to(wanted).reshape(shape)


@kernel(
    "StatelessRandomNormalV2",
    source="ops-math:random/stateless_random_normal_v2/op_graph/stateless_random_normal_v2_proto.h",
)
def stateless_random_normal_v2(
    shape: list[int],
    key: torch.Tensor,
    counter: torch.Tensor,
    alg: torch.Tensor,
    *,
    dtype: int = FLOAT,
) -> torch.Tensor:
    """Draw from the normal distribution."""
    del alg
    drawn = draw_normal(math.prod(shape), key, counter)
    return drawn.to(from_runtime(dtype, where="StatelessRandomNormalV2")).reshape(shape)


@kernel(
    "StatelessBernoulli",
    source="ops-math:random/stateless_bernoulli/op_graph/stateless_bernoulli_proto.h",
)
def stateless_bernoulli(
    shape: list[int],
    prob: torch.Tensor,
    seed: torch.Tensor,
    offset: torch.Tensor,
    *,
    dtype: int = FLOAT,
) -> torch.Tensor:
    """Draw 1 with probability `prob`, of each element or of all, otherwise 0."""
    drawn = uniform(math.prod(shape), seed, offset).reshape(shape)
    return (drawn < prob).to(from_runtime(dtype, where="StatelessBernoulli"))


@kernel("StatelessBernoulliV2", source="inferred")
def stateless_bernoulli_v2(
    x: torch.Tensor, seed: torch.Tensor, offset: torch.Tensor, *, dtype: int
) -> torch.Tensor:
    """Draw 1 with the probability that `x` holds of each element, otherwise 0."""
    drawn = uniform(x.numel(), seed, offset).reshape(x.shape)
    return (drawn < x).to(from_runtime(dtype, where="StatelessBernoulliV2"))


@kernel(
    "StatelessRandperm",
    source="ops-math:random/stateless_randperm/op_graph/stateless_randperm_proto.h",
)
def stateless_randperm(
    n: int, seed: torch.Tensor, offset: torch.Tensor, *, layout: int = 0, dtype: int = INT64
) -> torch.Tensor:
    """Answer the numbers below n in random order."""
    del layout
    order = torch.argsort(uniform(n, seed, offset), stable=True)
    return order.to(from_runtime(dtype, where="StatelessRandperm"))


@kernel("MultinomialWithReplacement", source="torchair:aten.multinomial.default")
def multinomial_with_replacement(
    x: torch.Tensor,
    seed: torch.Tensor,
    offset: torch.Tensor,
    *,
    numsamples: int,
    replacement: bool = False,
) -> torch.Tensor:
    """Draw indices of the last axis, with probabilities proportional to `x`."""
    weights = x.to(torch.float64)
    if replacement:
        bounds = torch.cumsum(weights / weights.sum(-1, keepdim=True), -1)
        shape = [*x.shape[:-1], numsamples]
        drawn = uniform(math.prod(shape), seed, offset).reshape(shape)
        return torch.searchsorted(bounds, drawn, right=True).clamp(max=x.shape[-1] - 1)
    # The times at which events of these rates first happen: the earliest ones are the sample.
    waiting = -torch.log1p(-uniform(x.numel(), seed, offset).reshape(x.shape)) / weights
    return waiting.topk(numsamples, largest=False).indices


@kernel(
    "StatelessDropOutGenMask",
    source="ops-math:random/stateless_drop_out_gen_mask/op_graph/stateless_drop_out_gen_mask_proto.h",
)
def stateless_drop_out_gen_mask(
    shape: list[int],
    prob: torch.Tensor,
    seed: torch.Tensor,
    seed1: torch.Tensor,
    offset: torch.Tensor | None = None,
) -> torch.Tensor:
    """Draw a bit for each element, 1 with probability `prob`: 8 of them in each byte."""
    count = math.prod(shape)
    padded = -(-count // MASK_ALIGNMENT) * MASK_ALIGNMENT
    keys = (seed, seed1) if offset is None else (seed, seed1, offset)
    bits = (uniform(padded, *keys) < prob).reshape(-1, 8).to(torch.uint8)
    return (bits << torch.arange(8, dtype=torch.uint8)).sum(-1, dtype=torch.uint8)


@kernel(
    "DropOutDoMask", source="ops-math:random/drop_out_do_mask/op_graph/drop_out_do_mask_proto.h"
)
def drop_out_do_mask(x: torch.Tensor, mask: torch.Tensor, keep_prob: torch.Tensor) -> torch.Tensor:
    """Answer x / keep_prob where the element's bit of the mask is 1, otherwise 0."""
    bits = (mask.reshape(-1, 1) >> torch.arange(8, dtype=torch.uint8)) & 1
    keep = bits.reshape(-1)[: x.numel()].reshape(x.shape).bool()
    return torch.where(keep, x / keep_prob, 0).to(x.dtype)
