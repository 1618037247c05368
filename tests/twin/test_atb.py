"""Operators of ATB, which are not part of CANN: refused at the call, and nothing else is harmed."""

from __future__ import annotations

import ctypes

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

pytestmark = pytest.mark.twin


paged_attention = torch_npu._npu_paged_attention  # noqa: SLF001  # as models call it
reshape_and_cache = torch_npu._npu_reshape_and_cache  # noqa: SLF001


def half(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.float16, device="npu")


def test_operators_are_refused_with_what_to_use_instead() -> None:
    query, cache = half(2, 4, 64), half(3, 16, 4, 64)
    with pytest.raises(RuntimeError, match=r"PagedAttentionParam.*npu_fused_infer_attention_score"):
        paged_attention(
            query=query,
            key_cache=cache,
            value_cache=cache,
            num_kv_heads=4,
            num_heads=4,
            scale_value=0.1,
            block_table=torch.zeros(2, 1, dtype=torch.int32, device="npu"),
            context_lens=torch.tensor([3, 4], dtype=torch.int32),
            out=torch.empty_like(query),
        )
    with pytest.raises(RuntimeError, match=r"ReshapeAndCacheParam.*npu_scatter_pa_kv_cache"):
        reshape_and_cache(
            key=query,
            value=query,
            key_cache=cache,
            value_cache=cache,
            slot_indices=torch.tensor([0, 1], dtype=torch.int32, device="npu"),
        )
    assert (half(3) + 1).cpu().tolist() == [2, 2, 2]


def test_operators_that_are_looked_up_are_named() -> None:
    with pytest.raises(RuntimeError, match="AtbFusedAddTopkDiv"):
        torch_npu.atb.npu_fused_add_topk_div(
            half(4, 8), half(8), group_num=2, group_topk=1, n=1, k=2
        )
    assert (half(3) + 1).cpu().tolist() == [2, 2, 2]


class AtbTensor(ctypes.Structure):
    """atb::Tensor."""

    _fields_ = [
        ("dtype", ctypes.c_int32),
        ("format", ctypes.c_int32),
        ("dims", ctypes.c_int64 * 8),
        ("rank", ctypes.c_uint64),
        ("device_data", ctypes.c_void_p),
        ("host_data", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
    ]


@pytest.mark.parametrize("rank", [8, 1 << 40])
def test_a_tensor_has_at_most_eight_dimensions(rank: int) -> None:
    size_of = ctypes.CDLL("libatb.so")["_ZN3atb5Utils13GetTensorSizeERKNS_6TensorE"]
    size_of.restype = ctypes.c_uint64
    tensor = AtbTensor(dims=(ctypes.c_int64 * 8)(2, 3, 1, 1, 1, 1, 1, 5), rank=rank)
    assert size_of(ctypes.byref(tensor)) == 30 * 4
