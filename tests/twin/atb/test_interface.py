"""The C++ interface of libatb, called as a program does: sizes, and errors with number and text."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field

import pytest
import torch
import torch_npu

CREATE = "_ZN3atb15CreateOperationINS_5infer{}EEEiRKT_PPNS_9OperationE"
ROPE, TOPK = "9RopeParam", "14GroupTopkParam"
DESTROY = "_ZN3atb16DestroyOperationEPNS_9OperationE"
INVALID_PARAM, INVALID_OPERATION = 1, 24


def library() -> ctypes.CDLL:
    return ctypes.CDLL("libatb.so")


def create(name: str, param: bytes) -> tuple[int, int | None]:
    """The status, and the address of the operation."""
    operation = ctypes.c_void_p()
    status = library()[CREATE.format(name)](param, ctypes.byref(operation))
    return status, operation.value


def recent_message() -> str:
    read = ctypes.CDLL("libascendcl.so").aclGetRecentErrMsg
    read.restype = ctypes.c_char_p
    return (read() or b"").decode()


def test_an_operation_is_made_and_destroyed() -> None:
    status, operation = create(ROPE, struct.pack("ii8x", 2, 0))
    assert status == 0
    assert operation is not None
    assert library()[DESTROY](ctypes.c_void_p(operation)) == 0


@pytest.mark.parametrize(
    ("name", "param", "message"),
    [
        (ROPE, struct.pack("ii8x", 3, 0), "parameter 'rotaryCoeff' is 3; allowed: 2 (halves)"),
        (ROPE, struct.pack("iiB7x", 2, 0, 1), "the reserved bytes of the parameters are not 0"),
        (TOPK, struct.pack("iiHH12x", 4, 5, 0, 1), "parameter 'k' is 5; allowed: 1 to groupNum"),
    ],
)
def test_a_refusal_has_a_number_and_a_text(name: str, param: bytes, message: str) -> None:
    assert create(name, param) == (INVALID_PARAM, None)
    text = recent_message()
    assert f"atb::CreateOperation<{name.lstrip('0123456789')}>" in text
    assert message in text


def test_nothing_is_destroyed_where_nothing_is() -> None:
    assert library()[DESTROY](None) == INVALID_OPERATION
    assert "the operation is null" in recent_message()


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


class AtbDesc(ctypes.Structure):
    """atb::TensorDesc."""

    _fields_ = AtbTensor._fields_[:4]


class Tensors(ctypes.Structure):
    """atb::SVector<atb::Tensor>."""

    _fields_ = [
        ("capacity", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
        ("inside", AtbTensor * 65),
        ("own", ctypes.c_void_p),
    ]


class Descs(ctypes.Structure):
    """atb::SVector<atb::TensorDesc>."""

    _fields_ = [
        ("capacity", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
        ("inside", AtbDesc * 65),
        ("own", ctypes.c_void_p),
    ]


class VariantPack(ctypes.Structure):
    """atb::VariantPack."""

    _fields_ = [("inputs", Tensors), ("outputs", Tensors)]


CODES = {torch.float32: 0, torch.float16: 1, torch.int32: 3, torch.int64: 9}


def described(tensor: torch.Tensor) -> AtbTensor:
    """A tensor as torch_npu describes it."""
    address = tensor.data_ptr()
    on_device = tensor.device.type == "npu"
    return AtbTensor(
        dtype=CODES[tensor.dtype],
        format=2,
        dims=(ctypes.c_int64 * 8)(*tensor.shape),
        rank=tensor.dim(),
        device_data=address if on_device else None,
        host_data=None if on_device else address,
        size=tensor.nbytes,
    )


def pack_of(inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> VariantPack:
    """The operands of a call."""
    pack = VariantPack()
    for target, tensors in ((pack.inputs, inputs), (pack.outputs, outputs)):
        target.count = len(tensors)
        for place, tensor in enumerate(tensors):
            target.inside[place] = described(tensor)
    return pack


def virtual(instance: int, place: int, *arguments: object) -> int:
    """Call a virtual function by its place; the destructor has the first two."""
    table = ctypes.c_void_p.from_address(instance).value
    assert table is not None
    address = ctypes.c_void_p.from_address(table + 8 * place).value
    assert address is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int)(address)
    return int(function(ctypes.c_void_p(instance), *arguments))


INFER_SHAPE, INPUTS, OUTPUTS, SETUP, EXECUTE = 3, 4, 5, 6, 7
SET_STREAM = 2


def new_context() -> int:
    """A context on the current stream."""
    context = ctypes.c_void_p()
    assert library()["_ZN3atb13CreateContextEPPNS_7ContextE"](ctypes.byref(context)) == 0
    assert context.value is not None
    stream = ctypes.c_void_p(torch_npu.npu.current_stream().npu_stream)
    assert virtual(context.value, SET_STREAM, stream) == 0
    return context.value


@dataclass
class Rope:
    """A Rope operation with operands that it takes."""

    operation: int = 0
    context: int = field(default_factory=new_context)
    inputs: list[torch.Tensor] = field(default_factory=list)
    outputs: list[torch.Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        status, operation = create(ROPE, struct.pack("ii8x", 2, 0))
        assert status == 0
        assert operation is not None
        self.operation = operation
        query, key = torch.randn(3, 8).half(), torch.randn(3, 4).half()
        cos, sin = torch.randn(3, 4).half(), torch.randn(3, 4).half()
        lengths = torch.tensor([3], dtype=torch.int32)
        self.inputs = [each.to("npu") for each in (query, key, cos, sin, lengths)]
        self.outputs = [torch.empty_like(each) for each in self.inputs[:2]]
        torch_npu.npu.synchronize()

    def set_up(self, context: int | None = None) -> int:
        """The status of Setup."""
        pack, size = pack_of(self.inputs, self.outputs), ctypes.c_uint64(7)
        status = virtual(
            self.operation,
            SETUP,
            ctypes.byref(pack),
            ctypes.byref(size),
            ctypes.c_void_p(self.context if context is None else context),
        )
        assert size.value == 0 or status != 0
        return status

    def execute(self) -> int:
        """The status of Execute."""
        pack = pack_of(self.inputs, self.outputs)
        return virtual(
            self.operation,
            EXECUTE,
            ctypes.byref(pack),
            ctypes.c_void_p(),
            ctypes.c_uint64(0),
            ctypes.c_void_p(self.context),
        )


def test_a_program_runs_an_operation() -> None:
    rope = Rope()
    assert virtual(rope.operation, INPUTS) == 5
    assert virtual(rope.operation, OUTPUTS) == 2
    assert rope.set_up() == 0
    assert rope.execute() == 0
    torch_npu.npu.synchronize()
    x, _, cos, sin, _ = (each.cpu() for each in rope.inputs)
    halves = x.view(3, 2, 2, 2).float()
    turned = torch.stack([-halves[:, :, 1], halves[:, :, 0]], 2).view(3, 2, 4)
    expected = x.view(3, 2, 4) * cos.unsqueeze(1).float() + turned * sin.unsqueeze(1).float()
    torch.testing.assert_close(rope.outputs[0].cpu().view(3, 2, 4), expected.half())


def test_the_addresses_of_the_execution_count() -> None:
    rope = Rope()
    assert rope.set_up() == 0
    assert rope.execute() == 0
    first = rope.outputs
    second = [torch.empty_like(each) for each in first]
    expected = first[0].cpu()
    for outputs in (second, first):
        for each in outputs:
            each.fill_(77)
        torch_npu.npu.synchronize()
        rope.outputs = outputs
        assert rope.execute() == 0
        assert torch.equal(outputs[0].cpu(), expected)


def test_shapes_are_inferred() -> None:
    rope = Rope()
    inputs, outputs = Descs(count=5), Descs(count=2)
    for place, tensor in enumerate(rope.inputs):
        for name in ("dtype", "format", "dims", "rank"):
            setattr(inputs.inside[place], name, getattr(described(tensor), name))
    references = ctypes.byref(inputs), ctypes.byref(outputs)
    assert virtual(rope.operation, INFER_SHAPE, *references) == 0
    assert list(outputs.inside[1].dims[: outputs.inside[1].rank]) == [3, 4]
    inputs.count = 2
    assert virtual(rope.operation, INFER_SHAPE, *references) == INVALID_NUMBER_OF_INPUTS


INVALID_NUMBER_OF_INPUTS, INVALID_DTYPE, INVALID_DIM = 5, 6, 8
INVALID_ADDRESS, INVALID_RANK, NO_CONTEXT, NOT_SET_UP = 14, 16, 20, 10


@pytest.mark.parametrize(
    ("place", "tensor", "status", "message"),
    [
        (0, torch.zeros(3, 8, dtype=torch.int64), INVALID_DTYPE, "'query' has dtype int64"),
        (1, torch.zeros(2, 4).half(), INVALID_DIM, "'key' has shape [2, 4]; dimension 0 must be 3"),
        (2, torch.zeros(3, 1, 4).half(), INVALID_RANK, "'cos' has shape [3, 1, 4]"),
        (4, None, INVALID_NUMBER_OF_INPUTS, "has 5 inputs, but 4 are given"),
    ],
)
def test_setup_answers_a_number_and_a_text(
    place: int, tensor: torch.Tensor | None, status: int, message: str
) -> None:
    rope = Rope()
    rope.inputs[place : place + 1] = [] if tensor is None else [tensor.to("npu")]
    torch_npu.npu.synchronize()
    assert rope.set_up() == status
    assert message in recent_message()
    assert rope.execute() == NOT_SET_UP


def test_operands_of_the_host_are_refused_where_the_device_reads_them() -> None:
    rope = Rope()
    rope.inputs[0] = rope.inputs[0].cpu()
    assert rope.set_up() == INVALID_ADDRESS
    assert "parameter 'query' lies on the host" in recent_message()
    assert rope.set_up(context=0) == NO_CONTEXT


@pytest.mark.parametrize("rank", [8, 1 << 40])
def test_a_tensor_has_at_most_eight_dimensions(rank: int) -> None:
    size_of = library()["_ZN3atb5Utils13GetTensorSizeERKNS_6TensorE"]
    size_of.restype = ctypes.c_uint64
    tensor = AtbTensor(dims=(ctypes.c_int64 * 8)(2, 3, 1, 1, 1, 1, 1, 5), rank=rank)
    assert size_of(ctypes.byref(tensor)) == 30 * 4
