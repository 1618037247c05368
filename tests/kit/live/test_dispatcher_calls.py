"""aclnn functions of CANN called by plans, against the same functions of torch on the CPU."""

from __future__ import annotations

import pytest

from tests.kit.live.dispatching import (  # loads the twin
    MARKS,
    NAMESPACE,
    library,
    like,
    operator,
    plan,
    same_shape,
)

# isort: split
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own name for it
from torch.utils._pytree import tree_map

from opwright.kit.live import _aclnn

pytestmark = MARKS

BROADCAST = (("broadcast", (same_shape(0), same_shape(1))),)
ADD = plan(
    "aclnnAdd",
    (
        ("aclTensor", ("argument", 0)),
        ("aclTensor", ("argument", 1)),
        ("aclScalar", ("argument", 2)),
        ("aclTensor", ("output", 0)),
    ),
    ({"shape": BROADCAST, "dtype": ("promote", (0, 1))},),
)


def same(got: object, expected: object) -> None:
    """Compare results on the device with those on the CPU."""
    torch.testing.assert_close(tree_map(torch.Tensor.cpu, got), expected)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (torch.arange(6.0).view(2, 3), torch.ones(3)),
        (torch.arange(6.0).view(2, 1, 3), torch.ones(4, 1)),
        (torch.arange(6).view(2, 3), torch.ones(3, dtype=torch.float64)),
        (torch.arange(6.0).view(3, 2).t(), torch.ones(2, 3)),
        (torch.arange(12.0)[2:8].view(2, 3)[:, 1:], torch.tensor(2.0)),
        (torch.empty(0, 3), torch.ones(3)),
    ],
)
def test_add_with_broadcast_and_promotion(x: torch.Tensor, y: torch.Tensor) -> None:
    with operator("(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor", ADD) as op:
        same(op(x.to("npu"), y.to("npu")), torch.add(x, y))
        same(op(x.to("npu"), y.to("npu"), alpha=3), torch.add(x, y, alpha=3))


def test_list_of_tensors() -> None:
    sizes = (("+", ("dim", 1, 0), ("dim", 2, 0)), ("span", 1, 1, None))
    rule = plan(
        "aclnnCat",
        (
            ("aclTensorList", ("argument", 0)),
            ("int64_t", ("constant", 0)),
            ("aclTensor", ("output", 0)),
        ),
        ({"shape": sizes, "dtype": ("like", 0)},),
    )
    a, b = torch.rand(2, 3), torch.rand(4, 3)
    with operator("(Tensor[] tensors, Tensor a, Tensor b) -> Tensor", rule) as op:
        same(op([a.to("npu"), b.to("npu")], a.to("npu"), b.to("npu")), torch.cat([a, b]))


def test_list_of_optional_tensors() -> None:
    rule = plan(
        "aclnnIndex",
        (
            ("aclTensor", ("argument", 0)),
            ("aclTensorList", ("argument", 1)),
            ("aclTensor", ("output", 0)),
        ),
        ({"shape": (("dim", 0, 0), ("arg", 2)), "dtype": ("like", 0)},),
    )
    x, index = torch.rand(3, 5), torch.tensor([4, 0, 2])
    with operator("(Tensor x, Tensor?[] indices, SymInt count) -> Tensor", rule) as op:
        same(op(x.to("npu"), [None, index.to("npu")], 3), x[:, index])


def test_lists_of_outputs() -> None:
    rule = plan(
        "aclnnForeachAddScalarList",
        (
            ("aclTensorList", ("argument", 0)),
            ("aclScalarList", ("argument", 1)),
            ("aclTensorList", ("outputs", (0, 1))),
        ),
        ({"shape": (2,), "dtype": ("like", 0)}, {"shape": (3,), "dtype": ("like", 0)}),
    )
    x = [torch.rand(2), torch.rand(3)]
    with operator("(Tensor[] x, Scalar[] scalars) -> (Tensor, Tensor)", rule) as op:
        same(op([t.to("npu") for t in x], [1.5, 2]), (x[0] + 1.5, x[1] + 2))


