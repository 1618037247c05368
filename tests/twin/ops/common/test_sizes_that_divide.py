"""Sizes by which functions divide: an empty dimension is refused, it does not end the process.

An integer division by zero is a signal, which no handler of exceptions sees. The calls of a family
share a process; a call during which it dies is named.
"""

from __future__ import annotations

import functools
import json
import signal
import sys
from typing import TypeAlias

import pytest
import torch
import torch_npu

from tests.twin import on_twin
from tests.twin.aclnn_calls import call

# A function without the prefix aclnn, a part of its refusal, its arguments.
Call: TypeAlias = tuple[str, str, list[object]]

NO = False
YES = True


def half(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.float16)


def brain(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.bfloat16)


def floats(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def int8(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int8)


def int32(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int32)


def none(count: int) -> list[None]:
    return [None] * count


def mla_prolog(heads: int, page_size: int, cache_mode: str) -> list[object]:
    return [
        *(brain(2, 3, 64), brain(64, 48), brain(48, 64), brain(heads, 32, 32), brain(64, 64)),
        *(brain(48), brain(32), brain(2, 3, 32), brain(2, 3, 32)),
        *(brain(5, page_size, 1, 32), brain(5, page_size, 1, 32), int32(2)),
        *none(9),
        *(1e-5, 1e-5, cache_mode, 0, 0, 0, 0, 0, 128, 1.0, 1.0),
        *(brain(2, 3, heads, 32), brain(2, 3, heads, 32), None, None, None),
    ]


def compress_infer(*, compress: int = 4, stride: int = 2, block: int = 6) -> list[object]:
    return [
        *(half(1, 4, 8), half(2, 16, 2 * 8), half(2, 16, 2 * 8), None, int32(1, 1)),
        *(None, [14], None, None, 4, 2, block, 3, compress, stride, 1.0, "TND", 16, 0),
        *(half(1, 4, 8), int32(1, 2, 3)),
    ]


def attention(inputs: int, statistics: torch.Tensor) -> list[object]:
    """BSH without H for the query."""
    return [
        *(half(2, 3, 0), half(2, 3, 16), half(2, 3, 16), *none(inputs)),
        *(1.0, 1.0, 64, 64, 2, "BSH", 0, 0),
        *(statistics, statistics, None, half(2, 3, 0)),
    ]


def grouped_matmul(
    x: torch.Tensor, weight: torch.Tensor, antiquant: torch.Tensor | None = None
) -> list[object]:
    """Two products of the same."""
    scales = None if antiquant is None else [antiquant] * 2
    return [
        *([x] * 2, [weight] * 2, *none(3), scales, *none(6)),
        *(0, -1, 0, 0, [half(*x.shape[:-1], weight.size(-1)) for _ in range(2)], None, None),
    ]


CALLS: dict[str, list[Call]] = {
    "moe": [
        (
            "MoeFinalizeRoutingV2",
            "'expandedRowIdx' has 0 elements",
            [half(0, 8), int32(0), *none(5), 0, half(2, 8)],
        ),
        (
            "MoeTokenPermuteWithRoutingMapGrad",
            "the list of permuted rows is empty",
            [half(0, 8), None, int32(0), None, 4, 3, NO, half(3, 8), None],
        ),
        (
            "MoeTokenUnpermuteWithRoutingMap",
            "the list of permuted rows is empty",
            [half(0, 8), int32(0), *none(2), NO, None, half(3, 8), int32(0), int32(0), None],
        ),
        (
            "MoeTokenUnpermuteWithRoutingMapGrad",
            "the list of permuted rows is empty",
            [half(3, 8), int32(0), int32(0), *none(3), NO, None, half(0, 8), None],
        ),
    ],
    "caches": [
        ("MlaPrologV3WeightNz", "weightUk", mla_prolog(0, 4, "PA_BSND")),
        ("MlaPrologV3WeightNz", "must hold tokens", mla_prolog(1, 0, "PA_BLK_BSND")),
        ("MlaPrologV3WeightNz", "must hold tokens", mla_prolog(1, 0, "PA_BLK_NZ")),
        (
            "RopeWithSinCosCache",
            "it must be 0 tokens",
            [
                *(int32(0), half(2, 16), half(2, 16), half(5, 16), [], 16, YES),
                *(half(2, 16), half(2, 16)),
            ],
        ),
        (
            "DequantRopeQuantKvcache",
            "multiples of 0",
            [
                *(half(2, 1, 48), half(2, 1, 0), half(2, 1, 0), int8(2, 4, 1, 16)),
                *(int8(2, 4, 1, 16), int32(2), floats(16), floats(16), *none(5), [16, 16, 16]),
                *("static", "BSND", NO, "contiguous", half(2, 1, 1, 16), None, None),
            ],
        ),
        (
            "GatherPaKvCache",
            "pages without tokens",
            [
                *(half(4, 0, 2, 8), half(4, 0, 2, 8), int32(1, 2), int32(1) + 3),
                *(half(3, 2, 8), half(3, 2, 8), int32(1), "Norm", NO),
            ],
        ),
    ],
    "attention": [
        ("NsaCompressAttentionInfer", "must be positive", compress_infer(block=0)),
        ("NsaCompressAttentionInfer", "must be positive", compress_infer(block=-6)),
        ("NsaCompressAttentionInfer", "must be positive", compress_infer(stride=0)),
        ("NsaCompressAttentionInfer", "must be positive", compress_infer(compress=0)),
        (
            "FlashAttentionScore",
            "values of a head of the query",
            attention(5, floats(2, 2, 3, 8)),
        ),
    ],
    "shapes": [
        ("GatherV3", "0 cannot be divided", [half(0, 4), 1, int32(0, 2), 1, 0, half(2, 2)]),
        ("Repeat", "2 cannot be divided among 0 repeats", [half(2), [0], half(2)]),
    ],
    "products": [
        (
            "RotateQuant",
            "rotation has shape [0, 0]",
            [half(2, 4), half(0, 0), None, -1, "rint", 0, 0.0, NO, int8(2, 4), floats(2)],
        ),
        (
            "GroupedMatmulV4",
            "'antiquantScale' has 0 blocks",
            grouped_matmul(half(2, 4), int8(4, 3), half(0, 3)),
        ),
    ],
}
# Of no elements, which is allowed.
EMPTY: dict[str, list[Call]] = {
    "nothing": [
        (
            "GroupedMatmulV4",
            "",
            grouped_matmul(half(1, 2, 0), half(0, 3)),
        ),
        (
            "MaskedSoftmaxWithRelPosBias",
            "",
            [half(2, 1, 0, 4, 4), half(1, 4, 4), half(0, 4, 4), 1.0, 0, half(2, 1, 0, 4, 4)],
        ),
    ],
}
ALL = CALLS | EMPTY


def on_npu(argument: object) -> object:
    if isinstance(argument, torch.Tensor):
        return argument.to("npu")
    if isinstance(argument, list):
        return [on_npu(each) for each in argument]
    return argument


def report(family: str) -> None:
    """Call one function after the other; print what each says."""
    for number, (function, _, arguments) in enumerate(ALL[family]):
        try:
            call(f"aclnn{function}", *(on_npu(each) for each in arguments))
            torch_npu.npu.synchronize()
            text = ""
        except RuntimeError as error:
            text = str(error)
        sys.stdout.write(json.dumps([number, text]) + "\n")
        sys.stdout.flush()


@functools.cache
def outcomes(family: str) -> dict[int, str]:
    """Return what each call said; of the one during which the process died, the signal."""
    done = on_twin.run(report, family)
    found: dict[int, str] = dict(json.loads(line) for line in done.stdout.splitlines())
    if done.returncode != 0:
        end = signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr
        found[len(found)] = f"the process ended: {end}"
    return found


@pytest.mark.parametrize(
    ("family", "number"),
    [
        pytest.param(family, number, id=f"{family}-{function}-{number}")
        for family, calls in ALL.items()
        for number, (function, _, _) in enumerate(calls)
    ],
)
def test_no_division_by_zero(family: str, number: int) -> None:
    text = outcomes(family).get(number, "not called: the process ended in a call before")
    words = ALL[family][number][1]
    assert words in text if words else text == "", text
