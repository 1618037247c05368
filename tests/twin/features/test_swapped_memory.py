"""Tensors of the device whose memory is the host's: native/runtime/memory/host_memory.cpp."""

from __future__ import annotations

import torch
import torch_npu


def test_a_tensor_in_host_memory_takes_part_in_operators() -> None:
    x = torch_npu.empty_with_swapped_memory(
        [300, 7], dtype=torch.float32, device=torch.device("npu:0")
    )
    assert x.device == torch.device("npu:0")
    values = torch.arange(2100.0).reshape(300, 7)
    x.copy_(values)
    torch.testing.assert_close((x + x.npu()).cpu(), values + values)
    x.mul_(2)
    torch.testing.assert_close((x.sum(0)).cpu(), 2 * values.sum(0))
    other = x.clone()
    del x
    torch_npu.npu.synchronize()
    torch.testing.assert_close(other.cpu(), 2 * values)
