"""Events, streams, devices, generators."""

from __future__ import annotations

import os

import pytest
import torch
import torch_npu
from torch.utils.checkpoint import checkpoint

npu = torch_npu.npu
SOC = "OPWRIGHT_SOC"


def test_events_measure_what_lies_between_them() -> None:
    begin, end = (npu.Event(enable_timing=True) for _ in range(2))
    x = torch.randn(400, 400, device="npu")
    begin.record()
    for _ in range(5):
        x = x @ x
    end.record()
    end.synchronize()
    assert begin.query()
    assert begin.elapsed_time(end) > 0


def test_torchs_own_events_and_streams() -> None:
    begin, end = (torch.Event(device="npu", enable_timing=True) for _ in range(2))
    stream = torch.Stream(device="npu")
    with stream:
        begin.record()
        x = torch.full((1000,), 2.0, device="npu")
        end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 0
    assert x.sum().item() == 2000
    stream.synchronize()
    assert stream.query()


def test_streams_wait_for_each_other() -> None:
    side = npu.Stream()
    x = torch.zeros(200_000, device="npu")
    side.wait_stream(npu.current_stream())
    with npu.stream(side):
        assert npu.current_stream() == side
        for _ in range(20):
            x += 1
        event = side.record_event()
    npu.current_stream().wait_event(event)
    x.record_stream(npu.current_stream())
    assert (x == 20).all().item()
    assert npu.current_stream() == npu.default_stream()
    assert side.npu_stream != npu.default_stream().npu_stream
    again = npu.ExternalStream(side.npu_stream)
    with npu.stream(again):
        assert torch.ones(3, device="npu").sum().item() == 3


def test_a_priority_changes_nothing() -> None:
    with npu.stream(npu.Stream(priority=-1)):
        assert torch.ones(2, device="npu").sum().item() == 2


def test_waiting_where_it_is_forbidden() -> None:
    npu.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="called a synchronizing NPU operation"):
            torch.ones(3, device="npu").sum().item()
    finally:
        npu.set_sync_debug_mode("default")
    assert npu.get_sync_debug_mode() == 0


def test_the_current_device() -> None:
    x = torch.ones(2, device="npu:1")
    with npu.device_of(x):
        assert npu.current_device() == 1
        assert torch.ones(1, device="npu").device == x.device
    with npu.device(1):
        assert npu.current_device() == 1
    assert npu.current_device() == 0
    assert npu.can_device_access_peer(0, 1)
    y = torch.zeros(2, device="npu:0")
    y.copy_(x, non_blocking=True)
    assert y.cpu().tolist() == [1, 1]
    assert x.to("npu:0").device.index == 0


def test_properties() -> None:
    properties = npu.get_device_properties(0)
    assert properties.name == npu.get_device_name() == os.environ.get(SOC, "Ascend910B4")
    assert properties.total_memory == npu.mem_get_info()[1]
    assert 0 < properties.cube_core_num <= properties.vector_core_num
    assert npu.is_bf16_supported()
    assert npu.utilization() in range(101)
    assert torch.get_device_module("npu") is npu


def test_generators_repeat_and_go_on() -> None:
    generator = torch.Generator(device="npu")
    generator.manual_seed(3)
    first = torch.randn(50, device="npu", generator=generator)
    state = generator.get_state()
    second = torch.randn(50, device="npu", generator=generator)
    assert not torch.equal(first, second)
    generator.set_state(state)
    assert torch.equal(second, torch.randn(50, device="npu", generator=generator))
    other = generator.clone_state()
    wanted = torch.rand(5, device="npu", generator=generator)
    assert torch.equal(wanted, torch.rand(5, device="npu", generator=other))
    assert generator.initial_seed() == 3


def test_the_states_of_all_devices() -> None:
    npu.manual_seed_all(7)
    states = npu.get_rng_state_all()
    drawn = [torch.rand(4, device=f"npu:{index}") for index in range(npu.device_count())]
    npu.set_rng_state_all(states)
    for index, before in enumerate(drawn):
        assert torch.equal(before, torch.rand(4, device=f"npu:{index}"))


def test_a_seed_and_a_fork() -> None:
    torch.manual_seed(5)
    expected = torch.rand(4, device="npu")
    torch.manual_seed(5)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(9, device="npu")
    assert torch.equal(expected, torch.rand(4, device="npu"))


def test_a_checkpoint_drops_the_same_elements_again() -> None:
    x = torch.ones(1000, device="npu", requires_grad=True)

    def body(value: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(value * 2, 0.5)

    y = checkpoint(body, x, use_reentrant=False)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad != 0, y != 0)
