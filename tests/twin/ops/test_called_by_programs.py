"""Functions that C++ programs call and torch_npu does not, against formulas in PyTorch.

Their lines stand in the tables of their families: native/opapi/ops.
"""

from __future__ import annotations

import ctypes
import functools
import operator
from typing import TYPE_CHECKING

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, Scalar, call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

X = torch.tensor([[3.5, -1.25, 0.5], [2.0, 7.5, -4.0]])
Y = torch.tensor([[1.0, 2.0, -0.5], [4.0, 0.25, 8.0]])
SQUARE = torch.tensor([[4.0, 1.0], [2.0, 3.0]])
POSITIVE = X.abs() + 0.5
CUBE = torch.arange(24.0).view(2, 3, 4).sin()
EXTREMES = torch.tensor([1.0, float("inf"), float("-inf"), float("nan")])
BITS = torch.tensor([1, 6, -8], dtype=torch.int32)

YES, NO = True, False

# Function, inputs, what it writes. Numbers that C passes as int64, bool or array are Python's.
NEW: list[tuple[str, Sequence[object], torch.Tensor]] = [
    ("aclnnSum", [[X, Y, X]], X + Y + X),
    ("aclnnAddN", [[X, Y]], X + Y),
    ("aclnnMaxN", [[X, Y, X - Y]], functools.reduce(torch.maximum, [X, Y, X - Y])),
    ("aclnnMinN", [[X, Y, X - Y]], functools.reduce(torch.minimum, [X, Y, X - Y])),
    ("aclnnDigamma", [POSITIVE], POSITIVE.digamma()),
    ("aclnnLgamma", [POSITIVE], POSITIVE.lgamma()),
    ("aclnnReal", [torch.complex(X, Y)], X),
    ("aclnnIsInf", [EXTREMES], torch.tensor([False, True, True, False])),
    ("aclnnGer", [X[0], Y[1]], X[0][:, None] * Y[1]),
    ("aclnnLogdet", [SQUARE], torch.tensor(10.0).log()),
    ("aclnnCumsumV2", [X, 1, False, False], X.cumsum(1)),
    ("aclnnCumsumV2", [X, 1, True, False], X.cumsum(1) - X),
    ("aclnnCumsumV2", [X, -1, False, True], X.flip(1).cumsum(1).flip(1)),
    ("aclnnCumsumV2", [X, 0, True, True], torch.stack([X[1], torch.zeros(3)])),
    ("aclnnArgsort", [X, 1, False], torch.tensor([[1, 2, 0], [2, 0, 1]])),
    ("aclnnArgsort", [X, 0, True], torch.tensor([[0, 1, 0], [1, 0, 1]])),
    ("aclnnVar", [X, [1], True, False], X.var(1)),
    ("aclnnVar", [X, [0], False, True], X.var(0, correction=0, keepdim=True)),
    ("aclnnVar", [X, None, True, False], X.var()),
    ("aclnnMaxV2", [X, [0, 1], False, False], torch.tensor(7.5)),
    ("aclnnMaxV2", [X, [0], True, False], torch.tensor([[3.5, 7.5, 0.5]])),
    ("aclnnMaxV2", [X, [], False, True], X),
    ("aclnnMeanV2", [X, [1], False, False], X.sum(1) / 3),
    ("aclnnMeanV2", [X, [], False, False], X.sum() / 6),
    ("aclnnMeanV2", [X, [], True, True], X),
    ("aclnnReduceLogSum", [POSITIVE, [1], True, False], POSITIVE.sum(1, keepdim=True).log()),
    ("aclnnGlobalMaxPool", [CUBE[None]], CUBE[None].flatten(2).amax(2)[..., None, None]),
    ("aclnnGlobalAveragePool", [CUBE[None]], CUBE[None].flatten(2).mean(2)[..., None, None]),
    ("aclnnExpand", [X[:, None], [2, 4, 3]], torch.stack([X] * 4, 1)),
    ("aclnnPermute", [CUBE, [2, 0, 1]], CUBE.movedim(2, 0)),
    ("aclnnFlatten", [CUBE, 2], CUBE.reshape(6, 4)),
    ("aclnnFlatten", [CUBE, -2], CUBE.reshape(2, 12)),
    ("aclnnFlatten", [CUBE, 0], CUBE.reshape(1, 24)),
    ("aclnnDiagFlat", [X, 1], torch.diag(X.reshape(-1), 1)),
    ("aclnnSlice", [CUBE, 2, -3, 99, 2], CUBE[:, :, 1::2]),
    ("aclnnSlice", [CUBE, 1, 0, -1, 1], CUBE[:, :2]),
    ("aclnnSliceV2", [CUBE, [1, -3], [3, 4], [1, 2], [1, 2]], CUBE[:, 1:, 1::2]),
]

IN_PLACE: list[tuple[str, torch.Tensor, Sequence[object], torch.Tensor]] = [
    ("aclnnInplaceNeg", X, [], -X),
    ("aclnnInplaceRound", X, [], torch.tensor([[4.0, -1.0, 0.0], [2.0, 8.0, -4.0]])),
    ("aclnnInplaceTrunc", X, [], torch.tensor([[3.0, -1.0, 0.0], [2.0, 7.0, -4.0]])),
    ("aclnnInplaceXLogYTensor", X, [POSITIVE], X * POSITIVE.log()),
    ("aclnnInplaceCumprod", X, [Scalar(1)], X.cumprod(1)),
    ("aclnnInplaceBitwiseOrScalar", BITS, [Scalar(5)], torch.tensor([5, 7, -3]).int()),
    ("aclnnInplaceBitwiseOrTensor", BITS, [BITS.flip(0)], torch.tensor([-7, 6, -7]).int()),
]


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