def test_two_outputs_of_different_dtypes() -> None:
    sizes = (("span", 0, 0, -1), ("arg", 1))
    rule = plan(
        "aclnnTopk",
        (
            ("aclTensor", ("argument", 0)),
            ("int64_t", ("argument", 1)),
            ("int64_t", ("argument", 2)),
            ("bool", ("argument", 3)),
            ("bool", ("constant", True)),
            ("aclTensor", ("output", 0)),
            ("aclTensor", ("output", 1)),
        ),
        (
            {"shape": sizes, "dtype": ("like", 0)},
            {"shape": sizes, "dtype": ("fixed", "int64")},
        ),
    )
    x = torch.rand(4, 9)
    schema = "(Tensor x, SymInt k, int dim=-1, bool largest=True) -> (Tensor values, Tensor idx)"
    with operator(schema, rule) as op:
        same(op(x.to("npu"), 3), tuple(torch.topk(x, 3)))
        same(op(x.to("npu"), 2, largest=False), tuple(torch.topk(x, 2, largest=False)))


LAYER_NORM = plan(
    "aclnnLayerNorm",
    (
        ("aclTensor", ("argument", 0)),
        ("aclIntArray", ("argument", 1)),
        ("aclTensor", ("argument", 2)),
        ("aclTensor", ("argument", 3)),
        ("double", ("argument", 4)),
        ("aclTensor", ("output", 0)),
        ("aclTensor", ("output", 1)),
        ("aclTensor", ("constant", None)),
    ),
    (
        like(0),
        {
            "shape": (("span", 0, 0, -1), 1),
            "dtype": ("fixed", torch.float32),
        },
    ),
)


@pytest.mark.parametrize("weighted", [True, False])
def test_optional_tensors(weighted: bool) -> None:  # noqa: FBT001
    schema = (
        "(Tensor x, SymInt[] shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5)"
        " -> (Tensor, Tensor)"
    )
    x, weight, bias = torch.rand(2, 3, 8), torch.rand(8), torch.rand(8)
    affine = (weight, bias) if weighted else (None, None)
    with operator(schema, LAYER_NORM) as op:
        given = tuple(t if t is None else t.to("npu") for t in affine)
        result, mean = op(x.to("npu"), [8], *given)
        same(result, F.layer_norm(x, [8], *affine))
        same(mean, x.mean(-1, keepdim=True))


@pytest.mark.parametrize(
    ("dim", "keepdim", "dtype"),
    [([1], False, None), ([0, -1], True, torch.float64), ([], False, None), (None, True, None)],
)
def test_reduction_with_optional_arguments(
    dim: list[int] | None,
    keepdim: bool,  # noqa: FBT001 - a parameter of the test
    dtype: torch.dtype | None,
) -> None:
    rule = plan(
        "aclnnReduceSum",
        (
            ("aclTensor", ("argument", 0)),
            ("aclIntArray", ("argument_or", 1, ())),
            ("bool", ("argument", 2)),
            ("aclDataType", ("output", 0)),
            ("aclTensor", ("output", 0)),
        ),
        ({"shape": (("reduced", 0, 1, 2),), "dtype": ("argument", 3, ("like", 0))},),
    )
    schema = "(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    x = torch.rand(2, 3, 4)
    with operator(schema, rule) as op:
        same(op(x.to("npu"), dim, keepdim, dtype=dtype), torch.sum(x, dim, keepdim, dtype=dtype))


def test_in_place_and_without_output() -> None:
    parameters = (
        ("aclTensor", ("argument", 0)),
        ("aclScalar", ("argument", 1)),
    )
    x = torch.rand(3, 4)
    returned = plan("aclnnInplaceMuls", parameters, returns=[("argument", 0)])
    with operator("(Tensor(a!) x, Scalar other) -> Tensor(a!)", returned) as op:
        y = x.to("npu").t()
        assert op(y, 2.5) is y
        same(y, x.t() * 2.5)
    with operator("(Tensor(a!) x, Scalar other) -> ()", plan("aclnnInplaceMuls", parameters)) as op:
        y = x.to("npu")
        assert op(y, 2) is None
        same(y, x * 2)


