"""Device memory that several processes use: native/runtime/memory/shared_memory.cpp."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu, also in a process that is spawned

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin.aclnn_calls import ascendcl

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from pathlib import Path

KEY_BYTES = 65

COUNT = 700_000


def change(given: Queue[torch.Tensor | None], answers: Queue[tuple[float, str, bool]]) -> None:
    """Add one to a tensor that another process has given."""
    x = given.get()
    assert x is not None
    seen = x.sum().item()
    x += 1
    torch_npu.npu.synchronize()
    answers.put((seen, str(x.device), x[1::2].is_contiguous()))
    assert given.get() is None


@pytest.mark.isolated
def test_a_tensor_in_a_queue() -> None:
    """torch.multiprocessing passes a handle, not the values: what the child writes arrives."""
    context = torch.multiprocessing.get_context("spawn")
    given, answers = context.Queue(), context.Queue()
    child = context.Process(target=change, args=(given, answers))
    child.start()
    neighbour = torch.full((COUNT,), 5.0, device="npu")
    x = torch.full((COUNT,), 2.0, device="npu")
    given.put(x)
    assert answers.get(timeout=300) == (2.0 * COUNT, "npu:0", False)
    assert (x.cpu() == 3).all()
    assert (neighbour.cpu() == 5).all()
    given.put(None)
    child.join(120)
    assert child.exitcode == 0
    del x
    torch_npu.npu.empty_cache()
    assert torch.ones(2 * COUNT, device="npu").sum() == 2 * COUNT


def allocate(size: int) -> ctypes.c_void_p:
    torch_npu.npu.set_device(0)
    address = ctypes.c_void_p()
    assert ascendcl.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(size), 0) == 0
    return address


def export(address: ctypes.c_void_p, size: int) -> tuple[int, bytes]:
    key = ctypes.create_string_buffer(KEY_BYTES)
    code = ascendcl.aclrtIpcMemGetExportKey(
        address, ctypes.c_size_t(size), key, ctypes.c_size_t(KEY_BYTES), ctypes.c_uint64(1)
    )
    return code, key.value


def exported(address: ctypes.c_void_p, size: int) -> bytes:
    code, key = export(address, size)
    assert code == 0, ascendcl.aclGetRecentErrMsg()
    return key


def import_into(address: ctypes.c_void_p, key: bytes, flags: int = 0) -> int:
    code: int = ascendcl.aclrtIpcMemImportByKey(ctypes.byref(address), key, ctypes.c_uint64(flags))
    return code


def imported(key: bytes) -> ctypes.c_void_p:
    address = ctypes.c_void_p()
    assert import_into(address, key) == 0, ascendcl.aclGetRecentErrMsg()
    return address


def refused(code: int, reason: bytes) -> None:
    message: bytes = ascendcl.aclGetRecentErrMsg()
    assert code == 107000
    assert reason in message, message


def fill(address: ctypes.c_void_p, value: int, count: int) -> None:
    size = ctypes.c_size_t(count)
    assert ascendcl.aclrtMemset(address, size, value, size) == 0


def content(address: ctypes.c_void_p, count: int) -> bytes:
    result, size = ctypes.create_string_buffer(count), ctypes.c_size_t(count)
    assert ascendcl.aclrtMemcpy(result, size, address, size, 2) == 0
    return result.raw


def first_byte(address: ctypes.c_void_p) -> int:
    return content(address, 1)[0]


def free(*addresses: ctypes.c_void_p) -> None:
    for address in addresses:
        assert ascendcl.aclrtFree(address) == 0


def test_an_import_is_the_same_memory_until_it_is_closed() -> None:
    size = 100_000
    address = allocate(size)
    fill(address, 3, size)
    key = exported(address, size)
    assert exported(address, size) == key
    other = imported(key)
    assert other.value != address.value
    assert first_byte(other) == 3
    fill(other, 7, size)
    assert first_byte(address) == 7
    assert imported(key).value == other.value
    for _ in range(2):
        assert ascendcl.aclrtIpcMemClose(key) == 0
    assert ascendcl.aclrtIpcMemClose(key) == 0  # the exporter's own
    refused(ascendcl.aclrtIpcMemClose(key), b"neither exported nor imported by this process")
    free(address)


def test_what_is_freed_is_shared_no_longer(tmp_path: Path) -> None:
    """The key does not name what the process opens next; imports keep what they have."""
    size = 1000
    address = allocate(size)
    fill(address, 3, size)
    key = exported(address, size)
    other = imported(key)
    free(address)
    again = allocate(size)
    assert again.value == address.value
    fill(again, 9, size)
    assert first_byte(other) == 3
    assert ascendcl.aclrtIpcMemClose(key) == 0
    files = [(tmp_path / str(number)).open("w+b") for number in range(4)]
    refused(import_into(ctypes.c_void_p(), key), b"is not there")
    for file in files:
        file.close()
    free(again)


def test_neighbours_are_not_shared() -> None:
    size = 512
    first, second = allocate(size), allocate(size)
    fill(first, 1, size)
    fill(second, 2, size)
    key = exported(first, size)
    other = imported(key)
    free(second)
    assert exported(first, size) == key
    fill(first, 5, size)
    assert first_byte(other) == 5
    assert ascendcl.aclrtIpcMemClose(key) == 0
    free(first)


def test_what_tasks_write_during_an_export_is_not_lost() -> None:
    """A stream fills the memory from its end on, while an export takes it from its begin on."""
    size, piece = 64 << 20, 256 << 10
    address = allocate(size)
    assert address.value is not None
    for value in range(1, 6):
        fill(address, 0, size)
        for offset in reversed(range(0, size, piece)):
            place, count = ctypes.c_void_p(address.value + offset), ctypes.c_size_t(piece)
            assert ascendcl.aclrtMemsetAsync(place, count, value, count, None) == 0
        exported(address, size)
        assert ascendcl.aclrtSynchronizeDevice() == 0
        assert content(address, size).count(value) == size
        free(address)
        assert allocate(size).value == address.value  # not shared any more
    free(address)


def test_refusals_name_what_is_wrong() -> None:
    address = allocate(8192)
    assert address.value is not None
    inside = ctypes.c_void_p(address.value + 512)
    refused(export(inside, 512)[0], b"is not the start of an allocation")
    key = exported(address, 8192)
    stem, none = key.rpartition(b"-")[0], ctypes.c_void_p()
    for wrong, reason in (
        (b"nonsense", b"'nonsense' is not a key"),
        (key + b"000", b"says that it has 8192000 bytes"),
        (key + b"x", b"is not a key"),
        (b"opwright-1-999999-512", b"the shared memory of process 1 is not there"),
        (stem[:-1] + b"-512", b"is not there"),
    ):
        refused(import_into(none, wrong), reason)
    refused(import_into(none, key, flags=2), b"parameter 'flags' is 2")
    pids = (ctypes.c_int32 * 1)(1)
    one = ctypes.c_size_t(1)
    assert ascendcl.aclrtIpcMemSetImportPid(key, pids, one) == 0
    refused(
        ascendcl.aclrtIpcMemSetImportPid(b"opwright-1-2-512", pids, one),
        b"was not exported by this process",
    )
    refused(
        ascendcl.aclrtMemSetPidToShareableHandle(ctypes.c_uint64(5), pids, one),
        b"was not exported by this process",
    )
    free(address)


def test_a_physical_block_is_imported() -> None:
    """The calls that torch_npu's expandable segments are made of."""

    class Property(ctypes.Structure):
        _fields_ = (
            ("handle_type", ctypes.c_int),
            ("allocation_type", ctypes.c_int),
            ("attribute", ctypes.c_int),
            ("location_id", ctypes.c_uint32),
            ("location_type", ctypes.c_int),
            ("reserve", ctypes.c_uint64),
        )

    size, none = ctypes.c_size_t(2 << 20), ctypes.c_uint64(0)
    wanted = Property(location_id=0, location_type=1)
    block, other, handle = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    code = ascendcl.aclrtMallocPhysical(ctypes.byref(block), size, ctypes.byref(wanted), none)
    assert code == 0, ascendcl.aclGetRecentErrMsg()
    reference = ctypes.byref(handle)
    assert ascendcl.aclrtMemExportToShareableHandle(block, 0, none, reference) == 0
    assert ascendcl.aclrtMemImportFromShareableHandle(handle, 0, ctypes.byref(other)) == 0
    places = []
    for each in (block, other):
        place = ctypes.c_void_p()
        reserved = ascendcl.aclrtReserveMemAddress(
            ctypes.byref(place), size, ctypes.c_size_t(0), None, none
        )
        assert reserved == 0
        assert ascendcl.aclrtMapMem(place, size, ctypes.c_size_t(0), each, none) == 0
        places.append(place)
    fill(places[0], 4, 1000)
    assert first_byte(places[1]) == 4
    for place in places:
        assert ascendcl.aclrtUnmapMem(place) == 0
        assert ascendcl.aclrtReleaseMemAddress(place) == 0
    for each in (block, other):
        assert ascendcl.aclrtFreePhysical(each) == 0


def test_events_stay_in_their_process() -> None:
    with pytest.raises(RuntimeError, match="IPC Event is not support"):
        torch_npu.npu.Event(interprocess=True).record()
