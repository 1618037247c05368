"""Device memory through torch_npu: limit, recovery, expandable segments."""

from __future__ import annotations

import ctypes
import os
import re

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin import acl, on_twin

pytestmark = pytest.mark.twin

MIB = 1 << 20
BLOCK = 16 * MIB
SEGMENTS = [
    pytest.param(
        configuration,
        marks=pytest.mark.isolated(OPWRIGHT_MEMORY="256M", PYTORCH_NPU_ALLOC_CONF=configuration),
    )
    for configuration in ("", "expandable_segments:True")
]
OUT_OF_MEMORY = 207001


@pytest.fixture(params=SEGMENTS)
def limited() -> None:
    """Let a device have 256 MiB, in segments that stay as they are, or in expandable ones."""


def floats(size: int, value: float = 1.0, device: str = "npu") -> torch.Tensor:
    """Return a tensor that takes up this many bytes.

    It is a little smaller: torch_npu pads every block by 32 bytes.
    """
    return torch.full(((size - 512) // 4,), value, device=device)


def fill_the_device() -> tuple[list[torch.Tensor], str]:
    """Allocate numbered blocks until there is no memory; return them and the error's text."""
    kept: list[torch.Tensor] = []
    try:
        while True:
            kept.append(floats(BLOCK, float(len(kept))))
    except torch.OutOfMemoryError as error:
        return kept, str(error)


@pytest.mark.usefixtures("limited")
def test_memory_ends_at_the_limit_of_each_device() -> None:
    free, total = torch_npu.npu.mem_get_info()
    assert total == 256 * MIB == torch_npu.npu.get_device_properties(0).total_memory
    assert free == total
    kept, error = fill_the_device()
    assert "Tried to allocate 16.00 MiB" in error
    assert "256.00 MiB total capacity" in error
    assert len(kept) >= 14
    assert [block[-1].item() for block in kept] == list(range(len(kept)))
    assert torch_npu.npu.memory_stats()["num_ooms"] == 1
    free, _ = torch_npu.npu.mem_get_info()
    assert free < 20 * MIB  # expandable segments grow by 20 MiB
    assert floats(100 * MIB, device="npu:1")[-1].item() == 1


@pytest.mark.usefixtures("limited")
def test_freed_memory_is_given_out_again_in_other_sizes() -> None:
    kept, _ = fill_the_device()
    del kept[len(kept) // 2 :]
    y = floats(48 * MIB)
    assert y[-1].item() == 1
    assert kept[1][0].item() == 1
    kept.clear()
    del y
    torch_npu.npu.empty_cache()
    assert torch_npu.npu.memory_allocated() == 0
    assert torch_npu.npu.memory_reserved() == 0
    assert torch_npu.npu.mem_get_info()[0] == 256 * MIB
    assert floats(200 * MIB)[-1].item() == 1


@pytest.mark.usefixtures("limited")
def test_an_operator_works_after_one_whose_result_did_not_fit() -> None:
    a = torch.ones(1 << 13, 1 << 12, device="npu")
    with pytest.raises(torch.OutOfMemoryError):
        a @ a.t()
    assert (a[:2, :2] + 1).cpu().tolist() == [[2, 2], [2, 2]]


@pytest.mark.usefixtures("limited")
def test_the_peak_is_of_what_was_allocated() -> None:
    fill_the_device()
    torch_npu.npu.empty_cache()
    torch_npu.npu.reset_peak_memory_stats()
    b = floats(50 * MIB)
    assert torch_npu.npu.memory_allocated() == 50 * MIB
    del b
    assert torch_npu.npu.memory_allocated() == 0
    assert torch_npu.npu.max_memory_allocated() == 50 * MIB


@pytest.mark.isolated(OPWRIGHT_MEMORY="512M", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
def test_expandable_segments_grow_and_shrink() -> None:
    for size in (3, 30, 100, 7, 120, 1):
        x = torch.arange(size * MIB // 4, device="npu", dtype=torch.int32)
        y = x + 1
        assert y[-1].item() == size * MIB // 4
        assert torch.equal((y - x).cpu(), torch.ones(size * MIB // 4, dtype=torch.int32))
        del x, y
        torch_npu.npu.empty_cache()
        assert torch_npu.npu.memory_reserved() == 0
        assert torch_npu.npu.mem_get_info()[0] == 512 * MIB


def refusal_of_a_terabyte() -> str:
    """Ask for more than any machine has; the answer says what the twin may give out now."""
    address = ctypes.c_void_p()
    size = ctypes.c_size_t(1 << 40)
    assert acl.ascendcl.aclrtMalloc(ctypes.byref(address), size, 0) == OUT_OF_MEMORY
    return acl.message()


def bytes_that(words: str, message: str) -> int:
    """Return the number in front of these words."""
    found = re.search(rf"(\d+) {words}", message)
    assert found is not None, message
    return int(found[1])


@pytest.mark.isolated(OPWRIGHT_MEMORY="1T", OPWRIGHT_DEVICES="2")
def test_devices_together_get_what_the_machine_has() -> None:
    """No memory is written: what was allocated counts as well."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    torch.ones(1).to("npu")
    message = refusal_of_a_terabyte()
    left, system, promised = (
        bytes_that(words, message)
        for words in ("bytes left", "of them are kept", "belong to device memory")
    )
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(total, dtype=torch.uint8, device="npu")

    # On two devices, each of which the machine could back alone. Other programs take and give
    # memory meanwhile, so only the machine's size is certain.
    block = (left - system - promised) // 16
    kept: list[torch.Tensor] = []
    with pytest.raises(torch.OutOfMemoryError):  # noqa: PT012 - which block it is depends on others
        while len(kept) * block < total:
            device = f"npu:{len(kept) % 2}"
            kept.append(torch.empty(block, dtype=torch.uint8, device=device))
    assert len(kept) > 2

    # Freed memory can be allocated again, and the devices still compute.
    del kept[1:]
    torch_npu.npu.empty_cache()
    kept.append(torch.empty(block, dtype=torch.uint8, device="npu:1"))
    for device in ("npu:0", "npu:1"):
        assert (torch.ones(1000, device=device) + 1).sum().item() == 2000


@pytest.mark.isolated(OPWRIGHT_MEMORY="1T", OPWRIGHT_DEVICES="2")
def test_free_memory_is_what_the_machine_has_for_both_devices() -> None:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free, limit = torch_npu.npu.mem_get_info(0)
    assert limit == 1 << 40
    assert free < total
    block = free // 2 // MIB * MIB
    kept = torch.empty(block, dtype=torch.uint8, device="npu:1")
    # Nothing is written, so what the system has left does not show it. Other programs take and give
    # memory meanwhile.
    assert torch_npu.npu.mem_get_info(0)[0] < total - block
    torch_npu.npu.set_device(0)
    message = refusal_of_a_terabyte()
    assert "on device 0" in message
    assert bytes_that("bytes; free memory on any", message) >= block
    assert re.search(r"Of this process device 0 has \d+ and device 1 has \d+ bytes", message)
    del kept


@pytest.mark.isolated(OPWRIGHT_MEMORY="1T", PYTORCH_NPU_ALLOC_CONF="expandable_segments:False")
def test_blocks_that_were_written_count_once() -> None:
    """They are missing from what the system calls available; what is not written is not."""
    torch.ones(1).to("npu")
    size = 64 * MIB
    written, _ = acl.malloc(size), acl.malloc(size)
    count = ctypes.c_size_t(size)
    assert acl.ascendcl.aclrtMemset(ctypes.c_void_p(written), count, 1, count) == 0
    unwritten = bytes_that(
        "belong to device memory that was allocated and not written", refusal_of_a_terabyte()
    )
    # torch_npu keeps torch.ones(1) in a segment of 2 MiB, most of which may not be written either.
    assert size <= unwritten <= size + 2 * MIB


def use_the_device() -> None:
    torch.ones(2).to("npu")


def test_wrong_limit() -> None:
    done = on_twin.run(use_the_device, OPWRIGHT_MEMORY="2X")
    assert done.returncode == 1
    assert "OPWRIGHT_MEMORY='2X' cannot be used; allowed: " in done.stderr
