"""Seed and offset that a call draws from a Generator argument for its aclnn function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch

import opwright as ow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

pytestmark = pytest.mark.twin

ops = ow.OperatorSet("opwright_drawing")


@ops.operator("add_noise(Tensor x, float p, *, Generator? generator=None) -> Tensor")
def add_noise(x: Tensor, p: float, *, generator: torch.Generator | None = None) -> Tensor:
    return x + p * torch.rand(x.shape, generator=generator)


@ops.operator(
    "fill_(Tensor(a!) x, float mean, float std, *, Generator? generator=None) -> Tensor(a!)",
    aclnn="aclnnInplaceNormal",
)
def fill_(
    x: Tensor, mean: float, std: float, *, generator: torch.Generator | None = None
) -> Tensor:
    return x.normal_(mean, std, generator=generator)


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> Iterator[None]:
    with ops.load():
        yield


def draws(generator: torch.Generator | None, count: int = 2) -> list[Tensor]:
    x = torch.zeros(3, 4).to("npu")
    return [add_noise(x, 1.0, generator=generator).cpu() for _ in range(count)]


def seeded(seed: int, device: str = "npu") -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def test_equal_seeds_give_equal_draws_and_each_draw_is_another() -> None:
    first, second = draws(seeded(5))
    assert not torch.equal(first, second)
    assert [torch.equal(*pair) for pair in zip((first, second), draws(seeded(5)), strict=True)] == [
        True,
        True,
    ]
    assert not torch.equal(first, draws(seeded(6))[0])


def test_without_a_generator_the_device_has_one() -> None:
    torch.manual_seed(5)
    found = draws(None)
    torch.manual_seed(5)
    assert all(map(torch.equal, found, draws(None)))
    assert not torch.equal(*found)


def test_the_state_of_a_generator_continues_its_draws() -> None:
    generator = seeded(5)
    draws(generator)
    state = generator.get_state()
    found = draws(generator)
    generator.set_state(state)
    assert all(map(torch.equal, found, draws(generator)))


def test_a_function_of_cann_draws_what_torch_npu_draws() -> None:
    x, y = torch.empty(2, 3).to("npu"), torch.empty(2, 3).to("npu")
    fill_(x, 1.0, 2.0, generator=seeded(5))
    y.normal_(1.0, 2.0, generator=seeded(5))
    assert torch.equal(x.cpu(), y.cpu())


def test_a_generator_of_another_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found"):
        draws(seeded(5, "cpu"))


def test_the_cpu_draws_from_its_own_generators() -> None:
    x = torch.zeros(3)
    want = torch.rand(3, generator=seeded(5, "cpu"))
    assert torch.equal(add_noise(x, 1.0, generator=seeded(5, "cpu")), want)