def test_out_argument() -> None:
    rule = plan(
        "aclnnSilu",
        (("aclTensor", ("argument", 0)), ("aclTensor", ("output", 0))),
        ({"argument": 1},),
    )
    x = torch.rand(5)
    with operator("(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", rule) as op:
        out = torch.empty(5, device="npu")
        assert op(x.to("npu"), out=out) is out
        same(out, F.silu(x))


def test_functional_twin_leaves_its_arguments_alone() -> None:
    rule = plan(
        "aclnnInplaceMuls",
        (("aclTensor", ("argument", 0)), ("aclScalar", ("argument", 1))),
        returns=[("argument", 0)],
        clone=[0],
    )
    with operator("(Tensor x, Scalar other) -> Tensor", rule) as op:
        x = torch.rand(3, 4)
        y = x.to("npu").t().requires_grad_()
        with torch.no_grad():
            same(op(y, 3), x.t() * 3)
        same(y.detach(), x.t())


def test_text_and_constants() -> None:
    rule = plan(
        "aclnnGeluMul",
        (
            ("aclTensor", ("argument", 0)),
            ("char", ("argument", 1)),
            ("aclTensor", ("output", 0)),
        ),
        (
            {
                "shape": (("span", 0, 0, -1), ("//", ("dim", 0, -1), ("const", 2))),
                "dtype": ("like", 0),
            },
        ),
    )
    x = torch.rand(3, 8)
    left, right = x.chunk(2, dim=-1)
    with operator("(Tensor x, str? approximate=None) -> Tensor", rule) as op:
        same(op(x.to("npu"), "tanh"), F.gelu(left, approximate="tanh") * right)
        same(op(x.to("npu")), F.gelu(left) * right)


def test_more_parameters_than_registers() -> None:
    parameters = tuple(("aclTensor", ("argument", index)) for index in range(2))
    arrays = tuple(("aclIntArray", ("argument", index)) for index in range(3, 6))
    rule = plan(
        "aclnnConvolution",
        (
            *parameters,
            ("aclTensor", ("argument", 2)),
            *arrays,
            ("bool", ("constant", False)),
            ("aclIntArray", ("constant", (0, 0))),
            ("int64_t", ("constant", 1)),
            ("aclTensor", ("output", 0)),
            ("int8_t", ("constant", 0)),
        ),
        (
            {
                "shape": (
                    ("dim", 0, 0),
                    ("dim", 1, 0),
                    ("-", ("+", ("dim", 0, 2), 1), ("dim", 1, 2)),
                    ("-", ("+", ("dim", 0, 3), 1), ("dim", 1, 3)),
                ),
                "dtype": ("like", 0),
            },
        ),
    )
    schema = (
        "(Tensor x, Tensor w, Tensor? b, SymInt[2] stride=1, SymInt[2] padding=0,"
        " int[2] dilation=1) -> Tensor"
    )
    x, w, b = torch.rand(2, 3, 6, 7), torch.rand(4, 3, 3, 2), torch.rand(4)
    with operator(schema, rule) as op:
        same(op(x.to("npu"), w.to("npu"), b.to("npu")), F.conv2d(x, w, b))
        same(op(x.to("npu"), w.to("npu"), None), F.conv2d(x, w))


def test_overload() -> None:
    x = torch.rand(3)
    with library() as fragment:
        fragment.define("overloaded.scaled(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
        with _aclnn.implement(NAMESPACE, "overloaded.scaled", ADD):
            op = getattr(torch.ops, NAMESPACE).overloaded.scaled
            same(op(x.to("npu"), x.to("npu"), alpha=2), x * 3)
