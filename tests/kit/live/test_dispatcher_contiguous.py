"""Arguments that a function needs contiguous: copies before the call, written back after it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.live.dispatching import (  # loads the twin
    MARKS,
    operator,
    plan,
    reference,
)

# isort: split
import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = MARKS

SIGNATURE = (
    "aclnnContiguous(aclTensor *xRef, const aclTensor *maskOptional, aclTensorList *listRef)"
)
SCHEMA = "(Tensor(a!) x, Tensor? mask, Tensor(b!)[] list) -> Tensor(a!)"
TWIN_SCHEMA = "(Tensor x, Tensor? mask, Tensor[] list) -> Tensor"
PLAN: dict[str, Any] = plan(
    "aclnnContiguous",
    (
        ("aclTensor", ("argument", 0)),
        ("aclTensor", ("argument", 1)),
        ("aclTensorList", ("argument", 2)),
    ),
    returns=[("argument", 0)],
) | {"contiguous": (0, 1, 2)}


@contextmanager
def called(
    schema: str = SCHEMA, *, wait: threading.Event | None = None, **change: object
) -> Iterator[tuple[Callable[..., Any], list[list[bool]]]]:
    """Yield an operator that adds 1, or a mask, to what it writes; and what its function got."""
    got: list[list[bool]] = []

    def function(x: torch.Tensor, mask: torch.Tensor | None, several: list[torch.Tensor]) -> None:
        if wait is not None:
            assert wait.wait(300)
        tensors = [x, *several] if mask is None else [x, mask, *several]
        got.append([tensor.is_contiguous() for tensor in tensors])
        for tensor in (x, *several):
            tensor.add_(1 if mask is None else mask)

    with reference(SIGNATURE, function), operator(schema, PLAN | change) as op:
        yield op, got
        torch_npu.npu.synchronize()


def strided() -> tuple[torch.Tensor, torch.Tensor]:
    """Return a tensor with gaps, and all of its memory."""
    memory = torch.arange(24.0, device="npu").view(4, 6)
    return memory[:, 1::2].t(), memory


def test_a_written_argument_is_written_back_and_returned_itself() -> None:
    x, memory = strided()
    plain = torch.zeros(2, device="npu")
    with called() as (op, got):
        assert op(x, None, [plain]) is x
        expected = torch.arange(24.0).view(4, 6)
        expected[:, 1::2] += 1
        assert memory.cpu().equal(expected)  # the gaps stay as they were
        assert plain.cpu().tolist() == [1, 1]
        assert got == [[True, True]]
    assert x._version == 0  # noqa: SLF001 - the ADInplaceOrView kernel counts, not the copy


def test_optional_arguments_and_lists() -> None:
    x = torch.zeros(3, 2, device="npu").t()
    mask = torch.arange(6.0, device="npu").view(3, 2).t()
    items = [torch.zeros(3, 2, device="npu").t(), torch.zeros(2, 3, device="npu")]
    with called() as (op, got):
        op(x, mask, items)
        for tensor in (x, *items):
            assert tensor.cpu().equal(mask.cpu())
        assert got == [[True] * 4]
    assert x.stride() == items[0].stride() == (1, 2)


def test_without_the_entry_the_function_gets_the_strides() -> None:
    x, _ = strided()
    with called(contiguous=()) as (op, got):
        op(x, None, [x])
        torch_npu.npu.synchronize()
        assert got == [[False, False]]


def test_what_is_contiguous_is_not_copied() -> None:
    x = torch.zeros(8, device="npu")
    with called() as (op, _):
        op(x, None, [x])
        torch_npu.npu.synchronize()
        before = torch_npu.npu.memory_stats()["allocation.all.allocated"]
        op(x, None, [x])
        assert torch_npu.npu.memory_stats()["allocation.all.allocated"] == before
        assert x.cpu().tolist() == [4.0] * 8


def test_a_functional_twin_returns_the_new_value_and_leaves_its_arguments() -> None:
    x, memory = strided()
    item = torch.zeros(2, 2, device="npu").t()
    with called(TWIN_SCHEMA, clone=(0, 2)) as (op, got):
        new = op(x, None, [item])
        assert new.cpu().equal(x.cpu() + 1)
        assert got == [[True, True]]
    assert memory.cpu().equal(torch.arange(24.0).view(4, 6))
    assert item.cpu().equal(torch.zeros(2, 2))


def test_only_what_is_written_is_written_back() -> None:
    """A read argument that shares memory with the written one must not undo it."""
    x, memory = strided()
    with called() as (op, _):
        op(x, x, [torch.zeros(1, device="npu").expand(3, 4).clone()])
        expected = torch.arange(24.0).view(4, 6)
        expected[:, 1::2] *= 2
        assert memory.cpu().equal(expected)


def test_copies_are_made_in_the_order_of_the_stream() -> None:
    free = threading.Event()
    x, memory = strided()
    torch_npu.npu.synchronize()
    stream = torch_npu.npu.Stream()
    with called(wait=free) as (op, _):
        with torch_npu.npu.stream(stream):
            x.mul_(10)
            op(x, None, [x.new_zeros(1)])
            x.mul_(2)
            done = stream.record_event()
        assert not done.query()
        free.set()
        stream.synchronize()
        expected = torch.arange(24.0).view(4, 6)
        expected[:, 1::2] = (expected[:, 1::2] * 10 + 1) * 2
        assert memory.cpu().equal(expected)


def test_after_an_error_arguments_are_as_they_were() -> None:
    x, memory = strided()
    parameters = (*PLAN["parameters"][:2], ("aclTensorList", ("constant", None)))
    with called(parameters=parameters) as (op, _):
        with pytest.raises(RuntimeError, match="GetWorkspaceSize failed"):
            op(x, None, [x])
        assert memory.cpu().equal(torch.arange(24.0).view(4, 6))


def test_no_gradient_is_recorded_for_a_copy() -> None:
    x = torch.zeros(3, 2, device="npu").t().requires_grad_()
    with called(TWIN_SCHEMA, clone=(0,)) as (op, got), torch.no_grad():
        assert op(x, x, [torch.zeros(2, 3, device="npu")]).grad_fn is None
        torch_npu.npu.synchronize()
        assert all(all(each) for each in got)
