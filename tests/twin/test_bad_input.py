"""Wrong calls end in an error that names operator and cause, and the next operator works."""

from __future__ import annotations

import ctypes
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin import acl, on_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.twin

# An error on the stream: the index is only looked at while the operator runs.
CAUSE = "aclnnIndexSelect: index out of range"


def fail_later() -> torch.Tensor:
    """Enqueue an operator that will fail."""
    index = torch.tensor([7]).to("npu")
    return torch.index_select(torch.ones(5).to("npu"), 0, index)


@pytest.fixture(autouse=True)
def next_operator_works() -> Iterator[None]:
    """After every wrong call the same process goes on to compute."""
    torch_npu.npu.set_device(0)
    yield
    torch_npu.npu.synchronize()
    assert (torch.ones(2).to("npu") + 1).cpu().tolist() == [2, 2]


@pytest.fixture
def memory() -> Iterator[int]:
    """512 bytes of device memory."""
    address = acl.malloc(512)
    yield address
    acl.synchronize()
    acl.free(address)


# ---- the C interface ----


def refused(prepared: acl.Prepared, code: int, *words: str) -> None:
    """Phase 1 has answered `code`; its message has the words, and phase 2 says the same."""
    assert prepared.status == code
    first = acl.message()
    assert all(word in first for word in ("aclnnAddGetWorkspaceSize: ", *words)), first
    assert prepared.workspace == 0
    assert acl.execute("aclnnAdd", prepared.executor) == code
    second = acl.message()
    assert all(word in second for word in ("aclnnAdd: ", *words)), second


def test_null_tensor(memory: int) -> None:
    x = acl.tensor(memory, [4])
    refused(acl.prepare("aclnnAdd", x, None, acl.one(), x), acl.NULL_PARAMETER, "'other' is null")
    refused(acl.prepare("aclnnAdd", x, x, None, x), acl.NULL_PARAMETER, "'alpha' is null")


def test_phase_2_without_phase_1() -> None:
    assert acl.execute("aclnnAdd", ctypes.c_void_p()) == acl.NULL_PARAMETER
    assert "aclnnAdd: the executor is null: phase 1" in acl.message()


def test_null_result_parameters(memory: int) -> None:
    x = acl.tensor(memory, [4])
    phase1 = acl.opapi.aclnnAddGetWorkspaceSize
    size = ctypes.c_uint64()
    assert phase1(x, x, acl.one(), x, ctypes.byref(size), None) == acl.NULL_PARAMETER
    assert "'executor' is null" in acl.message()
    assert phase1(x, x, acl.one(), x, None, None) == acl.NULL_PARAMETER
    assert "'workspaceSize' is null" in acl.message()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dtype": acl.STRING}, ["'other'", "dtype"]),
        ({"dtype": 777}, ["'other'", "dtype 777"]),
        ({"layout": acl.FRACTAL_NZ}, ["'other'", "[4]", "FRACTAL_NZ"]),
        ({"storage": 3}, ["'other'", "[4]", "storage with 3"]),
        ({"offset": -1, "storage": 128}, ["'other'", "offset -1"]),
        ({"strides": [1 << 40], "storage": 128}, ["'other'", "strides"]),
        ({"strides": [1 << 62], "storage": 128}, ["'other'", "strides"]),
        ({"offset": 126, "storage": 128}, ["'other'", "offset 126"]),
    ],
)
def test_wrong_tensor(memory: int, wrong: dict[str, int], words: list[str]) -> None:
    x = acl.tensor(memory, [4], storage=128)
    other = acl.tensor(memory, [4], **wrong)  # type: ignore[arg-type]  # one table for all parameters
    refused(acl.prepare("aclnnAdd", x, other, acl.one(), x), acl.INVALID_PARAMETER, *words)


@pytest.mark.parametrize("sizes", [[1 << 62], [1 << 31, 1 << 31, 4], [0, 1 << 62, 1 << 62]])
def test_size_beyond_64_bits(memory: int, sizes: list[int]) -> None:
    shape = (ctypes.c_int64 * len(sizes))(*sizes)
    made = acl.nnopbase.aclCreateTensor(
        shape, len(sizes), acl.FLOAT, None, 0, acl.ND, None, 0, memory
    )
    assert made is None
    assert f"aclCreateTensor: the view {sizes} has more than" in acl.message()


