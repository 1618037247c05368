"""Base formats: native/opapi/ops/shape/format.cpp; the others: features/test_tiled_formats.py."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import AclnnError, acl_tensor, call, find
from tests.twin.ops.compare import agree

ND, NCHW, NHWC = 2, 0, 1


@pytest.mark.parametrize("target", [ND, NCHW, NHWC])
def test_base_formats_keep_the_values(target: int) -> None:
    x = torch.randn(2, 3, 4, 5)
    cast = torch_npu.npu_format_cast(x.to("npu"), target)
    assert torch_npu.get_npu_format(cast) == target
    agree(cast, x)
    agree(cast + 1, x + 1)


def size_and_format(
    x: torch.Tensor, target: int, additional: int = -1
) -> tuple[int, list[int], int]:
    shape, rank, actual = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64(), ctypes.c_int()
    address = find(b"aclnnNpuFormatCastCalculateSizeAndFormat")
    function = ctypes.CFUNCTYPE(ctypes.c_int)(address)
    source = ctypes.c_void_p(acl_tensor(x))
    outputs = (ctypes.byref(shape), ctypes.byref(rank), ctypes.byref(actual))
    code = function(source, target, additional, *outputs)
    return code, [] if code else shape[: rank.value], actual.value


def test_size_and_format() -> None:
    x = torch.randn(2, 3, 4, device="npu")
    assert size_and_format(x, ND) == (0, [2, 3, 4], ND)


def test_cast_copies() -> None:
    x = torch.randn(4, 6)
    out = torch.zeros(4, 6, device="npu")
    call("aclnnNpuFormatCast", x.to("npu")[:, ::1], out)
    agree(out, x)


def test_static_kernels() -> None:
    for name, arguments in (
        ("aclnnReselectStaticKernel", ()),
        ("aclnnReselectStaticKernelWithPath", (b"/somewhere",)),
    ):
        assert ctypes.CFUNCTYPE(ctypes.c_int)(find(name.encode()))(*arguments) == 0
    assert (
        ctypes.CFUNCTYPE(ctypes.c_int)(find(b"aclnnReselectStaticKernelWithPath"))(None) == 161001
    )


def test_null_is_refused() -> None:
    with pytest.raises(AclnnError, match="'dstTensor' is null"):
        call("aclnnNpuFormatCast", torch.ones(2, device="npu"), None)
