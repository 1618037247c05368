"""Operators that exist for one test: a schema, and the native kernels of the live tier for it."""

from __future__ import annotations

import itertools
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu

from opwright.kit.live import _aclnn
from opwright.kit.live.registration import end_library
from opwright.twin.user_kernels.registry import Registration, registry
from opwright.twin.user_kernels.source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "MARKS",
    "NAMESPACE",
    "defined",
    "dispatch_state",
    "library",
    "like",
    "operator",
    "overload",
    "plan",
    "reference",
    "same_shape",
]

MARKS = [pytest.mark.twin]
DEVICES = (0, 1)  # those that tests use
for device in DEVICES:
    # torch_npu 2.13.0 ends the process in the next backward if a device was only synchronized: it
    # then has a context, but no default stream (NPUStream.cpp, "Uninitialized default NPU stream").
    torch.ones((), device=f"npu:{device}")
NAMESPACE = "opwright_dispatching"
numbers = itertools.count()

# Rules and sources as opwright.kit.live derives them.
Rule = Any


def same_shape(argument: int) -> Rule:
    """The shape of a tensor argument."""
    return (("span", argument, 0, None),)


def like(argument: int) -> dict[str, Rule]:
    """An output with the shape and dtype of a tensor argument."""
    return {"shape": same_shape(argument), "dtype": ("like", argument)}


def plan(
    function: str,
    parameters: Sequence[Rule],
    outputs: Sequence[Rule] = (),
    returns: Sequence[Rule] | None = None,
    clone: Sequence[int] = (),
) -> dict[str, Rule]:
    """Make a plan; by default each output is returned."""
    every = tuple(("output", index) for index in range(len(outputs)))
    return {
        "function": function,
        "outputs": tuple(outputs),
        "parameters": tuple(parameters),
        "returns": every if returns is None else tuple(returns),
        "clone": tuple(clone),
    }


@contextmanager
def library(kind: str = "FRAGMENT", key: str = "") -> Iterator[Any]:
    """Open a torch.library.Library of the tests' namespace; what it registers ends with it."""
    opened = torch.library.Library(NAMESPACE, kind, key)  # type: ignore[no-untyped-call] # torch's
    try:
        yield opened
    finally:
        end_library(opened)


def overload(name: str) -> Callable[..., Any]:
    """Return a defined operator."""
    found: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), name).default
    return found


def dispatch_state(name: str) -> tuple[str, str]:
    """Return all that torch's dispatcher knows of an operator."""
    full = f"{NAMESPACE}::{name}"
    core = torch._C  # noqa: SLF001 - torch's own tests have no other way
    return core._dispatch_dump(full), core._dispatch_dump_table(full)  # noqa: SLF001


@contextmanager
def defined(parameters: str) -> Iterator[str]:
    """Define an operator, `(Tensor x) -> Tensor`, under a new name; yield the name."""
    name = f"op{next(numbers)}"
    with library() as fragment:
        fragment.define(name + parameters)
        yield name
    if hasattr(getattr(torch.ops, NAMESPACE), name):
        delattr(getattr(torch.ops, NAMESPACE), name)


@contextmanager
def operator(parameters: str, rule: Mapping[str, Rule]) -> Iterator[Callable[..., Any]]:
    """Define an operator with an NPU kernel and yield it."""
    with ExitStack() as stack:
        name = stack.enter_context(defined(parameters))
        stack.enter_context(_aclnn.implement(NAMESPACE, name, rule))
        yield overload(name)


@contextmanager
def reference(signature: str, function: Callable[..., object]) -> Iterator[Registration]:
    """Declare a reference function without the library that torch_npu's own lookup needs."""
    interface = read_source(signature, None, where="test")
    with Registration(interface=interface, function=function, owner=registry) as registration:
        registry.add(registration)
        yield registration
        for device in DEVICES:
            torch_npu.npu.synchronize(device)
