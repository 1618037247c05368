"""Device memory through torch_npu: limit, recovery, expandable segments."""

from __future__ import annotations

import re

import pytest

from tests.twin import on_twin

pytestmark = pytest.mark.twin

LIMITED = """
    M = 1 << 20

    def floats(size, value=1.0, device="npu"):
        # A little less than the size: torch_npu pads every block by 32 bytes.
        return torch.full(((size - 512) // 4,), value, device=device)

    free, total = torch.npu.mem_get_info()
    assert total == 256 * M == torch.npu.get_device_properties(0).total_memory, total
    assert free == total

    # Until nothing is left; what was there before is intact.
    kept = []
    try:
        while True:
            kept.append(floats(16 * M, float(len(kept))))
    except torch.OutOfMemoryError as error:
        assert "Tried to allocate 16.00 MiB" in str(error), error
        assert "256.00 MiB total capacity" in str(error), error
    assert len(kept) >= 14, len(kept)
    assert [block[-1].item() for block in kept] == list(range(len(kept)))
    assert torch.npu.memory_stats()["num_ooms"] == 1
    free, _ = torch.npu.mem_get_info()
    assert free < 20 * M, free  # expandable segments grow by 20 MiB

    # Another device has its own limit.
    assert floats(100 * M, device="npu:1")[-1].item() == 1

    # Freed memory is given out again, in other sizes too.
    del kept[len(kept) // 2:]
    y = floats(48 * M)
    assert y[-1].item() == 1
    assert kept[1][0].item() == 1
    kept.clear()
    del y
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == 0
    assert torch.npu.memory_reserved() == 0
    assert torch.npu.mem_get_info()[0] == 256 * M
    z = floats(200 * M)
    assert z[-1].item() == 1
    del z

    # An operator whose result does not fit; the next one works.
    a = torch.ones(1 << 13, 1 << 12, device="npu")
    try:
        a @ a.t()
        raise SystemExit("256 MiB more fitted")
    except torch.OutOfMemoryError:
        pass
    assert (a[:2, :2] + 1).cpu().tolist() == [[2, 2], [2, 2]]
    del a

    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    b = floats(50 * M)
    assert torch.npu.memory_allocated() == 50 * M
    del b
    assert torch.npu.memory_allocated() == 0
    assert torch.npu.max_memory_allocated() == 50 * M
    print("done")
"""


@pytest.mark.parametrize("configuration", ["", "expandable_segments:True"])
def test_limit(configuration: str) -> None:
    assert "done" in on_twin.output(
        LIMITED, OPWRIGHT_MEMORY="256M", PYTORCH_NPU_ALLOC_CONF=configuration
    )


def test_expandable_segments_grow_and_shrink() -> None:
    printed = on_twin.output(
        """
        M = 1 << 20
        for size in (3, 30, 100, 7, 120, 1):
            x = torch.arange(size * M // 4, device="npu", dtype=torch.int32)
            y = x + 1
            assert y[-1].item() == size * M // 4
            assert torch.equal((y - x).cpu(), torch.ones(size * M // 4, dtype=torch.int32))
            del x, y
            torch.npu.empty_cache()
            assert torch.npu.memory_reserved() == 0, torch.npu.memory_reserved()
            assert torch.npu.mem_get_info()[0] == 512 * M, torch.npu.mem_get_info()
        print("done")
        """,
        OPWRIGHT_MEMORY="512M",
        PYTORCH_NPU_ALLOC_CONF="expandable_segments:True",
    )
    assert "done" in printed


def test_devices_together_get_what_the_machine_has() -> None:
    """No memory is written: what was allocated counts as well."""
    printed = on_twin.output(
        """
        import ctypes, os, re
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

        # The bytes that the twin may give out now, from its own refusal of more.
        acl = ctypes.CDLL("libascendcl.so")
        acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        torch.ones(1).npu()
        pointer = ctypes.c_void_p()
        assert acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 40), 0) == 207001
        message = acl.aclGetRecentErrMsg().decode()
        left, system, promised = (
            int(re.search(rf"(\\d+) {words}", message)[1])
            for words in ("bytes left", "of them are kept", "belong to device memory")
        )
        room = left - system - promised

        # All that the machine has, on one device.
        try:
            torch.empty(total, dtype=torch.uint8, device="npu")
            raise SystemExit("more than the machine has")
        except torch.OutOfMemoryError:
            pass

        # On two devices, each of which the machine could back alone. Other programs take and give
        # memory meanwhile, so only the machine's size is certain.
        block = room // 16
        kept = []
        try:
            while len(kept) * block < total:
                on = f"npu:{len(kept) % 2}"
                kept.append(torch.empty(block, dtype=torch.uint8, device=on))
            raise SystemExit("more than the machine has, on two devices")
        except torch.OutOfMemoryError:
            pass
        assert len(kept) > 2, len(kept)

        # Freed memory can be allocated again, and the devices still compute.
        del kept[1:]
        torch.npu.empty_cache()
        kept.append(torch.empty(block, dtype=torch.uint8, device="npu:1"))
        for device in ("npu:0", "npu:1"):
            assert (torch.ones(1000, device=device) + 1).sum().item() == 2000
        print("done")
        """,
        OPWRIGHT_MEMORY="1T",
        OPWRIGHT_DEVICES="2",
    )
    assert "done" in printed


def test_blocks_that_were_written_count_once() -> None:
    """They are missing from what the system calls available; what is not written is not."""
    printed = on_twin.output(
        """
        import ctypes
        acl = ctypes.CDLL("libascendcl.so")
        acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        torch.ones(1).npu()
        size = ctypes.c_size_t(64 << 20)
        blocks = [ctypes.c_void_p() for _ in range(2)]
        for block in blocks:
            assert acl.aclrtMalloc(ctypes.byref(block), size, 0) == 0
        assert acl.aclrtMemset(blocks[0], size, 1, size) == 0
        pointer = ctypes.c_void_p()
        assert acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 40), 0) == 207001
        print(acl.aclGetRecentErrMsg().decode())
        """,
        OPWRIGHT_MEMORY="1T",
        PYTORCH_NPU_ALLOC_CONF="expandable_segments:False",
    )
    message = re.search(
        r"(\d+) belong to device memory that was allocated and not written", printed
    )
    assert message is not None, printed
    # torch_npu keeps torch.ones(1) in a segment of 2 MiB, most of which may not be written either.
    segment = 2 << 20
    assert 64 << 20 <= int(message[1]) <= (64 << 20) + segment


def test_wrong_limit() -> None:
    done = on_twin.run("torch.ones(2).npu()", OPWRIGHT_MEMORY="2X")
    assert done.returncode == 1
    assert "OPWRIGHT_MEMORY='2X' cannot be used; allowed: " in done.stderr
