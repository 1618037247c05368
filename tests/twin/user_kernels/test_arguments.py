"""Arguments of a Python reference function that is called as an extension calls its operator."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu

from opwright import twin
from opwright.twin.user_kernels.dtypes import FROM_RUNTIME
from tests.twin.aclnn_calls import Scalar, acl_tensor, call, converted, find, nnopbase

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.usefixtures("device")]

ADD = "(const aclTensor *x, const aclTensor *y, aclTensor *out)"


def seen_by(name: str, parameters: str, *arguments: object) -> tuple[Any, ...]:
    """Call an operator and return what its reference function gets; tensors are copied."""
    seen: list[object] = []

    def keep(value: object) -> object:
        if isinstance(value, torch.Tensor):
            return value.clone()
        return [keep(item) for item in value] if isinstance(value, list) else value

    def reference(*values: object) -> None:
        seen.extend(map(keep, values))

    with twin.kernel(f"{name}({parameters})")(reference).registration:
        call(name, *arguments)
        torch_npu.npu.synchronize()
    return tuple(seen)


def test_tensors_and_outputs() -> None:
    @twin.kernel(f"aclnnTestAdd{ADD}")
    def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
        assert x.device.type == "cpu"
        torch.add(x, y, out=out)

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    out = torch.empty(3, 4, device="npu")
    for _ in range(3):
        call("aclnnTestAdd", x.to("npu"), y.to("npu"), out)
        torch.testing.assert_close(out.cpu(), x + y, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", FROM_RUNTIME.values(), ids=str)
def test_every_dtype(dtype: torch.dtype) -> None:
    bits = torch.arange(48, dtype=torch.uint8).reshape(3, 16) % 2
    value = bits.view(dtype)
    (x,) = seen_by("aclnnTestDtype", "const aclTensor *x", bits.to("npu").view(dtype))
    assert x.dtype == dtype
    assert x.shape == value.shape
    assert torch.equal(x.view(torch.uint8), bits)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1:, ::2],
        lambda x: x[2],
        lambda x: x[:, :1].expand(4, 5),
        lambda x: x[1, 3],
    ],
    ids=["transposed", "sliced", "row", "expanded", "0-d"],
)
def test_views(view: Callable[[torch.Tensor], torch.Tensor]) -> None:
    base = torch.arange(24.0).reshape(4, 6)
    on_device = view(base.to("npu"))
    strides: list[tuple[int, ...]] = []

    @twin.kernel("aclnnTestView(const aclTensor *x, aclTensor *out)")
    def copy(x: torch.Tensor, out: torch.Tensor) -> None:
        strides.append(x.stride())
        out.copy_(x)

    out = torch.empty(on_device.shape, device="npu")
    call("aclnnTestView", on_device, out)
    torch_npu.npu.synchronize()
    copy.registration.remove()
    assert torch.equal(out.cpu(), view(base))
    assert strides == [on_device.stride()]


def test_an_output_that_is_a_view() -> None:
    @twin.kernel("aclnnTestFill(aclTensor *out)")
    def fill(out: torch.Tensor) -> None:
        out.fill_(7)

    base = torch.zeros(4, 6).to("npu")
    call("aclnnTestFill", base[1:3, 1::2])
    expected = torch.zeros(4, 6)
    expected[1:3, 1::2] = 7
    assert torch.equal(base.cpu(), expected)


def test_empty_tensors() -> None:
    empty = torch.empty(0, 3, device="npu")
    x, out = seen_by("aclnnTestEmpty", "const aclTensor *x, aclTensor *out", empty, empty)
    assert x.shape == out.shape == (0, 3)


def test_null_and_lists() -> None:
    one = torch.arange(3.0)
    absent, tensors, no_list = seen_by(
        "aclnnTestLists",
        "const aclTensor *xOptional, const aclTensorList *xs, const aclTensorList *ysOptional",
        None,
        [one.to("npu"), None, (one + 1).to("npu")],
        None,
    )
    assert absent is None
    assert no_list is None
    assert tensors[1] is None
    assert torch.equal(tensors[0], one)
    assert torch.equal(tensors[2], one + 1)


def test_scalars_and_arrays() -> None:
    values = seen_by(
        "aclnnTestScalars",
        "const aclScalar *a, const aclScalar *b, const aclScalar *c, const aclScalar *d, "
        "const aclScalar *eOptional, const aclScalarList *list, const aclIntArray *ints, "
        "const aclFloatArray *floats, const aclBoolArray *bools, const aclIntArray *none, "
        "const aclIntArray *nullOptional",
        *(Scalar(1.5), Scalar(-(2**62)), Scalar(value=True), Scalar(1 - 2j), None),
        *([Scalar(1), Scalar(0.5)], [1, -2], [0.5, -1.0], [True, False], [], None),
    )
    assert values == (
        *(1.5, -(2**62), True, 1 - 2j, None, [1, 0.5], [1, -2], [0.5, -1.0]),
        *([True, False], [], None),
    )
    assert [type(value) for value in values[:4]] == [float, int, bool, complex]


def test_attributes() -> None:
    values = seen_by(
        "aclnnTestAttributes",
        "int64_t a, int32_t b, uint64_t c, double d, float e, bool f, char *g, "
        "char *hOptional, aclDataType i, int8_t j",
        *(-(2**40), ctypes.c_int32(-3), ctypes.c_uint64(5), 0.1, ctypes.c_float(0.5), True),
        *("ab€", None, torch.bfloat16, ctypes.c_int8(-1)),
    )
    assert values == (-(2**40), -3, 5, 0.1, 0.5, True, "ab€", None, torch.bfloat16, -1)


def test_forms_of_an_operator_reach_one_function() -> None:
    seen: list[tuple[object, ...]] = []

    @twin.kernel(
        "class TestForms : public OpDef { TestForms(const char *n) : OpDef(n) {"
        'this->Input("sizes").DataType({ge::DT_INT64}).ValueDepend(REQUIRED);'
        'this->Input("mask").ParamType(OPTIONAL).Version(1);'
        'this->Attr("axis").AttrType(OPTIONAL).Int(-1).Version(1);'
        'this->Attr("mode").AttrType(OPTIONAL).String("add");'
        'this->Output("y"); } };'
    )
    def forms(*values: object) -> None:
        seen.append(values[:4])

    out = torch.empty(1, device="npu")
    call("aclnnTestForms", [1, 2], "max", out)
    call("aclnnTestFormsV1", [1, 2], None, 3, None, out)
    call("aclnnTestFormsV1Tensor", torch.tensor([1, 2]).to("npu"), None, 3, None, out)
    torch_npu.npu.synchronize()
    assert seen == [([1, 2], None, -1, "max"), *[([1, 2], None, 3, "add")] * 2]


def test_a_repeatable_executor_runs_again_with_another_address() -> None:
    @twin.kernel("aclnnTestRepeat(const aclTensor *x, aclTensor *out)")
    def double(x: torch.Tensor, out: torch.Tensor) -> None:
        torch.mul(x, 2, out=out)

    x, other, out = (torch.full((4,), value).to("npu") for value in (1.0, 5.0, math.nan))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    first = prototype(find(b"aclnnTestRepeatGetWorkspaceSize"))
    second = prototype(find(b"aclnnTestRepeat"))
    assert first(converted(x), converted(out), ctypes.byref(size), ctypes.byref(executor)) == 0
    assert nnopbase.aclSetAclOpExecutorRepeatable(executor) == 0
    stream = ctypes.c_void_p(torch_npu.npu.current_stream().npu_stream)
    results = []
    for source in (x, other):
        address = ctypes.c_void_p(source.data_ptr())
        tensor = ctypes.c_void_p(acl_tensor(source))
        assert nnopbase.aclSetInputTensorAddr(executor, ctypes.c_size_t(0), tensor, address) == 0
        assert second(None, size, executor, stream) == 0
        results.append(out.cpu()[0].item())
    assert nnopbase.aclDestroyAclOpExecutor(executor) == 0
    assert results == [2.0, 10.0]
