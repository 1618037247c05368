"""Compares what a model gives on the NPU with what it gives on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from tests.ecosystem.tolerances import GRADIENT_ERROR, GRADIENT_FLOOR, RESULT_ERROR

if TYPE_CHECKING:
    from tests.ecosystem.models import Subject

__all__ = ["assert_close", "assert_same_step", "tensors_in"]


def assert_same_step(subject: Subject) -> None:
    """Assert that results and gradients on the NPU are those of the CPU."""
    there = subject.to_npu()
    expected = results_of(subject(), "cpu")
    got = results_of(there(), "npu")
    assert got.keys() == expected.keys()
    assert expected, "the model gives no tensor"
    for name, tensor in expected.items():
        assert_close(got[name], tensor, RESULT_ERROR, name)
    expected_gradients = gradients_of(subject.module, expected, "cpu")
    got_gradients = gradients_of(there.module, got, "npu")
    assert got_gradients.keys() == expected_gradients.keys()
    largest = max(largest_of(each) for each in expected_gradients.values())
    for name, tensor in expected_gradients.items():
        assert_close(
            got_gradients[name], tensor, GRADIENT_ERROR, f"grad of {name}", GRADIENT_FLOOR * largest
        )


def results_of(result: object, device: str) -> dict[str, torch.Tensor]:
    """Return the tensors in a model's result by place; all must be on this device."""
    found = dict(tensors_in(result))
    assert {tensor.device.type for tensor in found.values()} <= {device}
    return found


def tensors_in(value: object, place: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a nested result, with their places; key-value caches are left out."""
    if isinstance(value, torch.Tensor):
        yield place, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from tensors_in(each, f"{place}.{name}")
    elif isinstance(value, tuple | list):
        for index, each in enumerate(value):
            yield from tensors_in(each, f"{place}[{index}]")


def gradients_of(
    module: torch.nn.Module, results: Mapping[str, torch.Tensor], device: str
) -> dict[str, torch.Tensor]:
    """Return the gradients of the parameters, for a random weight of each result."""
    generator = torch.Generator().manual_seed(0)
    loss = torch.zeros((), device=device)
    for tensor in results.values():
        if tensor.requires_grad:
            weight = torch.randn(tensor.shape, generator=generator)
            loss = loss + (tensor.float() * weight.to(device)).sum()
    loss.backward()  # type: ignore[no-untyped-call]  # torch's
    return {
        name: parameter.grad
        for name, parameter in module.named_parameters()
        if parameter.grad is not None
    }


def largest_of(tensor: torch.Tensor) -> float:
    """Return the largest magnitude among the finite elements, 0 if there are none."""
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def assert_close(
    got: Any,  # noqa: ANN401 - a tensor on the NPU
    expected: torch.Tensor,
    error: float,
    name: str,
    least_scale: float = 0.0,
) -> None:
    """Assert that a tensor differs by no more than a share of the largest element.

    `least_scale` stands for the largest element where that is smaller.
    """
    got, expected = got.detach().cpu(), expected.detach()
    scale = 1.0
    if expected.is_floating_point():
        scale = max(largest_of(expected), least_scale)
    torch.testing.assert_close(
        got,
        expected,
        rtol=0,
        atol=error * scale,
        equal_nan=True,
        msg=lambda text: f"{name}: {text}",
    )