def on_npu(value: object) -> object:
    if isinstance(value, list):
        return [on_npu(item) for item in value]
    return value.to("npu") if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize(
    ("function", "inputs", "expected"), NEW, ids=map(operator.itemgetter(0), NEW)
)
def test_result(function: str, inputs: Sequence[object], expected: torch.Tensor) -> None:
    out = torch.full_like(expected, 99).to("npu")
    call(function, *map(on_npu, inputs), out)
    close(out.cpu(), expected)


@pytest.mark.parametrize(
    ("function", "self", "others", "expected"), IN_PLACE, ids=map(operator.itemgetter(0), IN_PLACE)
)
def test_result_in_place(
    function: str, self: torch.Tensor, others: Sequence[object], expected: torch.Tensor
) -> None:
    target = self.to("npu")
    call(function, target, *map(on_npu, others))
    close(target.cpu(), expected)


def test_parts_of_a_tensor() -> None:
    parts = [torch.zeros(2, 3, 3).to("npu"), torch.zeros(2, 3, 1).to("npu")]
    call("aclnnSplitTensor", CUBE.to("npu"), ctypes.c_uint64(3), 2, parts)
    close(torch.cat(parts, 2).cpu(), CUBE)
    with pytest.raises(AclnnError, match="'out' has 1 tensors, but the operator produces 2"):
        call("aclnnSplitTensor", CUBE.to("npu"), ctypes.c_uint64(3), 2, parts[:1])


@pytest.mark.parametrize("some", [True, False])
def test_orthogonal_and_triangular_factor(*, some: bool) -> None:
    matrix = CUBE[0].t()  # 4 rows, 3 columns
    rank = 3 if some else 4
    q, r = torch.zeros(4, rank).to("npu"), torch.zeros(rank, 3).to("npu")
    call("aclnnQr", matrix.to("npu"), some, q, r)
    close((q @ r).cpu(), matrix)
    close((q.t() @ q).cpu(), torch.eye(rank))
    close(r.tril(-1).cpu(), torch.zeros(rank, 3))


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        ("aclnnFlatten", [CUBE, 4], "parameter 'axis' is 4, but must be from -3 to 3"),
        ("aclnnSliceV2", [CUBE, [1], [2], [1, 2], [1]], "2 axes for 1 starts, 1 ends and 1 steps"),
        ("aclnnGlobalMaxPool", [X], r"'self' has shape \[2, 3\]; allowed: 4 to 8 dimensions"),
        ("aclnnPermute", [CUBE, [0, 1]], "number of dimensions"),
    ],
)
def test_what_does_not_fit_is_refused(
    function: str, inputs: Sequence[object], message: str
) -> None:
    with pytest.raises(AclnnError, match=message):
        call(function, *map(on_npu, inputs), torch.zeros(1, 2).to("npu"))


TOTALS: list[tuple[str, Sequence[object], Callable[[torch.Tensor], torch.Tensor]]] = [
    ("aclnnMax", [], torch.amax),
    ("aclnnMin", [], torch.amin),
    ("aclnnProd", [torch.float32], torch.prod),
    ("aclnnMean", [[], False, torch.float32], torch.mean),
    ("aclnnMean", [[0, 1], False, torch.float32], torch.mean),
    ("aclnnReduceSum", [[0, 1], False, torch.float32], torch.sum),
]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
@pytest.mark.parametrize(("function", "options", "reference"), TOTALS)
def test_a_total_goes_to_any_output_of_one_element(
    function: str,
    options: Sequence[object],
    reference: Callable[[torch.Tensor], torch.Tensor],
    shape: tuple[int, ...],
) -> None:
    out = torch.zeros(shape).to("npu")
    call(function, X.to("npu"), *options, out)
    close(out.cpu(), reference(X).view(shape))


@pytest.mark.parametrize("shape", [(), (1,)], ids=str)
def test_other_totals_go_to_any_output_of_one_element(shape: tuple[int, ...]) -> None:
    low, high = torch.zeros(shape).to("npu"), torch.zeros(shape).to("npu")
    call("aclnnAminmaxAll", X.to("npu"), low, high)
    assert (low.item(), high.item()) == (-4.0, 7.5)
    index = torch.zeros(shape, dtype=torch.int64).to("npu")
    call("aclnnArgMax", X[0].to("npu"), 0, NO, index)
    assert index.item() == 0
    loss = torch.zeros(shape).to("npu")
    call("aclnnKlDiv", X.to("npu"), POSITIVE.to("npu"), 2, NO, loss)
    close(loss.cpu(), (POSITIVE * (POSITIVE.log() - X)).sum().view(shape))


def test_several_elements_are_no_place_for_a_total() -> None:
    with pytest.raises(AclnnError, match=r"has shape \[2\], but the operator produces \[\]"):
        call("aclnnMax", X.to("npu"), torch.zeros(2).to("npu"))
    with pytest.raises(AclnnError, match=r"but the operator produces \[1, 1\]"):
        call("aclnnReduceSum", X.to("npu"), [0, 1], YES, torch.float32, torch.zeros(1).to("npu"))
