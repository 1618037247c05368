"""Older versions of functions: they compute what the newest does without its additions."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.test_called_by_examples import noise, prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

YES, NO = True, False
FAR = 2**31 - 1


@dataclass(frozen=True)
class Written:
    """An operand that the function writes, and what it holds before."""

    before: torch.Tensor


def halves(*shape: int) -> torch.Tensor:
    return noise(*shape).half()


def result(*shape: int, dtype: torch.dtype = torch.half) -> Written:
    return Written(torch.full(shape, 9, dtype=dtype))


X, FIRST, SECOND = halves(6, 16), halves(3, 16, 32), halves(3, 32, 16)
BIASES = [halves(3, 32), halves(3, 16)]
NO_SCALES: list[object] = [None] * 8
QUERY, KEY, VALUE = halves(2, 4, 8, 16), halves(2, 2, 8, 16), halves(2, 2, 8, 16)
ONE = halves(2, 4, 1, 16)
PLAIN = (None,) * 5  # scales of quantized attention
BLOCKS = torch.tensor([[1, 0], [3, 2]], dtype=torch.int32)
PAGES = [halves(4, 8, 32), halves(4, 8, 32)]
GROUPS = [halves(2, 8), halves(3, 8), halves(1, 8)]
WEIGHTS = [halves(8, 5), halves(8, 5), halves(8, 5)]
BYTES = torch.randint(-9, 10, (6, 16), dtype=torch.int8)
BYTE_WEIGHTS = torch.randint(-9, 10, (3, 16, 8), dtype=torch.int8)
SCALES, BY_ROW = noise(3, 8).abs(), noise(6).abs()
ENDS = torch.tensor([2, 5, 6])
COMBINED = (torch.rand(6), torch.tensor([0, 1, 2, 0, 1, 2]))
TOKENS, CHOICES = halves(4, 8), torch.tensor([[1, 0], [2, 1], [0, 2], [1, 2]], dtype=torch.int32)
EXPANDED = (halves(8, 8), torch.randperm(8).int(), halves(4, 8), None)
STATISTICS = [noise(2, 3, 4, 1).abs().expand(2, 3, 4, 8).contiguous() + 1 for _ in range(4)]
RING = (halves(4, 2, 24), *STATISTICS[:2], halves(4, 2, 24), *STATISTICS[2:], None, "SBH")
RING_OUT = (result(4, 2, 24), *[result(2, 3, 4, 8, dtype=torch.float32) for _ in range(2)])

# The older version and the arguments, and the newest one with the same.
SAME: list[tuple[str, Sequence[object], str, Sequence[object]]] = [
    (
        "aclnnFFN",
        [X, FIRST, SECOND, [2, 1, 3], *BIASES, *NO_SCALES, "gelu", 0, result(6, 16)],
        "aclnnFFNV2",
        [X, FIRST, SECOND, [2, 1, 3], *BIASES, *NO_SCALES, "gelu", 0, NO, result(6, 16)],
    ),
    (
        "aclnnFFNV3",
        [X, FIRST, SECOND, ENDS, *BIASES, *NO_SCALES, "relu", 0, YES, result(6, 16)],
        "aclnnFFNV2",
        [X, FIRST, SECOND, [2, 5, 6], *BIASES, *NO_SCALES, "relu", 0, YES, result(6, 16)],
    ),
    (
        "aclnnFFNV3",
        [X, FIRST[0], SECOND[0], None, None, None, *NO_SCALES, "silu", 0, NO, result(6, 16)],
        "aclnnFFNV2",
        [X, FIRST[0], SECOND[0], None, None, None, *NO_SCALES, "silu", 0, NO, result(6, 16)],
    ),
    (
        "aclnnPromptFlashAttention",
        [
            *(QUERY, KEY, VALUE, None, None, [5, 8], 4, 0.25, 2, 1, "BNSD", 2),
            result(2, 4, 8, 16),
        ],
        "aclnnPromptFlashAttentionV3",
        [
            *(QUERY, KEY, VALUE, None, None, [5, 8], None, *PLAIN, 4, 0.25, 2, 1, "BNSD", 2, 0, 1),
            result(2, 4, 8, 16),
        ],
    ),
    (
        "aclnnPromptFlashAttentionV2",
        [
            *(QUERY, KEY, VALUE, None, None, [5, 8], [8, 6], *PLAIN, 4, 0.25, FAR, 0, "BNSD", 2, 0),
            result(2, 4, 8, 16),
        ],
        "aclnnPromptFlashAttentionV3",
        [
            *(QUERY, KEY, VALUE, None, None, [5, 8], [8, 6], *PLAIN, 4, 0.25, FAR, 0, "BNSD", 2, 0),
            *(1, result(2, 4, 8, 16)),
        ],
    ),
    (
        "aclnnIncreFlashAttention",
        [ONE, [KEY], [VALUE], None, None, [3, 8], 4, 0.25, "BNSD", 2, result(2, 4, 1, 16)],
        "aclnnIncreFlashAttentionV4",
        [
            *(ONE, [KEY], [VALUE], None, None, [3, 8], *PLAIN, None, None, None, None, 4, 0.25),
            *("BNSD", 2, 0, 1, result(2, 4, 1, 16)),
        ],
    ),
    (
        "aclnnIncreFlashAttentionV2",
        [ONE, [KEY], [VALUE], None, None, None, *PLAIN, 4, 0.25, "BNSD", 2, result(2, 4, 1, 16)],
        "aclnnIncreFlashAttentionV4",
        [
            *(ONE, [KEY], [VALUE], None, None, None, *PLAIN, None, None, None, None, 4, 0.25),
            *("BNSD", 2, 0, 1, result(2, 4, 1, 16)),
        ],
    ),
    (
        "aclnnIncreFlashAttentionV3",
        [
            *(ONE, PAGES[:1], PAGES[1:], None, None, [11, 16], *PLAIN, None, None, BLOCKS, 4),
            *(0.25, "BNSD", 2, 8, 1, result(2, 4, 1, 16)),
        ],
        "aclnnIncreFlashAttentionV4",
        [
            *(ONE, PAGES[:1], PAGES[1:], None, None, [11, 16], *PLAIN, None, None, BLOCKS, None, 4),
            *(0.25, "BNSD", 2, 8, 1, result(2, 4, 1, 16)),
        ],
    ),
    (
        "aclnnFusedInferAttentionScore",
        [
            *(QUERY, [KEY], [VALUE], None, None, [5, 8], [8, 6], *[None] * 10, 4, 0.25, FAR, FAR),
            *("BNSD", 2, 0, 0, 0, 0, YES, result(2, 4, 8, 16)),
            result(2, 4, 8, 1, dtype=torch.float32),
        ],
        "aclnnFusedInferAttentionScoreV2",
        [
            *(QUERY, [KEY], [VALUE], None, None, [5, 8], [8, 6], *[None] * 17, 4, 0.25, FAR, FAR),
            *("BNSD", 2, 0, 0, 0, 0, YES, 0, 0, result(2, 4, 8, 16)),
            result(2, 4, 8, 1, dtype=torch.float32),
        ],
    ),
    (
        "aclnnGroupedMatmulV2",
        [[X], [FIRST], *[None] * 5, [2, 3, 6], 3, 0, [result(6, 32)]],
        "aclnnGroupedMatmulV4",
        [
            *([X], [FIRST], *[None] * 6, torch.tensor([2, 3, 6]), None, None, None, 3, 0, 0, 0),
            *([result(6, 32)], None, None),
        ],
    ),
    (
        "aclnnGroupedMatmulV2",
        [GROUPS, WEIGHTS, *[None] * 5, None, 0, -1, [result(2, 5), result(3, 5), result(1, 5)]],
        "aclnnGroupedMatmul",
        [GROUPS, WEIGHTS, *[None] * 5, None, 0, [result(2, 5), result(3, 5), result(1, 5)]],
    ),
    (
        "aclnnGroupedMatmulV3",
        [[X], [FIRST], [BIASES[0]], *[None] * 4, torch.tensor([2, 3, 6]), 3, 0, [result(6, 32)]],
        "aclnnGroupedMatmulV4",
        [
            *([X], [FIRST], [BIASES[0]], *[None] * 5, torch.tensor([2, 3, 6]), None, None, None),
            *(3, 0, 0, 0, [result(6, 32)], None, None),
        ],
    ),
    *(
        (
            old,
            [BYTES, BYTE_WEIGHTS, None, None, SCALES, BY_ROW, ENDS, *outputs],
            new,
            [BYTES, BYTE_WEIGHTS, None, None, SCALES, BY_ROW, ENDS, *outputs],
        )
        for old, new in [("aclnnGroupedMatmulSwigluQuant", "aclnnGroupedMatmulSwigluQuantWeightNZ")]
        for outputs in [
            (result(6, 4, dtype=torch.int8), result(6, dtype=torch.float32), None),
        ]
    ),
    (
        "aclnnGroupedMatmulFinalizeRoutingWeightNz",
        [
            *(BYTES, BYTE_WEIGHTS, SCALES, None, BY_ROW, ENDS, None, *COMBINED, 0),
            *(ctypes.c_float(1), 0, NO, NO, 0, result(3, 8, dtype=torch.float32)),
        ],
        "aclnnGroupedMatmulFinalizeRoutingWeightNzV2",
        [
            *(BYTES, BYTE_WEIGHTS, SCALES, *[None] * 4, BY_ROW, ENDS, None, *COMBINED, 0),
            *(ctypes.c_float(1), 0, NO, NO, 0, None, result(3, 8, dtype=torch.float32)),
        ],
    ),
    (
        "aclnnMoeFinalizeRoutingV3",
        [*EXPANDED, *[None] * 7, 2, None, None, None, result(4, 8)],
        "aclnnMoeFinalizeRoutingV2",
        [*EXPANDED, None, None, None, 2, result(4, 8)],
    ),
    (
        "aclnnMoeTokenPermuteV2",
        [TOKENS, CHOICES, 0, NO, -1, result(8, 8), result(8, dtype=torch.int32), None],
        "aclnnMoeTokenPermute",
        [TOKENS, CHOICES, 0, NO, result(8, 8), result(8, dtype=torch.int32)],
    ),
    (
        "aclnnRingAttentionUpdate",
        [*RING, *RING_OUT],
        "aclnnRingAttentionUpdateV2",
        [*RING, "", *RING_OUT],
    ),
]


def written(function: str, arguments: Sequence[object]) -> list[torch.Tensor]:
    """Call the function and return what it wrote."""
    flat: list[torch.Tensor] = []

    def on_the_device(argument: object) -> object:
        if isinstance(argument, list):
            return [on_the_device(item) for item in argument]
        if not isinstance(argument, Written):
            return prepared(argument)
        flat.append(argument.before.to("npu"))
        return flat[-1]

    call(function, *map(on_the_device, arguments))
    return [tensor.cpu() for tensor in flat]


@pytest.mark.parametrize(
    ("old", "arguments", "new", "same"), SAME, ids=[f"{case[0]}-{i}" for i, case in enumerate(SAME)]
)
def test_an_older_version_computes_the_same(
    old: str, arguments: Sequence[object], new: str, same: Sequence[object]
) -> None:
    results, expected = written(old, arguments), written(new, same)
    assert expected
    for one, other in zip(results, expected, strict=True):
        assert torch.equal(one, other)
        assert not torch.equal(one, torch.full_like(one, 9))


def test_a_position_bias_of_the_first_version_is_refused() -> None:
    bias = halves(2, 4, 8, 8)
    with pytest.raises(AclnnError, match="parameter 'pseShift' is given"):
        written(
            "aclnnPromptFlashAttention",
            [
                *(QUERY, KEY, VALUE, bias, None, None, 4, 0.25, FAR, FAR, "BNSD", 2),
                result(2, 4, 8, 16),
            ],
        )