def test_negative_size(memory: int) -> None:
    sizes = (ctypes.c_int64 * 2)(2, -3)
    made = acl.nnopbase.aclCreateTensor(sizes, 2, acl.FLOAT, None, 0, acl.ND, None, 0, memory)
    assert made is None
    assert "aclCreateTensor: size -3 in [2, -3] is negative" in acl.message()


@pytest.mark.parametrize(
    ("sizes", "storage", "text"),
    [
        (None, None, "parameter 'viewDims' is null, but 'viewDimsNum' is 2"),
        ((2, 3), None, "parameter 'storageDims' is null, but 'storageDimsNum' is 2"),
    ],
)
def test_null_sizes(
    memory: int, sizes: tuple[int, int] | None, storage: tuple[int, int] | None, text: str
) -> None:
    dims = None if sizes is None else (ctypes.c_int64 * 2)(*sizes)
    made = acl.nnopbase.aclCreateTensor(dims, 2, acl.FLOAT, None, 0, acl.ND, storage, 2, memory)
    assert made is None
    message = acl.message()
    assert f"aclCreateTensor: {text}; allowed: a pointer to 2 elements, or null with 0" in message


def test_null_value() -> None:
    assert acl.nnopbase.aclCreateScalar(None, acl.FLOAT) is None
    text = "aclCreateScalar: parameter 'value' is null; allowed: a pointer to a value of float32"
    assert text in acl.message()


def test_mismatched_shapes(memory: int) -> None:
    """The operator itself finds it, on operands without memory."""
    x, y = acl.tensor(memory, [4]), acl.tensor(memory, [3])
    for arguments, words in (
        ((x, y, acl.one(), x), ["size of tensor a (4)", "tensor b (3)"]),
        ((x, x, acl.one(), y), ["output 'out' has shape [3], but the operator produces [4]"]),
    ):
        refused(acl.prepare("aclnnAdd", *arguments), acl.INVALID_PARAMETER, *words)
        assert acl.synchronize() == 0


def test_freed_memory(memory: int) -> None:
    freed = acl.malloc(1 << 20)
    acl.free(freed)
    x, other = acl.tensor(memory, [4]), acl.tensor(freed, [4])
    refused(acl.prepare("aclnnAdd", x, other, acl.one(), x), acl.INVALID_PARAMETER, "freed")


def test_host_memory_as_device_memory(memory: int) -> None:
    host = (ctypes.c_float * 4)()
    x, other = acl.tensor(memory, [4]), acl.tensor(ctypes.addressof(host), [4])
    refused(
        acl.prepare("aclnnAdd", x, other, acl.one(), x),
        acl.INVALID_PARAMETER,
        "not a device address",
    )
    assert acl.ascendcl.aclrtMemcpy(memory, 16, host, 16, acl.DEVICE_TO_HOST) != 0
    assert "aclrtMemcpy: destination: " in acl.message()
    assert acl.ascendcl.aclrtFree(ctypes.addressof(host)) != 0
    assert "aclrtFree: cannot free" in acl.message()


def test_memory_of_another_device(memory: int) -> None:
    assert acl.ascendcl.aclrtSetDevice(1) == 0
    foreign = acl.malloc(512)
    x, other = acl.tensor(memory, [4]), acl.tensor(foreign, [4])
    words = ("parameter 'other' lies on device 1, but the tensors before it lie on device 0",)
    refused(acl.prepare("aclnnAdd", x, other, acl.one(), x), acl.INVALID_PARAMETER, *words)
    prepared = acl.prepare("aclnnAdd", x, x, acl.one(), x)
    assert prepared.status == 0, acl.message()
    assert acl.execute("aclnnAdd", prepared.executor) == acl.INVALID_PARAMETER
    assert "tensors lie on device 0, but the stream belongs to device 1" in acl.message()
    acl.free(foreign)
    assert acl.ascendcl.aclrtSetDevice(0) == 0


