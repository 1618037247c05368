"""The caching allocator's numbers, limits and snapshots, on memory that the twin counts."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.memory import beyond_the_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

npu = torch_npu.npu
MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    gc.collect()  # cycles of tests before this one hold memory
    npu.synchronize()
    npu.empty_cache()
    npu.reset_peak_memory_stats()
    yield
    npu.set_per_process_memory_fraction(1.0)
    npu.empty_cache()


@pytest.mark.isolated(OPWRIGHT_MEMORY="512M")  # which the machine has, whatever others take of it
def test_what_is_allocated_is_counted_and_given_back() -> None:
    before, free = npu.memory_allocated(), npu.mem_get_info()[0]
    size = beyond_the_cache(8 * MEGABYTE)
    x = torch.empty(size, dtype=torch.int8, device="npu")
    held = npu.memory_allocated() - before
    assert size <= held <= size + MEGABYTE
    assert npu.memory_reserved() >= held
    assert free - npu.mem_get_info()[0] >= 8 * MEGABYTE
    assert npu.memory_stats()["allocated_bytes.all.current"] == npu.memory_allocated()
    del x
    assert npu.memory_allocated() == before
    assert npu.max_memory_allocated() >= before + size
    npu.empty_cache()
    assert npu.mem_get_info()[0] >= free
    npu.reset_peak_memory_stats()
    assert npu.max_memory_allocated() == before


def test_a_fraction_limits_the_process() -> None:
    total, size = npu.mem_get_info()[1], beyond_the_cache(64 * MEGABYTE)
    limit = npu.memory_reserved() / total + 32 * MEGABYTE / total
    npu.set_per_process_memory_fraction(limit)
    errors = npu.memory_stats()["num_ooms"]
    with pytest.raises(torch.OutOfMemoryError, match=r"[MG]iB allowed"):
        torch.empty(size, dtype=torch.int8, device="npu")
    assert npu.memory_stats()["num_ooms"] == errors + 1
    assert torch.ones(3, device="npu").sum().item() == 3
    npu.set_per_process_memory_fraction(1.0)
    assert torch.empty(size, dtype=torch.int8, device="npu").numel() == size


def test_more_than_there_is() -> None:
    total = npu.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError, match="NPU out of memory"):
        torch.empty(2 * total, dtype=torch.int8, device="npu")


def test_a_snapshot_has_the_blocks() -> None:
    x = torch.empty(3 * MEGABYTE, dtype=torch.int8, device="npu")
    segments = npu.memory_snapshot()
    blocks = [block for segment in segments for block in segment["blocks"]]
    active = [block for block in blocks if block["state"] == "active_allocated"]
    assert any(block["size"] >= x.numel() for block in active)
    summary: str = npu.memory_summary()
    assert "Allocated memory" in summary


def test_a_history_has_allocations_and_frees() -> None:
    npu.memory._record_memory_history(context=None)  # noqa: SLF001 (the documented name)
    try:
        x = torch.empty(5 * MEGABYTE, dtype=torch.int8, device="npu")
        size = x.numel()
        del x
        traces = npu.memory._snapshot()["device_traces"]  # noqa: SLF001
    finally:
        npu.memory._record_memory_history(enabled=None)  # noqa: SLF001
    actions = [each["action"] for trace in traces for each in trace if each["size"] >= size]
    assert {"alloc", "free_requested", "free_completed"} <= {*actions}


def pool_of(tensor: torch.Tensor) -> object:
    """Return the pool whose memory holds a tensor."""
    address = tensor.data_ptr()
    (pool,) = (
        segment["segment_pool_id"]
        for segment in npu.memory_snapshot()
        if segment["address"] <= address < segment["address"] + segment["total_size"]
    )
    return pool


def test_a_pool_keeps_its_memory_apart() -> None:
    pool = npu.MemPool()
    with npu.use_mem_pool(pool):
        x = torch.full((1000,), 3.0, device="npu")
    outside = torch.empty(1000, device="npu")
    assert x.sum().item() == 3000
    assert pool_of(x) == pool.id
    assert pool_of(outside) != pool.id


def test_raw_memory() -> None:
    before = npu.memory_allocated()
    address = npu.caching_allocator_alloc(MEGABYTE)
    assert npu.memory_allocated() >= before + MEGABYTE
    npu.caching_allocator_delete(address)
    assert npu.memory_allocated() == before
    assert npu.get_allocator_backend() == "native"


def test_devices_have_memory_of_their_own() -> None:
    before = [npu.memory_allocated(device) for device in (0, 1)]
    x = torch.ones(MEGABYTE, device="npu:1")
    assert npu.memory_allocated(0) == before[0]
    assert npu.memory_allocated(1) - before[1] >= 4 * MEGABYTE
    assert x.sum().item() == MEGABYTE


def test_torch_accelerator_reads_the_same() -> None:
    accelerator = torch.accelerator
    assert str(accelerator.current_accelerator()) == "npu"
    assert accelerator.device_count() == npu.device_count()
    x = torch.ones(1000, device="npu")
    assert accelerator.memory_allocated() == npu.memory_allocated()
    assert accelerator.max_memory_allocated() == npu.max_memory_allocated()
    assert accelerator.get_memory_info()[1] == npu.mem_get_info()[1]
    del x
