"""Operators that nobody describes are compared with their library's kernel for the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

from opwright.check.examine import examine_operator
from opwright.check.rows import row
from opwright.check.subject import Subject
from opwright.check.target import bare_subject

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin

NAMESPACE = "own_reference"
LIBRARY = torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]
ROWS = ("numerics", "edges", "mutation", "errors")


def register(
    schema: str,
    cpu: Callable[..., torch.Tensor],
    npu: Callable[..., torch.Tensor],
    meta: Callable[..., torch.Tensor] = lambda x, *_: torch.empty_like(x),
) -> None:
    """Register an operator with a kernel for each device, and Meta."""
    LIBRARY.define(schema)  # type: ignore[no-untyped-call]
    name = schema.partition("(")[0]
    kernels = {"CPU": cpu, "PrivateUse1": npu, "Meta": meta}
    for key, kernel in kernels.items():
        LIBRARY.impl(name, kernel, key)  # type: ignore[no-untyped-call]


def narrowed(n: int) -> int:
    """Return what 32 bits keep of a number."""
    return (n + 2**31) % 2**32 - 2**31


def only_single(x: torch.Tensor) -> torch.Tensor:
    """Double, of float32 alone."""
    if x.dtype != torch.float32:
        message = "float32 only"
        raise TypeError(message)
    return x * 2


def absent(x: torch.Tensor) -> torch.Tensor:
    """Refuse everything, as a stub does."""
    raise NotImplementedError(x.device.type)


register("clamps(Tensor x) -> Tensor", lambda x: x * 2, lambda x: (x * 2).clamp(max=0.5))
register("narrows(Tensor x, int n) -> Tensor", lambda x, n: x + n, lambda x, n: x + narrowed(n))
register(
    "wraps(Tensor x, int dim) -> Tensor",
    lambda x, dim: x.cumsum(dim),
    lambda x, dim: x.cumsum(dim % max(x.dim(), 1)),
)
register("doubles(Tensor x) -> Tensor", lambda x: x * 2, lambda x: x + x)
register("draws(Tensor x) -> Tensor", torch.rand_like, torch.rand_like)
register("takes_more(Tensor x) -> Tensor", only_single, lambda x: x + x)
register("is_stub_on_cpu(Tensor x) -> Tensor", absent, lambda x: x + x)


def gate(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Multiply; the result has the dtype that both promote to."""
    return (x * by.sigmoid()).contiguous()


def empty_as_first(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Return what the result is like if both have one dtype."""
    return x.new_empty((x * by).shape)


register("gates(Tensor x, Tensor by) -> Tensor", gate, gate, empty_as_first)
register("gates_rightly(Tensor x, Tensor by) -> Tensor", gate, gate, gate)


def lack_default(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Add the bias; torch passes none that a call leaves out."""
    return x + bias


def add_given(x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Take the bias for given."""
    return x + bias.to(x.dtype)  # type: ignore[union-attr]  # that is the fault


def refuse_none(x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Say what has to be given."""
    if bias is None:
        message = "a bias has to be given"
        raise ValueError(message)
    return x + bias


register("lacks_default(Tensor x, Tensor? bias=None) -> Tensor", lack_default, lack_default)
register("takes_for_given(Tensor x, Tensor? bias=None) -> Tensor", add_given, add_given)
register("refuses_none(Tensor x, Tensor? bias=None) -> Tensor", refuse_none, refuse_none)


def findings(name: str, *rows: str) -> set[str]:
    """Return what rows find in an operator."""
    subject = bare_subject(NAMESPACE, name)
    assert isinstance(subject, Subject)
    outcomes = list(examine_operator(subject, [row(each) for each in rows or ROWS]))
    assert {each.status for each in outcomes} <= {"passed", "failed", "not applicable"}, outcomes
    return {f"{each.row}/{finding.kind.name}" for each in outcomes for finding in each.findings}


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("clamps", "numerics/wrong-values"),
        ("narrows", "numerics/wrong-special-values"),
        ("wraps", "errors/accepted"),
        ("takes_for_given", "edges/raises-at-edge"),
        ("lacks_default", "edges/raises-at-edge"),
    ],
)
def test_a_kernel_that_differs_from_the_one_for_the_cpu_is_found(name: str, fault: str) -> None:
    assert fault in findings(name)


@pytest.mark.parametrize("name", ["doubles", "draws", "takes_more", "is_stub_on_cpu"])
def test_kernels_that_agree_or_cannot_be_compared_are_not_accused(name: str) -> None:
    assert findings(name) == set()


def refuse_and_forget(x: torch.Tensor, first: int) -> torch.Tensor:
    """Return rows from one on; an error leaves the mode for gradients switched off."""
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(mode=False)
    result = rows_from(x, first)
    torch.set_grad_enabled(mode=before)
    return result


def rows_from(x: torch.Tensor, first: int) -> torch.Tensor:
    """Return rows from one on."""
    if x.dim() == 0 or not 0 <= first <= x.shape[0]:
        message = "first is no row of x"
        raise IndexError(message)
    return x[first:].clone()


register("forgets(Tensor x, int first) -> Tensor", rows_from, refuse_and_forget)
register("remembers(Tensor x, int first) -> Tensor", rows_from, rows_from)


@pytest.mark.parametrize(
    ("name", "expected"), [("forgets", {"state/changed"}), ("remembers", set())]
)
def test_calls_that_the_kernel_for_the_cpu_refuses_must_leave_the_state(
    name: str, expected: set[str]
) -> None:
    assert findings(name, "state", "leaks") == expected


def test_meta_is_asked_for_tensors_of_two_dtypes() -> None:
    assert findings("gates", "meta") == {"meta/wrong-dtype"}
    assert findings("gates_rightly", "meta") == set()


def test_an_operator_may_refuse_to_do_without_an_argument_in_words_of_its_own() -> None:
    assert findings("refuses_none", "edges") == set()
