"""Checks npu_scatter_pa_cache in each mode against plain PyTorch; PYTHONPATH has the form."""

import torch

import operators  # noqa: F401 - completes npu::npu_scatter_pa_cache
from modes import Case, verify

PAGES, PAGE, HEADS, WIDTH = 5, 8, 2, 3


def model(cache, key, slots):
    torch.ops.npu.npu_scatter_pa_cache(torch.relu(key), slots, key_cache=cache)
    return torch.sum(cache, dim=(0, 1))


def reference(cache, key, slots):
    cache.flatten(0, 1)[slots.long()] = torch.relu(key)
    return torch.sum(cache, dim=(0, 1))


def inputs(size):
    slots = torch.randperm(PAGES * PAGE)[:size].int()
    return [torch.randn(PAGES, PAGE, HEADS, WIDTH), torch.randn(size, HEADS, WIDTH), slots]


verify(
    Case(
        name="scatter_pa_cache",
        operator="ScatterPaCache",
        model=model,
        reference=reference,
        inputs=inputs,
        writes=(0,),
    ),
)
