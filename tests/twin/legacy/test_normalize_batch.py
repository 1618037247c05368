"""Normalised batches of sequences: opwright/graph_engine/legacy/kernels/sequences.py."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import run_on_npu
from tests.twin.ops.samples import some


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed")
@pytest.mark.parametrize("shared", [0, 1])
def test_normalize_batch(shared: int) -> None:
    x, lengths = some((3, 4, 7), torch.float32), torch.tensor([7, 3, 5], dtype=torch.int32)
    expected = torch.empty_like(x)
    for batch, length in enumerate(lengths.tolist()):
        part = x[batch, :, :length]
        if shared:
            mean, deviation = part.mean(), part.std()
        else:
            mean, deviation = part.mean(1, keepdim=True), part.std(1, keepdim=True)
        expected[batch] = (x[batch] - mean) / (deviation + 1e-5)
    actual = run_on_npu(torch_npu.npu_normalize_batch, x, lengths, shared)
    assert isinstance(actual, torch.Tensor)
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-5, atol=1e-5)
