"""Waiting on a stream: native/opapi/ops/random/sleep.cpp."""

from __future__ import annotations

import time

import torch
import torch_npu

from tests.twin.aclnn_calls import call


def test_sleep_keeps_the_stream_busy_and_not_the_host() -> None:
    torch_npu.npu.synchronize()
    begin = time.perf_counter()
    call("aclnnSleep", [3_300_000_000])  # 2 s
    assert not torch_npu.npu.current_stream().query()
    x = torch.ones(3, device="npu") + 1
    assert x.cpu().tolist() == [2, 2, 2]
    assert time.perf_counter() - begin >= 2
