"""One call on the CPU and on the device: same arguments, same random numbers, same weights."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

import torch
from torch.utils import _pytree as pytree

from tests.conformance.comparison import expect_close
from tests.conformance.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch.testing._internal.opinfo.core import SampleInput

CPU = torch.device("cpu")
HALVES = {torch.float16, torch.bfloat16}
SEED = 20

T = TypeVar("T")


class RefusedError(Exception):
    """The CPU gives nothing to compare a sample with."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a function; every use gets tensors of its own."""

    args: tuple[object, ...]
    kwargs: dict[str, object]

    @classmethod
    def of(cls, sample: SampleInput) -> Arguments:
        """Return a sample's arguments."""
        return cls((sample.input, *sample.args), sample.kwargs)

    def on(self, device: torch.device, *, wide: bool = False) -> Arguments:
        """Return a copy on a device; `wide` makes tensors of 16 bits float32."""
        args, kwargs = to_device((self.args, self.kwargs), device)
        if wide:
            args, kwargs = pytree.tree_map(widen, (args, kwargs))
        return Arguments(args, kwargs)

    def into(self, out: object) -> Arguments:
        """Return these arguments with an `out=`."""
        return Arguments(self.args, {**self.kwargs, "out": out})

    def call(self, function: Callable[..., Any]) -> Any:  # noqa: ANN401 - what it returns
        """Call the function with these tensors, and random numbers from the start."""
        torch.manual_seed(SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*self.args, **self.kwargs)

    @property
    def halves(self) -> bool:
        """Return whether there is a tensor of 16 bits."""
        return any(leaf.dtype in HALVES for leaf in self.tensors())

    def tensors(self) -> list[torch.Tensor]:
        """Return all tensors."""
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def widen(leaf: object) -> object:
    """Return a tensor of 16 bits in float32, anything else as it is."""
    if isinstance(leaf, torch.Tensor) and leaf.dtype in HALVES:
        return leaf.detach().float().requires_grad_(leaf.requires_grad)
    return leaf


def expected_result(function: Callable[[Arguments], T], arguments: Arguments) -> tuple[T, T | None]:
    """Return what a function of the arguments gives on the CPU, and in float32 for 16 bits.

    Raises
    ------
    RefusedError
        The CPU refuses the arguments: there is nothing to compare with.
    """
    here = arguments.on(CPU)
    try:
        expected = function(here)
    except RuntimeError as error:
        raise RefusedError from error
    wide = None
    if arguments.halves:
        # Some operators take no other dtype than that of 16 bits.
        with contextlib.suppress(RuntimeError):
            wide = function(arguments.on(CPU, wide=True))
    return expected, wide


def is_determined(function: Callable[..., object], arguments: Arguments) -> bool:
    """Return whether the result is a function of the arguments: does not change with the seed."""
    start = torch.manual_seed
    results = []
    for seed in range(1, 9):  # small samples of few values may agree by chance
        # Samples of random operators set a seed of their own; it is ours here.
        with mock.patch("torch.manual_seed", lambda _, seed=seed: start(seed)):
            results.append(arguments.on(CPU).call(function))
    with contextlib.suppress(AssertionError):
        for result in results[1:]:
            expect_close(result, results[0], device=CPU)
        return True
    return False


def gradients(results: object, leaves: Iterable[torch.Tensor]) -> list[torch.Tensor | None]:
    """Return the gradients of leaves, for weights of the results that are equal on all devices."""
    outputs = [leaf for leaf in pytree.tree_leaves(results) if is_differentiable(leaf)]
    inputs = [leaf for leaf in leaves if is_differentiable(leaf)]
    if not outputs or not inputs:
        return []
    weights = [weight_like(output) for output in outputs]
    return list(torch.autograd.grad(outputs, inputs, weights, allow_unused=True))


def has_gradient(expected: Iterable[torch.Tensor | None]) -> bool:
    """Return whether there is a gradient to compare."""
    return any(gradient is not None for gradient in expected)


def is_differentiable(leaf: object) -> bool:
    """Return whether this is a tensor that has a gradient."""
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def weight_like(result: torch.Tensor) -> torch.Tensor:
    """Return weights for a sum over a result: numbers that 16 bits can hold."""
    generator = torch.Generator().manual_seed(SEED)
    dtype = torch.complex64 if result.dtype.is_complex else torch.float32
    weight = torch.randn(result.shape, generator=generator, dtype=dtype)
    weight = weight if dtype.is_complex else weight.bfloat16()
    return weight.to(result.dtype).to(result.device)
