"""Dropout, and random choices.

Operators with a seed as attribute get the same one in each call; the numbers of calls with one
seed are different all the same, and the same in each run of a program.
"""

from __future__ import annotations

import threading
from collections import Counter

import torch

from opwright.graph_engine.graph.model import Node
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

Two = tuple[torch.Tensor, torch.Tensor]

SEEDS = 2**63
drawn: Counter[tuple[int, int]] = Counter()
lock = threading.Lock()


def generator(seed: int, seed2: int) -> torch.Generator:
    """Return the numbers of the next call with these seeds."""
    with lock:
        drawn[seed, seed2] += 1
        call = drawn[seed, seed2]
    return torch.Generator().manual_seed(hash((seed, seed2, call)) % SEEDS)


@legacy_kernel("DropOutGenMaskV3", source="inferred")
def drop_out_gen_mask_v3(
    shape: list[int], prob: torch.Tensor, *, seed: int = 0, seed2: int = 0, node: Node
) -> torch.Tensor:
    """Draw for each element whether it is kept, a byte each."""
    size = node.outputs[0].shape or tuple(shape)
    numbers = torch.rand(size, generator=generator(seed, seed2))
    return (numbers < prob.float()).to(torch.uint8)


def drop(x: torch.Tensor, mask: torch.Tensor, keep: torch.Tensor | float) -> torch.Tensor:
    """Return what is kept, enlarged."""
    kept = mask.reshape(-1)[: x.numel()].reshape(x.shape)
    return widen(x) * kept / keep


@legacy_kernel(
    "DropOutDoMaskV3",
    source="ops-math:random/drop_out_do_mask_v3/op_graph/drop_out_do_mask_v3_proto.h",
)
def drop_out_do_mask_v3(
    x: torch.Tensor, mask: torch.Tensor, keep_prob: torch.Tensor
) -> torch.Tensor:
    """Drop elements with a mask of bytes."""
    return drop(x, mask, widen(keep_prob)).to(x.dtype)


@legacy_kernel(
    "AxpyWithSoftmaxAndDropOutDoMask",
    source="torch_npu:_op_plugin_docs.py:npu_dropout_with_add_softmax",
)
def axpy_with_softmax_and_drop_out_do_mask(
    x1: torch.Tensor,
    x2: torch.Tensor,
    mask: torch.Tensor,
    *,
    alpha: float,
    input_keep_prob: float,
    axis: list[int] = (-1,),  # type: ignore[assignment]
) -> Two:
    """Softmax of x1 + alpha * x2, and the same with dropout."""
    y = (widen(x1) + alpha * widen(x2)).softmax(axis[0])
    return y.to(x1.dtype), drop(y, mask, input_keep_prob).to(x1.dtype)


@legacy_kernel(
    "DropoutWithMulsAndSoftmaxGrad",
    source="torch_npu:_op_plugin_docs.py:npu_dropout_with_add_softmax",
)
def dropout_with_muls_and_softmax_grad(
    y_grad: torch.Tensor,
    mask: torch.Tensor,
    softmax_output: torch.Tensor,
    *,
    input_keep_prob: float,
    alpha: float,
    axes: list[int] = (-1,),  # type: ignore[assignment]
) -> torch.Tensor:
    """Gradient of AxpyWithSoftmaxAndDropOutDoMask by x2."""
    grad, y = drop(y_grad, mask, input_keep_prob), widen(softmax_output)
    inner = (grad - (grad * y).sum(axes[0], keepdim=True)) * y
    return (inner * alpha).to(y_grad.dtype)


@legacy_kernel(
    "RandomChoiceWithMask", source="graphengine:third_party/fwkacllib/inc/ops/random_ops.h"
)
def random_choice_with_mask(
    x: torch.Tensor, *, count: int = 0, seed: int = 0, seed2: int = 0
) -> Two:
    """Draw `count` places where x is set, and return which of them there are.

    They keep their order, as in the example of torch_npu's function; which ones are drawn is ours.
    """
    places = x.nonzero()
    order = torch.randperm(len(places), generator=generator(seed, seed2))
    chosen = places[order[: count or len(places)].sort().values]
    missing = (count or len(places)) - len(chosen)
    padded = torch.nn.functional.pad(chosen, (0, 0, 0, missing)).to(torch.int32)
    return padded, torch.arange(len(padded)) < len(chosen)