def test_memory_behind_the_allocation() -> None:
    """A tensor that is larger than the memory it names."""
    address = acl.malloc(512)
    x = acl.tensor(address, [1 << 20])
    refused(acl.prepare("aclnnAdd", x, x, acl.one(), x), acl.INVALID_PARAMETER, "4194304 bytes")
    acl.free(address)


def test_half_a_byte_behind_the_allocation(memory: int) -> None:
    """1,024 numbers of 4 bits fill the memory; one more takes half a byte."""
    int4, count = 29, 1025
    values = acl.malloc(4 * count)
    x = acl.tensor(values, [count])
    y = acl.tensor(memory, [count], dtype=int4)
    arguments = (x, None, None, b"none", b"dynamic", b"rint", ctypes.c_int64(int4), y, None)
    prepared = acl.prepare("aclnnGeluQuant", *arguments)
    assert prepared.status == acl.INVALID_PARAMETER
    assert "y: the range of 513 bytes" in acl.message()
    acl.free(values)


def test_wrong_workspace(memory: int) -> None:
    """One that is smaller than phase 1 asked for is in tests/native/executor_test.cpp."""
    x = acl.tensor(memory, [4])
    for workspace, size, code, word in (
        (None, 64, acl.NULL_PARAMETER, "workspace is null"),
        (id(x), 64, acl.INVALID_PARAMETER, "workspace: "),
        (memory, 1 << 30, acl.INVALID_PARAMETER, "workspace: "),
    ):
        prepared = acl.prepare("aclnnAdd", x, x, acl.one(), x)
        assert prepared.status == 0, acl.message()
        assert acl.execute("aclnnAdd", prepared.executor, workspace=workspace, size=size) == code
        message = acl.message()
        assert "aclnnAdd: " in message, message
        assert word in message, message


@pytest.mark.parametrize("index", [-1, 2, 1 << 20])
def test_device_index(index: int) -> None:
    assert acl.ascendcl.aclrtSetDevice(index) == 107001
    message = acl.message()
    expected = f"aclrtSetDevice: device index {index} is out of range; this process has 2"
    assert expected in message, message


def test_foreign_handles() -> None:
    garbage = ctypes.c_void_p(0x1234)
    assert acl.ascendcl.aclrtSynchronizeStream(garbage) != 0
    assert "stream 0x1234 does not exist" in acl.message()
    assert acl.ascendcl.aclrtRecordEvent(garbage, None) != 0
    assert "event 0x1234 does not exist" in acl.message()
    assert acl.ascendcl.aclrtDestroyStream(garbage) != 0
    assert "stream 0x1234 does not exist" in acl.message()


# ---- torch_npu ----


def synchronize_event() -> None:
    event = torch_npu.npu.Event()
    event.record()
    event.synchronize()


SYNCHRONIZING: dict[str, Callable[[torch.Tensor], object]] = {
    "cpu": torch.Tensor.cpu,
    "item": torch.Tensor.item,
    "print": repr,
    "other_device": lambda tensor: tensor.to("npu:1"),
    "device": lambda _: torch_npu.npu.synchronize(),
    "stream": lambda _: torch_npu.npu.current_stream().synchronize(),
    "event": lambda _: synchronize_event(),
    "host_to_device": lambda _: torch.ones(3).to("npu"),
}


@pytest.mark.parametrize("call", SYNCHRONIZING)
def test_error_of_a_task_is_reported_by_the_next_synchronizing_call(call: str) -> None:
    result = fail_later()
    with pytest.raises(RuntimeError, match=CAUSE):
        SYNCHRONIZING[call](result)
    torch_npu.npu.synchronize()  # reported once


def test_error_does_not_reach_other_streams() -> None:
    side = torch_npu.npu.Stream()
    with torch_npu.npu.stream(side):
        fail_later_on_side = fail_later()
    assert (torch.ones(3).to("npu") * 3).cpu().tolist() == [3, 3, 3]
    with pytest.raises(RuntimeError, match=CAUSE):
        side.synchronize()
    del fail_later_on_side


def test_legacy_operator_leaves_the_queue_usable() -> None:
    """A type without a kernel fails in torch_npu's consumer thread, which must not stop."""
    labels = torch.tensor([1, 0, -1], dtype=torch.int32).to("npu")
    with pytest.raises(RuntimeError, match=r"no kernel for this operator type.*\n.*'SubSample'"):
        torch_npu.npu_sub_sample(labels, 2, 0.5).cpu()


def test_unknown_aclnn_function() -> None:
    library = Path(torch_npu.__file__).parent / "lib" / "libtorch_npu.so"
    find = ctypes.CDLL(str(library))["_Z16GetOpApiFuncAddrPKc"]
    find.restype = ctypes.c_void_p
    assert find(b"aclnnAdd")
    assert not find(b"aclnnNoSuchOperator")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.ones(3).to("npu") + torch.ones(4).to("npu"), "size of tensor a"),
        (lambda: torch.ones(2, 3).to("npu") @ torch.ones(4, 5).to("npu"), "2x3 and 4x5"),
        (lambda: torch.ones(3).to("npu") + torch.ones(3), "same device"),
        (
            lambda: torch.bitwise_and(torch.ones(2).to("npu"), torch.ones(2).to("npu")),
            r"aclnnBitwiseAndTensor\w*: .* not implemented for 'Float'",
        ),
        (lambda: torch.ones(2, device="npu:7"), "device index 7 is out of range"),
        (lambda: torch_npu.npu.set_device(9), "device index 9 is out of range"),
    ],
    ids=["shapes", "matmul", "devices", "dtype", "device_index", "set_device"],
)
def test_wrong_call_from_torch(call: Callable[[], object], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call()


def test_more_memory_than_there_is() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 4096\.00 GiB"):
        torch.empty(1 << 40, device="npu")


WRONG_CALLS: tuple[tuple[Callable[[torch.Tensor, torch.Tensor], object], str], ...] = (
    (lambda x, wrong: torch.index_select(x, 0, wrong), CAUSE),
    (lambda _, wrong: torch_npu.npu_sub_sample(wrong.int(), 2, 0.5), "node 'SubSample'"),
    (lambda x, _: torch.bitwise_and(x, x), "aclnnBitwiseAndTensor.*: .* not implemented"),
    (lambda x, _: x + torch.ones(4).to("npu"), "size of tensor"),
    (lambda *_: torch.empty(1 << 40, device="npu"), "out of memory"),
)
WAYS_TO_LAUNCH = (
    ("TASK_QUEUE_ENABLE", "0"),
    ("TASK_QUEUE_ENABLE", "2"),
    ("ASCEND_LAUNCH_BLOCKING", "1"),
    ("OPWRIGHT_SYNC", "1"),
)


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.isolated(**{name: value}), id=f"{name}={value}")
        for name, value in WAYS_TO_LAUNCH
    ]
)
def way_to_launch() -> None:
    """Launch operators as this variable says."""


@pytest.mark.usefixtures("way_to_launch")
def test_every_way_to_launch_survives() -> None:
    x, wrong = torch.ones(5).to("npu"), torch.tensor([7]).to("npu")

    def complete(call: Callable[[torch.Tensor, torch.Tensor], object]) -> None:
        call(x, wrong)
        torch_npu.npu.synchronize()

    for call, words in WRONG_CALLS:
        with pytest.raises(RuntimeError, match=words):
            complete(call)
        assert (torch.ones(2).to("npu") + 1).cpu().tolist() == [2, 2]


# ---- faults ----


def read_device_memory() -> None:
    ctypes.string_at(torch.ones(4, device="npu:1").data_ptr(), 4)


def test_host_code_that_reads_device_memory() -> None:
    done = on_twin.run(read_device_memory)
    assert done.returncode == -signal.SIGSEGV
    assert re.search(
        r"opwright: fault: host code dereferenced the device address 0x[0-9a-f]+ \(device 1\)",
        done.stderr,
    ), done.stderr
    assert "tensor.cpu()" in done.stderr
